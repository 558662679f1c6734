import CBOR
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
    if path == "-" {
      throw Failure.wrongUse(
        "a table is read more than once, so save standard input to a file, and name that")
    }
    var information = stat()
    if unsafe stat(path, &information) == 0, information.st_mode & S_IFMT != S_IFREG {
      throw Failure.wrongUse(
        "\(path.printable) is no file; a table is read more than once, so save it to a file first")
    }
    let date = try arguments.value("--at").flatMap { try Self.date($0, arguments) }
    let file = TableFile(
      path: path, form: form, key: key, types: types, timeZone: arguments.timeZone)
    let url = arguments.url("JOURNAL")
    let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    let kind = arguments.value("--kind") ?? name
    let source = ["table", kind, arguments.value("--store")].compactMap(\.self).joined(separator: " ")
    let isInspection = arguments.has("--inspect")
    let table = TableImport(file: file, kind: kind, source: source, terminal)
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
      "unchanged": table.rowCount - table.added - table.updated, "conflicts": table.conflictCount,
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

  private static func date(_ text: String, _ arguments: Arguments) throws(Failure) -> Date? {
    let value: FieldValue
    do { value = try ColumnType.date.value(of: text, in: arguments.timeZone) } catch {
      throw arguments.misuse("--at \(error.description)")
    }
    return value.date
  }
}

final class TableImport {
  /// The limits of one entry. A first import can have many rows, and memory holds those of an entry.
  private static let rowLimit = 100_000
  private static let byteLimit = 16 << 20
  private static let sourceKey = "import.source"

  private let file: TableFile
  private let kind: String
  private let source: String
  private let terminal: Terminal
  /// The item of each key, and the line of its row; the line is 0 if the table has none.
  private var items: [ItemKey: (number: Int, line: Int)] = [:]
  /// What the last import of this source left in each item that may change: its record without what people have changed
  /// since; nil if an import has deleted it.
  private var bases: [Int: EntityRecord] = [:]
  /// The numbers of the items that an import of this source has added.
  private var made: Set<Int> = []
  /// The items that were imported with keys of the table that no item has now.
  private var imported: [ItemKey: Int] = [:]
  private var conflicts: TableConflicts
  /// The items whose history is needed, and the keys of rows that no item has.
  private var (wanted, unknown): (Set<Int>, Set<ItemKey>) = ([], [])
  private(set) var columns: Set<String> = []
  private(set) var rowCount = 0
  /// How many rows were read again, and whether one of them is not the one that was checked.
  private var (rowsRead, isOther) = (0, false)
  private(set) var added = 0
  private(set) var updated = 0
  private(set) var deleted = 0
  private(set) var revisions: [Revision] = []

  init(file: TableFile, kind: String, source: String, _ terminal: Terminal) {
    (self.file, self.kind, self.source) = (file, kind, source)
    self.terminal = terminal
    conflicts = TableConflicts(terminal)
  }

  var conflictCount: Int { conflicts.count }

  /// Reads the whole table.
  /// - Throws: ``Failure`` with ``ExitCode/no`` if a row can't be taken. Each is named before, up to a limit.
  func check() throws {
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
    if let name = file.types.keys.filter({ !columns.contains($0) }).min(), rows > 0 || file.form == .csv {
      throw Failure.wrongUse("there is no column \(name.printable), which --type names")
    }
    // A failed download is empty too.
    guard rows > 0 || file.form == .csv else {
      throw Failure.no(
        "\(file.path.printable) has no row, so nothing was imported; to delete all rows, import a CSV file that has only "
          + "the names of the columns")
    }
    rowCount = rows
  }

  func countAllAsAdded() { added = rowCount }

  /// Counts what an import would change.
  func count(against journal: CatalogJournal) throws {
    let catalog = journal.state
    try prepare(journal, catalog)
    try forEachChange(of: catalog) { _ in }
    deleted = missing(in: catalog).count
    conflicts.end()
  }

  /// Makes the changes.
  func apply(to journal: CatalogJournal, by author: String, _ date: Date?) throws {
    let catalog = journal.state
    try prepare(journal, catalog)
    var (batch, byteCount): ([TableFile.Row], Int) = ([], 0)
    try forEachChange(of: catalog) { [self] row in
      batch.append(row)
      byteCount += EntityRecord(row.attributes).bytes.count
      guard batch.count >= Self.rowLimit || byteCount >= Self.byteLimit else { return }
      revisions.append(try commit(batch, to: journal, by: author, date))
      (batch, byteCount) = ([], 0)
    }
    let missing = missing(in: catalog)
    deleted = missing.count
    conflicts.end()
    if batch.isEmpty, missing.isEmpty { return }
    revisions.append(try commit(batch, deleting: missing, to: journal, by: author, date))
  }

  private func commit(
    _ batch: [TableFile.Row], deleting items: [Int] = [], to journal: CatalogJournal, by author: String,
    _ date: Date?
  ) throws -> Revision {
    let note = "imported \(URL(fileURLWithPath: file.path).lastPathComponent)"
    do {
      let made = try journal.commit(by: author, note: note, metadata: [Self.sourceKey: source], date: date) {
        draft in
        for row in batch { try set(row, in: &draft) }
        for item in items { try draft.deleteItem(Catalog.Item.ID(item)) }
      }
      return made.revision
    } catch let error as JournalError where error.code == .rejected {
      var place = ""
      if let first = batch.first?.line, let last = batch.last?.line {
        place = first == last ? "line \(first): " : "lines \(first) to \(last): "
      }
      throw Failure.no("\(place)\(error.message); \(kept); correct the table, and run the import again")
    }
  }

  private var kept: String {
    revisions.isEmpty
      ? "nothing was imported"
      : "entry \(revisions.map { "\($0)" }.listed(upTo: 4)) with earlier rows is kept"
  }

  // MARK: What changed

  /// Calls `body` with each row that changes an item or adds one. Other rows are only counted.
  private func forEachChange(
    of catalog: Catalog, _ body: (TableFile.Row) throws -> Void
  ) throws {
    try readAgain { [self] row, key in
      let step = step(row, key, catalog)
      switch step.change {
      case .none: break
      case .add, .restore: added += 1
      case .update: updated += 1
      }
      if let conflict = step.conflict { conflicts.note(LineProblem(row.line, conflict)) }
      if case .none = step.change { return }
      let (count, all) = (added + updated, rowCount)
      terminal.progress.show { "importing: \(count.grouped) of \(all.grouped) rows changed" }
      try body(row)
    }
  }

  /// Reads the rows once more.
  /// - Throws: ``Failure`` if the table is no longer the one that was checked.
  private func readAgain(_ body: (TableFile.Row, ItemKey) throws -> Void) throws {
    let file = self.file
    (rowsRead, isOther) = (0, false)
    do {
      _ = try file.forEachRow { try take($0, body) }
    } catch is LineProblem {
      isOther = true
    }
    guard !isOther, rowsRead == rowCount else {
      throw Failure.no(
        "\(file.path.printable) was changed during the import; \(kept), and nothing was deleted; run the import again"
      )
    }
  }

  private func take(
    _ row: Result<TableFile.Row, LineProblem>,
    _ body: (TableFile.Row, ItemKey) throws -> Void
  ) throws {
    rowsRead += 1
    guard case .success(let row) = row, let key = ItemKey(row.attributes[file.key]), rowsRead <= rowCount
    else {
      isOther = true
      return
    }
    if !isOther { try body(row, key) }
  }

  private enum Change {
    /// The row changes nothing.
    case none
    case add
    /// A deleted item comes back.
    case restore(Int)
    case update(Int, EntityRecord)
  }

  /// What a row changes, and what people have changed too.
  private func step(
    _ row: TableFile.Row, _ key: ItemKey, _ catalog: Catalog
  ) -> (change: Change, conflict: String?) {
    guard let number = items[key]?.number ?? imported[key] else { return (.add, nil) }
    let name = "\(Catalog.name(of: .item(number))) (\(key.text.shortened(to: 40)))"
    let base = bases[number] ?? EntityRecord()
    let (before, after) = (EntityRecord(base.attributes.filter { columns.contains($0.key) }), row.attributes)
    let changes = before.changes(to: EntityRecord(after))
    guard let record = catalog.record(of: .item(number)) else {
      if catalog.isErased(.item(number)) { return (.add, nil) }
      // An import has deleted the item with its row.
      guard bases[number] != nil else { return (.restore(number), nil) }
      if changes == nil { return (.none, nil) }
      return (
        .restore(number),
        "\(name) was deleted in the journal, and is back, because the table has changed it"
      )
    }
    // A record that is nested too deeply can't be compared. Setting its attributes throws the reason.
    if (try? EntityRecord(after).checkEncoding()) == nil {
      return (.update(number, record.applying(RecordChanges(set: after))), nil)
    }
    var parts: [(name: String, value: FieldValue?)] = []
    changes?.visit { part, value in
      if case .attribute(let name) = part { parts.append((name, value)) }
    }
    var (set, removed, conflicts): ([String: FieldValue], [String], [String]) = ([:], [], [])
    for (name, value) in parts {
      let current = record[name]
      if Self.areSame(current, value) { continue }
      if let value { set[name] = value } else { removed.append(name) }
      if !Self.areSame(current, before[name]) { conflicts.append(name) }
    }
    if set.isEmpty, removed.isEmpty { return (.none, nil) }
    let changed = record.applying(RecordChanges(set: set, remove: removed))
    guard !conflicts.isEmpty else { return (.update(number, changed), nil) }
    let isOne = conflicts.count == 1
    return (
      .update(number, changed),
      "\(name): \(conflicts.sorted().joined(separator: " and ")) \(isOne ? "was" : "were") changed in the journal "
        + "too; the table's \(isOne ? "value is" : "values are") used, and the history has the "
        + "\(isOne ? "other" : "others")"
    )
  }

  private static func areSame(_ left: FieldValue?, _ right: FieldValue?) -> Bool {
    left.map { EntityRecord(["": $0]) } == right.map { EntityRecord(["": $0]) }
  }

  private func set(_ row: TableFile.Row, in draft: inout Draft<Catalog>) throws {
    guard let key = ItemKey(row.attributes[file.key]) else { return }
    do throws(JournalError) {
      switch step(row, key, draft.state).change {
      case .none: break
      case .add: try draft.addItem(kind: kind, attributes: row.attributes)
      case .restore(let number):
        try draft.add(
          .item(number), EntityRecord(row.attributes, fields: [ItemField.kind: .string(kind)]))
      case .update(let number, let record): try draft.update(.item(number), to: record)
      }
    } catch {
      guard error.code == .rejected else { throw error }
      throw Failure.no(
        "line \(row.line): \(error.message); \(kept); correct the table, and run the import again")
    }
  }

  /// The items that the table lacks and an import has added, unless people have changed them.
  private func missing(in catalog: Catalog) -> [Int] {
    var missing: [Int] = []
    for (key, item) in items.sorted(by: { $0.key < $1.key }) where item.line == 0 {
      // People have added it, or its origin was pruned or erased.
      guard made.contains(item.number), let record = catalog.record(of: .item(item.number)) else { continue }
      if record == bases[item.number], catalog.images(of: Catalog.Item.ID(item.number)).isEmpty {
        missing.append(item.number)
      } else {
        conflicts.note(
          "\(Catalog.name(of: .item(item.number))) (\(key.text.shortened(to: 40))) is no longer in the table, but was "
            + "changed in the journal, so it stays")
      }
    }
    return missing.sorted()
  }

  // MARK: What earlier imports have made

  /// Lists the items of the kind by their keys, and looks up how earlier imports have left those that the table changes.
  private func prepare(_ journal: CatalogJournal, _ catalog: Catalog) throws {
    items = [:]
    for item in catalog.items(ofKind: kind) {
      // If two have the same key, the first counts.
      guard let key = ItemKey(item[file.key]), items[key] == nil else { continue }
      items[key] = (item.id.number, 0)
    }
    (wanted, unknown) = ([], [])
    try readAgain { [self] row, key in
      guard let number = items[key]?.number else {
        unknown.insert(key)
        return
      }
      items[key] = (number, row.line)
      guard let record = catalog.record(of: .item(number)) else { return }
      let removed = columns.filter { row.attributes[$0] == nil && record[$0] != nil }
      if record.applying(RecordChanges(set: row.attributes, remove: removed)) != record {
        wanted.insert(number)
      }
    }
    let known = items.values.contains { $0.line > 0 }
    wanted.formUnion(items.values.filter { $0.line == 0 }.map(\.number))
    if wanted.isEmpty, unknown.isEmpty { return }
    try readHistory(journal)
    // Items with an imported key that people have changed.
    let numbers = Set(imported.values)
    for (key, item) in items where numbers.contains(item.number) && item.line == 0 { items[key] = nil }
    if rowCount > 0, !known, imported.isEmpty,
      let item = items.values.first(where: { made.contains($0.number) })
    {
      throw Failure.wrongUse(
        "no row has the \(file.key.printable) of an item that was imported before, such as "
          + "\(Catalog.name(of: .item(item.number))), so all of them would be deleted; give the column the same --type as "
          + "before, or name another store with --store")
    }
  }

  /// Replays what the imports of this source have made of the wanted items, and of those with unknown keys.
  private func readHistory(_ journal: CatalogJournal) throws {
    if let base = journal.base, base.revision > 0 {
      // What was before is pruned. The items count as imported as they were then, but not as added by an import.
      let catalog = try journal.state(asOf: .revision(base.revision))
      for number in wanted { bases[number] = catalog.record(of: .item(number)) }
    }
    let entries = journal.entries()
    while let entry = try entries.next() {
      terminal.progress.show { "reading the history: entry \(entry.revision.grouped)" }
      let isOurs = entry.metadata[Self.sourceKey] == source
      let isCopy = entry.metadata[GitImport.Key.copy] != nil
      for event in entry.events where event.entity.kind == .item {
        let number = event.entity.number
        if case .erased = event.change {
          (bases[number], _) = (nil, made.remove(number))
          continue
        }
        if isCopy, case .add(let record) = event.change, wanted.contains(number) { bases[number] = record }
        guard isOurs else { continue }
        switch event.change {
        case .add(let record):
          let key = record[field: ItemField.kind] == .string(kind) ? ItemKey(record[file.key]) : nil
          if let key, unknown.contains(key) {
            imported[key] = number
          } else if !wanted.contains(number) {
            continue
          }
          bases[number] = record
          made.insert(number)
        case .update(let changes):
          if let base = bases[number] {
            bases[number] = base.applying(changes)
          } else if wanted.contains(number) {
            bases[number] = EntityRecord().applying(changes)
          }
        case .delete: (bases[number], _) = (nil, made.remove(number))
        case .erased: break
        }
      }
    }
    terminal.progress.clear()
  }
}

/// What people have changed as well as the table. The first lines of it are printed, and all are counted.
private struct TableConflicts {
  private let terminal: Terminal
  private(set) var count = 0

  init(_ terminal: Terminal) { self.terminal = terminal }

  mutating func note(_ problem: LineProblem) { note("line \(problem.line): \(problem.message)") }

  mutating func note(_ message: String) {
    count += 1
    if count <= ImportReport.lineLimit { terminal.warn("note: \(message.printable)") }
  }

  func end() {
    let rest = count - ImportReport.lineLimit
    if rest > 0 { terminal.warn("and \(rest.grouped) more") }
  }
}
