import CatalogModel
import EntitySearch
import JSON

/// The two tables of a kind: one of its present rows, and one of all versions.
///
/// Columns are made when an attribute is first seen. While rows are written, the columns have no types, so that SQLite
/// converts no value; see ``definitions(areTyped:)``.
final class KindTables {
  /// The kind of entities, and for items their own kind.
  struct Key: Hashable {
    let entity: EntityKind
    let itemKind: String?

    // By bytes, because equal strings may have different ones, and are then different kinds.
    static func == (left: Key, right: Key) -> Bool {
      left.entity == right.entity
        && left.itemKind.map { Array($0.utf8) } == right.itemKind.map { Array($0.utf8) }
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(entity)
      hasher.combine(itemKind)
    }
  }

  private struct Column {
    let name: String
    let key: FieldKey
    /// The declared types of the values, such as TEXT.
    var types: Set<String>
  }

  private struct OpenVersion {
    let created: Revision
    let start: Revision
    /// The date, the author, the note and the operation.
    let origin: [Database.Value]
    let cells: [Database.Value]
  }

  let key: Key
  let name: String
  let historyName: String
  private let database: Database
  private var names = UniqueNames(KindTables.rowColumns + KindTables.versionColumns)
  private var columns: [Column] = []
  private var places: [FieldKey: Int] = [:]
  private(set) var hasTooManyColumns = false
  /// Whether the database has the tables. They are made with the columns of the first entity.
  private(set) var isMade: Bool
  private lazy var deletion = Result { try database.prepare("DELETE FROM \(name.quoted) WHERE _id = ?") }
  private lazy var ending = Result {
    try database.prepare(
      "UPDATE \(historyName.quoted) SET _valid_to = ?, _valid_to_date = ?, _ended_by = ? WHERE _id = ? AND _valid_from = ?"
    )
  }
  /// Nil after a column was added.
  private var rowInsertion, versionInsertion: Statement?
  /// The versions that have no end yet and are not in the database, by the numbers of their entities. So most versions
  /// are written once.
  private var open: [Int: OpenVersion] = [:]

  private static let rowColumns = ["_id", "_created", "_modified"]
  private static let versionColumns = [
    "_id", "_valid_from", "_valid_from_date", "_valid_to", "_valid_to_date", "_author", "_note", "_operation",
    "_ended_by",
  ]
  /// SQLite allows 2,000 columns.
  private static let columnLimit = 1_900

  init(_ key: Key, name: String, historyName: String, isMade: Bool, in database: Database) {
    (self.key, self.name, self.historyName, self.database) = (key, name, historyName, database)
    self.isMade = isMade
  }

  /// Takes a column over that the tables have already.
  func take(column name: String, _ key: FieldKey, types: Set<String>) {
    _ = names.unique(name)
    places[key] = columns.count
    columns.append(Column(name: name, key: key, types: types))
  }

  /// The columns as the table `columns` lists them.
  var listedColumns: [[Database.Value]] {
    columns.enumerated().map { place, column in
      [
        .text(name), .integer(Int64(place)), .text(column.name),
        .text(Catalog.name(of: column.key, of: key.entity)),
        .text(column.types.sorted().joined(separator: " ")),
      ]
    }
  }

  /// The statements that make the tables.
  /// - Parameter areTyped: whether a column whose values all have one type is declared with it, for readers that rely
  ///   on declarations.
  func definitions(areTyped: Bool) -> [(name: String, text: String)] {
    let columns = columns.map { column in
      areTyped && column.types.count == 1
        ? "\(column.name.quoted) \(column.types.first!)" : column.name.quoted
    }
    func list(_ own: [String]) -> String { (own + columns).joined(separator: ", ") }
    let row = list(["_id INTEGER PRIMARY KEY", "_created INTEGER", "_modified INTEGER"])
    let version = list([
      "_id INTEGER", "_valid_from INTEGER", "_valid_from_date TEXT", "_valid_to INTEGER",
      "_valid_to_date TEXT",
      "_author TEXT", "_note TEXT", "_operation TEXT", "_ended_by TEXT",
    ])
    return [
      (name, "CREATE TABLE \(name.quoted)(\(row))"),
      (
        historyName,
        "CREATE TABLE \(historyName.quoted)(\(version), PRIMARY KEY(_id, _valid_from)) WITHOUT ROWID"
      ),
    ]
  }

  // MARK: Rows

  /// Begins a version of an entity.
  /// - Parameter origin: the date, the author, the note and the operation.
  /// - Returns: about how many bytes of memory the version takes until it is written.
  func begin(_ number: Int, _ row: EntityRow, _ origin: [Database.Value]) throws(Failure) -> Int {
    var values: [(key: FieldKey, value: FieldValue)] = []
    row.record.visit { key, value in
      if key != .field(ItemField.kind) || self.key.entity != .item { values.append((key, value)) }
    }
    for (key, _) in values where places[key] == nil { try add(key) }
    if !isMade {
      for definition in definitions(areTyped: false) { try database.prepare(definition.text).run() }
      isMade = true
    }
    var cells = [Database.Value](repeating: .null, count: columns.count)
    for (key, value) in values {
      guard let place = places[key] else { continue }
      cells[place] = Database.Value(Catalog.shown(value, key, of: self.key.entity))
      if let type = cells[place].type { columns[place].types.insert(type) }
    }
    open[number] = OpenVersion(created: row.created, start: row.modified, origin: origin, cells: cells)
    return row.record.bytes.count + 64 * (cells.count + origin.count)
  }

  /// Ends the version of an entity that is valid from a revision on.
  func end(
    _ number: Int, from revision: Revision, at entry: ExportedEntry, by operation: String
  ) throws(Failure) {
    let end: [Database.Value] = [Database.Value(entry.revision), .text(entry.date), .text(operation)]
    if let version = open.removeValue(forKey: number) {
      try write(number, version, end: end)
    } else {
      try get(ending).run(end + [Database.Value(number), Database.Value(revision)])
    }
  }

  /// Removes the present row of an entity.
  func remove(_ number: Int) throws(Failure) { try get(deletion).run(Database.Value(number)) }

  /// Writes the versions that have no end, and the present rows.
  func flush() throws(Failure) {
    for (number, version) in open.sorted(by: { $0.key < $1.key }) {
      try write(number, version, end: [.null, .null, .null])
      let row = [number, version.created, version.start].map { Database.Value($0) } + cells(of: version)
      try get(&rowInsertion, into: name, Self.rowColumns.count).run(row)
    }
    open = [:]
  }

  private func write(_ number: Int, _ version: OpenVersion, end: [Database.Value]) throws(Failure) {
    let start = [Database.Value(number), Database.Value(version.start), version.origin[0]]
    let row = start + end[..<2] + version.origin[1...] + end[2...] + cells(of: version)
    try get(&versionInsertion, into: historyName, Self.versionColumns.count).run(row)
  }

  /// The values of a version, also of the columns that were added since it began.
  private func cells(of version: OpenVersion) -> [Database.Value] {
    version.cells + repeatElement(.null, count: columns.count - version.cells.count)
  }

  private func get(_ statement: Result<Statement, any Error>) throws(Failure) -> Statement {
    do { return try statement.get() } catch { throw error as? Failure ?? Failure.unreadable("\(error)") }
  }

  private func get(
    _ insertion: inout Statement?, into table: String, _ ownCount: Int
  ) throws(Failure) -> Statement {
    if let insertion { return insertion }
    let places = Array(repeating: "?", count: ownCount + columns.count).joined(separator: ", ")
    let new = try database.prepare("INSERT OR REPLACE INTO \(table.quoted) VALUES(\(places))")
    insertion = new
    return new
  }

  private func add(_ key: FieldKey) throws(Failure) {
    guard columns.count < Self.columnLimit else {
      hasTooManyColumns = true
      return
    }
    let field = Catalog.name(of: key, of: self.key.entity)
    // The catalog's own fields get an underscore, as all columns that are no attributes do.
    let name = names.unique(
      field.hasPrefix("@") && !field.hasPrefix("@@") ? "_\(field.dropFirst())" : "\(key)")
    if isMade {
      for table in [self.name, historyName] {
        try database.prepare("ALTER TABLE \(table.quoted) ADD COLUMN \(name.quoted)").run()
      }
    }
    places[key] = columns.count
    columns.append(Column(name: name, key: key, types: []))
    (rowInsertion, versionInsertion) = (nil, nil)
  }
}

/// Names of tables or columns. SQLite ignores the case of ASCII letters in names.
struct UniqueNames {
  private var taken: Set<String>

  init(_ taken: [String]) { self.taken = Set(taken) }

  /// The name, or if it is taken the name with a number: `title`, `Title_2`.
  mutating func unique(_ name: String) -> String {
    // A C string ends at NUL, and SQLite keeps names that begin with sqlite_ to itself.
    var base = String(String.UnicodeScalarView(name.unicodeScalars.map { $0 == "\0" ? "_" : $0 }))
    if base.isEmpty || Self.folded(base).hasPrefix("sqlite_") { base = "_\(base)" }
    var (found, number) = (base, 2)
    while !taken.insert(Self.folded(found)).inserted { (found, number) = ("\(base)_\(number)", number + 1) }
    return found
  }

  private static func folded(_ name: String) -> String {
    String(decoding: name.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
  }
}

extension Database.Value {
  /// A value as a column has it. What SQLite lacks is a text: decimal numbers and large integers as their digits, dates
  /// in RFC 3339, NaN, and arrays and dictionaries as JSON.
  init(_ value: FieldValue) {
    switch value {
    case .null: self = .null
    case .bool(let bool): self = .integer(bool ? 1 : 0)
    case .integer(let number): self = .integer(number)
    case .unsigned(let number): self = .text(String(number))
    case .double(let number): self = number.isNaN ? .text("NaN") : .real(number)
    case .string(let text): self = .text(text)
    case .data(let bytes): self = .blob(Array(bytes))
    case .date(let date): self = Timestamp(date).map { .text($0.description) } ?? .text(value.json)
    case .array: self = .text(value.json)
    case .dictionary(let members):
      if members.count == 1, case .string(let digits)? = members["$decimal"] {
        self = .text(digits)
      } else {
        self = .text(value.json)
      }
    }
  }

  /// The type of a column that has only such values; nil for null.
  fileprivate var type: String? {
    switch self {
    case .null: nil
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .blob: "BLOB"
    }
  }
}
