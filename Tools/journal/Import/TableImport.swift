import CatalogModel
import Foundation
import JSON

/// The import of a table, whose rows are items of one kind: what it has changed since the last import is one entry.
enum TableSource {
  static let sources = [TableFile.Form.csv, .jsonl].map { form in
    ImportSource(
      name: form.rawValue, options: ["--key", "--kind", "--type", "--at", "--store", "--by", "--inspect"]
    ) { try run(form, $0, $1) }
  }

  private static func run(
    _ form: TableFile.Form, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let clock = ContinuousClock()
    let start = clock.now
    let path = arguments.operand("PATH")
    guard let key = arguments.value("--key"), !key.isEmpty else {
      throw arguments.misuse("name the column that identifies a row, with --key")
    }
    var types: [String: ColumnType] = [:]
    for text in arguments.values("--type") {
      let (name, type) = try ColumnType.parse(text)
      types[name] = type
    }
    var information = stat()
    if unsafe stat(path, &information) == 0, information.st_mode & S_IFMT != S_IFREG {
      throw Failure.wrongUse(
        "\(path.printable) is no file; a table is read twice, so save it to a file first")
    }
    let date =
      try arguments.value("--at").map { text throws(Failure) in
        try ColumnType.date.value(of: text, in: arguments.timeZone).date
      } ?? nil
    let file = TableFile(
      path: path, form: form, key: key, types: types, timeZone: arguments.timeZone)
    let url = arguments.url("JOURNAL")
    let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    let kind = arguments.value("--kind") ?? name
    let source = ["table", kind, arguments.value("--store")].compactMap(\.self).joined(separator: " ")
    let isInspection = arguments.has("--inspect")
    var table = TableImport(file: file, kind: kind, source: source, terminal)
    // The table is checked before a journal is created for it.
    try table.check()
    if isInspection {
      if FileManager.default.fileExists(atPath: url.path) {
        try table.count(against: try arguments.openJournal(terminal))
      } else {
        table.countAllAsAdded()
      }
    } else {
      let journal = try CatalogJournal.openOrCreate(
        at: url, options: arguments.journalOptions(layers: .automatic))
      try journal.catchUp()
      try Import.storing(in: journal) { try table.apply(to: journal, by: arguments.author, date) }
      for revision in table.revisions { terminal.output.noteDone(entry: revision) }
      try journal.close()
    }
    terminal.progress.clear()
    try terminal.answer([
      "source": form.rawValue, "kind": kind, "rows": table.rowCount, "columns": table.columns.sorted(),
      "entries": table.revisions, "added": table.added, "updated": table.updated, "deleted": table.deleted,
      "unchanged": table.rowCount - table.added - table.updated,
      "seconds": Import.rounded((clock.now - start) / .seconds(1)),
    ]) {
      let made =
        isInspection
        ? "nothing was written; items that would be"
        : table.revisions.isEmpty
          ? "nothing has changed; items"
          : "entry \(table.revisions.map { "\($0)" }.listed(upTo: 4)); items"
      try terminal.line(
        "\(table.rowCount.counted("row")) of kind \"\(kind.printable)\": \(made): \(table.added.grouped) added, "
          + "\(table.updated.grouped) changed, \(table.deleted.grouped) deleted")
    }
    return .done
  }
}

struct TableImport {
  /// The limits of one entry. A first import can have many rows, and memory holds those of an entry.
  private static let rowLimit = 100_000
  private static let byteLimit = 16 << 20
  private static let sourceKey = "import.source"

  private let file: TableFile
  private let kind: String
  private let source: String
  private let terminal: Terminal
  /// The item of each key, and the line of its row; the line is 0 until a row is found.
  private var items: [ItemKey: (number: Int, line: Int)] = [:]
  private(set) var columns: Set<String> = []
  private(set) var rowCount = 0
  private(set) var added = 0
  private(set) var updated = 0
  private(set) var deleted = 0
  private(set) var revisions: [Revision] = []

  init(file: TableFile, kind: String, source: String, _ terminal: Terminal) {
    (self.file, self.kind, self.source) = (file, kind, source)
    self.terminal = terminal
  }

  /// Reads the whole table.
  /// - Throws: ``Failure`` with ``ExitCode/no`` if a row can't be taken. Each is named before, up to a limit.
  mutating func check() throws {
    var rows = 0
    var problems = LineProblems(terminal)
    let name = file.key
    var lines: [ItemKey: Int] = [:]
    do {
      columns = try file.forEachRow { row in
        rows += 1
        terminal.progress.show { "checking: \(rows.grouped) rows" }
        switch row {
        case .failure(let problem): problems.note(problem)
        case .success(let row):
          guard let key = ItemKey(row.attributes[name]) else {
            return problems.note(LineProblem(row.line, "\(name) is missing, or neither a text nor a number"))
          }
          if let other = lines.updateValue(row.line, forKey: key) {
            problems.note(LineProblem(row.line, "\(name) is \(key.text), as on line \(other)"))
          }
        }
      }
    } catch let problem as LineProblem {
      problems.note(problem)
    }
    terminal.progress.clear()
    guard problems.count == 0 else {
      throw Failure.no(
        "\(problems.count.counted("line")) can't be taken, so nothing was imported; correct the table first")
    }
    rowCount = rows
  }

  mutating func countAllAsAdded() { added = rowCount }

  /// Counts what an import would change.
  mutating func count(against journal: CatalogJournal) throws {
    list(itemsOf: journal.state)
    try forEachChange(of: journal.state) { _, _ in }
    deleted = try missing(in: journal).count
  }

  /// Makes the changes.
  mutating func apply(to journal: CatalogJournal, by author: String, _ date: Date?) throws {
    list(itemsOf: journal.state)
    let note = "imported \(URL(fileURLWithPath: file.path).lastPathComponent)"
    let metadata = [Self.sourceKey: source]
    var (batch, byteCount): ([TableFile.Row], Int) = ([], 0)
    try forEachChange(of: journal.state) { table, row in
      batch.append(row)
      byteCount += EntityRecord(row.attributes).bytes.count
      guard batch.count >= Self.rowLimit || byteCount >= Self.byteLimit else { return }
      let made = try journal.commit(by: author, note: note, metadata: metadata, date: date) { draft in
        for row in batch { try table.set(row, in: &draft) }
      }
      table.revisions.append(made.revision)
      (batch, byteCount) = ([], 0)
    }
    let missing = try missing(in: journal)
    deleted = missing.count
    if batch.isEmpty, missing.isEmpty { return }
    let made = try journal.commit(by: author, note: note, metadata: metadata, date: date) { draft in
      for row in batch { try set(row, in: &draft) }
      for item in missing { try draft.deleteItem(Catalog.Item.ID(item)) }
    }
    revisions.append(made.revision)
  }

  /// Calls `body` with each row that changes an item or adds one. Other rows are only counted.
  private mutating func forEachChange(
    of state: Catalog, _ body: (inout TableImport, TableFile.Row) throws -> Void
  ) throws {
    let (file, name) = (self.file, self.file.key)
    _ = try file.forEachRow { row in
      let row = try row.get()
      guard let key = ItemKey(row.attributes[name]) else { return }
      if let known = items[key] {
        items[key] = (known.number, row.line)
        guard let item = state.item(Catalog.Item.ID(known.number)),
          changed(item.record, by: row) != item.record
        else { return }
        updated += 1
      } else {
        added += 1
      }
      terminal.progress.show { "importing: \((added + updated).grouped) of \(rowCount.grouped) rows changed" }
      try body(&self, row)
    }
  }

  /// Lists the items of the kind by their keys. If two have the same key, the first counts.
  private mutating func list(itemsOf state: Catalog?) {
    items = [:]
    guard let state else { return }
    for item in state.items(ofKind: kind) {
      guard let key = ItemKey(item[file.key]), items[key] == nil else { continue }
      items[key] = (item.id.number, 0)
    }
  }

  /// The record after a row. Attributes for which the table has no column stay.
  private func changed(_ record: EntityRecord, by row: TableFile.Row) -> EntityRecord {
    let removed = columns.filter { row.attributes[$0] == nil && record[$0] != nil }
    return record.applying(RecordChanges(set: row.attributes, remove: removed))
  }

  private func set(_ row: TableFile.Row, in draft: inout Draft<Catalog>) throws {
    do throws(JournalError) { try change(row, in: &draft) } catch {
      guard error.code == .rejected else { throw error }
      throw Failure.no("line \(row.line): \(error.message); correct the table, and run the import again")
    }
  }

  private func change(_ row: TableFile.Row, in draft: inout Draft<Catalog>) throws(JournalError) {
    if let key = ItemKey(row.attributes[file.key]), let item = items[key]?.number,
      let record = draft.state.record(of: .item(item))
    {
      try draft.update(.item(item), to: changed(record, by: row))
    } else {
      try draft.addItem(kind: kind, attributes: row.attributes)
    }
  }

  /// The items that the table lacks and an import has added, so that people did not.
  private func missing(in journal: CatalogJournal) throws -> [Int] {
    let base = journal.base?.revision ?? 0
    return try items.values.filter { $0.line == 0 }.map(\.number).sorted().filter { number in
      guard let item = journal.state.item(Catalog.Item.ID(number)), item.created > base else { return false }
      return try journal.entry(at: item.created).metadata[Self.sourceKey] == source
    }
  }
}
