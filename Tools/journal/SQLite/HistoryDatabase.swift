import CatalogModel
import EntitySearch
import Foundation
import JSON
import SHA256

/// The cells that all rows of an entry share.
struct ExportedEntry {
  let revision: Revision
  let date: String
  let clockDate: String?
  let author: String?
  let note: String?

  init(_ entry: Entry) {
    (revision, date, clockDate) = (entry.revision, entry.date.precise, entry.clockDate.precise)
    (author, note) = entry.isAnnotationErased ? (nil, nil) : (entry.author, entry.note)
  }

  /// For the base of a pruned journal. The dates, authors and notes of the changes before the base were pruned.
  init(base: Head) {
    (revision, date) = (base.revision, base.date.precise)
    (clockDate, author, note) = (nil, nil, nil)
  }
}

/// A database with the history of a journal: for each kind its present rows and all versions, each change of a field,
/// the entries, and the texts with a full-text index.
final class HistoryDatabase {
  let database: Database
  private var tables: [KindTables.Key: KindTables] = [:]
  private var names = UniqueNames(HistoryDatabase.ownTables)
  private let entries, changes, texts, searches, textEnd: Statement
  /// About how many bytes of memory the versions take that are not written yet.
  private var openByteCount = 0

  private static let openByteLimit = 64 << 20

  /// The names of tables and indexes that no kind can have.
  private static let ownTables = [
    "journal", "tables", "columns", "entries", "changes", "changes_of_entities", "texts", "present_texts",
    "image_bytes", "texts_search", "texts_search_data", "texts_search_idx", "texts_search_content",
    "texts_search_docsize", "texts_search_config",
  ]
  /// Identify a database that `journal export` has made, and the form of its tables.
  private static let (applicationID, form) = (0x4A52_4E4C, 1)
  /// Versions of one entity are stored together, so that changes of random entities change random pages.
  private static let cacheKibibytes = 128 << 10

  /// Opens a database that an export has made, and begins a transaction; nil if another program has made it.
  static func open(_ path: String, isWritten: Bool) throws(Failure) -> HistoryDatabase? {
    let database = try Database(path, isNew: false)
    let marks = ["application_id", "user_version"].map { mark in
      // A file that is no database has no marks either.
      (try? database.rows("PRAGMA \(mark)"))?.first?.first
    }
    guard marks == [.integer(Int64(applicationID)), .integer(Int64(form))] else { return nil }
    try database.execute(isWritten ? "BEGIN IMMEDIATE" : "BEGIN")
    return try HistoryDatabase(database)
  }

  /// Makes a database. It is not flushed, so its file must get its name only when it is complete.
  static func create(_ path: String) throws(Failure) -> HistoryDatabase {
    let database = try Database(path, isNew: true)
    try database.execute(
      """
      PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -\(cacheKibibytes);
      PRAGMA application_id = \(applicationID); PRAGMA user_version = \(form);
      CREATE TABLE journal(id TEXT, base INTEGER, revision INTEGER, digest TEXT, head INTEGER, has_images INTEGER);
      CREATE TABLE tables(name TEXT PRIMARY KEY, history TEXT, entity TEXT, kind TEXT);
      CREATE TABLE columns("table" TEXT, place INTEGER, name TEXT, field TEXT, types TEXT);
      CREATE TABLE entries(revision INTEGER PRIMARY KEY, date TEXT, clockDate TEXT, author TEXT, note TEXT, metadata TEXT);
      CREATE TABLE changes(revision INTEGER, date TEXT, clockDate TEXT, author TEXT, note TEXT, entity TEXT, label TEXT,
      kind TEXT, operation TEXT, field TEXT, old TEXT, new TEXT);
      CREATE TABLE texts(id INTEGER PRIMARY KEY, "table" TEXT, row INTEGER, field TEXT, valid_from INTEGER,
      valid_to INTEGER, text TEXT);
      CREATE INDEX present_texts ON texts("table", row, field) WHERE valid_to IS NULL;
      CREATE VIRTUAL TABLE texts_search USING fts5(text, content = 'texts', content_rowid = 'id',
      tokenize = 'unicode61 remove_diacritics 2');
      CREATE TABLE image_bytes(sha256 TEXT PRIMARY KEY, bytes BLOB) WITHOUT ROWID;
      BEGIN;
      """)
    return try HistoryDatabase(database)
  }

  private init(_ database: Database) throws(Failure) {
    self.database = database
    entries = try database.prepare("INSERT INTO entries VALUES(?, ?, ?, ?, ?, ?)")
    changes = try database.prepare("INSERT INTO changes VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    texts = try database.prepare("INSERT INTO texts VALUES(NULL, ?, ?, ?, ?, NULL, ?)")
    searches = try database.prepare("INSERT INTO texts_search(rowid, text) VALUES(last_insert_rowid(), ?)")
    textEnd = try database.prepare(
      #"UPDATE texts SET valid_to = ? WHERE "table" = ? AND row = ? AND field = ? AND valid_to IS NULL"#)
    try readTables()
  }

  private func readTables() throws(Failure) {
    for row in try database.rows("SELECT name, history, entity, kind FROM tables ORDER BY rowid") {
      guard case (.text(let name), .text(let history), .text(let entity)) = (row[0], row[1], row[2]),
        let number = Catalog.kindNames.firstIndex(of: entity)
      else { continue }
      let kind: String? = if case .text(let kind) = row[3] { kind } else { nil }
      let key = KindTables.Key(entity: EntityKind(rawValue: UInt8(number)), itemKind: kind)
      (_, _) = (names.unique(name), names.unique(history))
      let table = KindTables(key, name: name, historyName: history, isMade: true, in: database)
      for column in try database.rows(
        #"SELECT name, field, types FROM columns WHERE "table" = ? ORDER BY place"#, .text(name))
      {
        guard case (.text(let name), .text(let field), .text(let types)) = (column[0], column[1], column[2]),
          let part = Catalog.key(named: field, of: key.entity)
        else { continue }
        table.take(column: name, part, types: Set(types.split(separator: " ").map(String.init)))
      }
      tables[key] = table
    }
  }

  // MARK: The journal

  /// The journal, its base and the entry of which this database is; nil if the first export was not completed.
  /// `head` is the journal's newest entry when this database was written.
  var origin:
    (id: String, base: Revision, revision: Revision, digest: String, head: Revision, hasImages: Bool)?
  {
    get throws(Failure) {
      guard let row = try database.rows("SELECT * FROM journal").first,
        case (
          .text(let id), .integer(let base), .integer(let revision), .text(let digest), .integer(let head)
        ) =
          (row[0], row[1], row[2], row[3], row[4])
      else { return nil }
      return (id, Int(base), Int(revision), digest, Int(head), row[5] == .integer(1))
    }
  }

  /// Names of kinds of which some attributes have no column, because SQLite has too few.
  var kindsWithTooManyColumns: [String] { tables.values.filter(\.hasTooManyColumns).map(\.name).sorted() }

  /// Removes the types of columns, so that SQLite converts no value that is written.
  func beginWriting() throws(Failure) { try define(areTyped: false) }

  /// Commits what was written, and records of which entry this database is.
  func endWriting(
    _ journal: CatalogJournal, _ last: Head, hasImages: Bool
  ) throws(Failure) {
    try flush()
    try database.execute("DELETE FROM journal; DELETE FROM columns")
    try database.prepare("INSERT INTO journal VALUES(?, ?, ?, ?, ?, ?)").run(
      .text(journal.id.description), Database.Value(journal.base?.revision ?? 0),
      Database.Value(last.revision),
      .text(last.digest.hex), Database.Value(journal.head.revision), .integer(hasImages ? 1 : 0))
    let columns = try database.prepare("INSERT INTO columns VALUES(?, ?, ?, ?, ?)")
    for table in tables.values.sorted(by: { $0.name < $1.name }) {
      for row in table.listedColumns { try columns.run(row) }
    }
    try database.execute("CREATE INDEX IF NOT EXISTS changes_of_entities ON changes(entity)")
    try define(areTyped: true)
    try database.execute("COMMIT")
  }

  /// Changes the declarations of columns. SQLite allows this where no stored value changes: section 7 of
  /// https://sqlite.org/lang_altertable.html.
  private func define(areTyped: Bool) throws(Failure) {
    guard !tables.isEmpty,
      case .integer(let version)? = try database.rows("PRAGMA schema_version").first?.first
    else { return }
    try database.execute("PRAGMA writable_schema = ON")
    let change = try database.prepare("UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = ?")
    for table in tables.values where table.isMade {
      for definition in table.definitions(areTyped: areTyped) {
        try change.run(.text(definition.text), .text(definition.name))
      }
    }
    try database.execute("PRAGMA schema_version = \(version + 1); PRAGMA writable_schema = OFF")
  }

  // MARK: Rows

  func write(_ entry: Entry) throws(Failure) {
    let shared = ExportedEntry(entry)
    let metadata = FieldValue.dictionary(entry.metadata.mapValues { .string($0) }).json
    try entries.run(
      Database.Value(shared.revision), .text(shared.date), Database.Value(shared.clockDate),
      Database.Value(shared.author), Database.Value(shared.note), .text(metadata))
  }

  /// Writes a change of an entity.
  /// - Parameters:
  ///   - before: the entity before the change; nil if it did not exist, or if its content was erased.
  ///   - after: the entity after the change; nil if it was deleted, or if its content was erased.
  ///   - parts: what was changed.
  func write(
    _ entity: EntityKey, _ operation: String, from before: EntityRow?, to after: EntityRow?,
    _ parts: [PartChange],
    in entry: ExportedEntry
  ) throws(Failure) {
    let old = try table(of: entity, before)
    let new = try table(of: entity, after)
    if let old, let before {
      try old.end(entity.number, from: before.modified, at: entry, by: operation)
      if old !== new { try old.remove(entity.number) }
    }
    if let new, let after {
      let (author, note) = (Database.Value(entry.author), Database.Value(entry.note))
      openByteCount += try new.begin(
        entity.number, after, [.text(entry.date), author, note, .text(operation)])
      if openByteCount > Self.openByteLimit { try flush() }
    }
    try writeChanges(of: entity, operation, (after ?? before)?.record, parts, entry)
    let isMoved = old != nil && new != nil && old !== new
    try writeTexts(
      of: entity, isMoved ? EntityRecord.differences(from: before?.record, to: nil) : parts, in: old ?? new,
      entry)
    if isMoved {
      try writeTexts(of: entity, EntityRecord.differences(from: nil, to: after?.record), in: new, entry)
    }
  }

  private func flush() throws(Failure) {
    for table in tables.values { try table.flush() }
    openByteCount = 0
  }

  /// Writes the bytes of all images ever that the database does not have yet and that `read` finds.
  func writeImages(_ read: (Blob) throws -> Data?) throws {
    guard let images = tables[KindTables.Key(entity: .image, itemKind: nil)] else { return }
    try flush()
    let insertion = try database.prepare("INSERT INTO image_bytes VALUES(?, ?)")
    let missing = try database.rows(
      """
      SELECT DISTINCT _sha256, _byteCount FROM \(images.historyName.quoted)
      WHERE _sha256 NOT IN (SELECT sha256 FROM image_bytes) ORDER BY _sha256
      """)
    for row in missing {
      guard case (.text(let hex), .integer(let byteCount)) = (row[0], row[1]),
        let digest = ContentDigest(hex: hex),
        let bytes = try read(Blob(digest: digest, byteCount: Int(byteCount)))
      else { continue }
      try insertion.run(.text(hex), .blob(Array(bytes)))
    }
  }

  private func writeChanges(
    of entity: EntityKey, _ operation: String, _ record: EntityRecord?, _ parts: [PartChange],
    _ entry: ExportedEntry
  ) throws(Failure) {
    let label = record.flatMap { Catalog.label(of: $0, of: entity.kind) }
    let start: [Database.Value] = [
      Database.Value(entry.revision), .text(entry.date), Database.Value(entry.clockDate),
      Database.Value(entry.author),
      Database.Value(entry.note),
      .text(Catalog.name(of: entity)), Database.Value(label),
      Database.Value(record?.kindName(of: entity)), .text(operation),
    ]
    func json(_ value: FieldValue?, _ key: FieldKey) -> Database.Value {
      Database.Value(value.map { Catalog.shown($0, key, of: entity.kind).json })
    }
    for part in parts where !part.key.isByteCount(of: entity.kind) {
      let field = Catalog.name(of: part.key, of: entity.kind)
      try changes.run(start + [.text(field), json(part.old, part.key), json(part.new, part.key)])
    }
    // A deletion of an entity without attributes, and an erased change, are changes too.
    if parts.isEmpty { try changes.run(start + [.null, .null, .null]) }
  }

  private func writeTexts(
    of entity: EntityKey, _ parts: [PartChange], in table: KindTables?, _ entry: ExportedEntry
  ) throws(Failure) {
    guard let table else { return }
    for part in parts {
      let start: [Database.Value] = [
        .text(table.name), Database.Value(entity.number), .text(Catalog.name(of: part.key, of: entity.kind)),
      ]
      if part.old?.containsText == true { try textEnd.run([Database.Value(entry.revision)] + start) }
      guard let new = part.new, new.containsText, part.key != .field(ItemField.kind) || entity.kind != .item
      else { continue }
      let text = Database.Value.text(new.allText)
      try texts.run(start + [Database.Value(entry.revision), text])
      try searches.run(text)
    }
  }

  /// The tables of an entity's kind, which are made if they are missing; nil if there is no entity.
  private func table(of entity: EntityKey, _ row: EntityRow?) throws(Failure) -> KindTables? {
    guard let row else { return nil }
    let kind = entity.kind
    let itemKind = kind == .item ? row.record[field: ItemField.kind]?.string ?? "" : nil
    let key = KindTables.Key(entity: kind, itemKind: itemKind)
    if let known = tables[key] { return known }
    let name = names.unique(itemKind ?? Catalog.kindName(of: kind))
    let table = KindTables(
      key, name: name, historyName: names.unique("\(name)_history"), isMade: false, in: database)
    try database.prepare("INSERT INTO tables VALUES(?, ?, ?, ?)").run(
      .text(name), .text(table.historyName), .text(Catalog.kindName(of: kind)), Database.Value(itemKind))
    tables[key] = table
    return table
  }
}

extension FieldValue {
  fileprivate var containsText: Bool {
    switch self {
    case .string: true
    case .array(let elements): elements.contains(where: \.containsText)
    // A decimal number is no text.
    case .dictionary(let members) where members.count == 1 && members["$decimal"] != nil: false
    case .dictionary(let members): members.values.contains(where: \.containsText)
    default: false
    }
  }

  /// All texts of a value, a line for each.
  fileprivate var allText: String {
    switch self {
    case .string(let text): text
    case .array(let elements): elements.filter(\.containsText).map(\.allText).joined(separator: "\n")
    case .dictionary(let members):
      members.sorted { $0.key < $1.key }.filter(\.value.containsText).map(\.value.allText).joined(
        separator: "\n")
    default: ""
    }
  }
}
