import CatalogModel
import EntitySearch
import JSON

enum BlameVerb: ListingVerb {
  static let text = """
    blame: shows who set each attribute of an entity, when and why

    Prints each attribute of an item, a category or an image with its value and the entry that set it. With --kind, it
    prints those of all items of a kind. If an entry only restored an earlier value, --origin prints the entry that first
    set it. Rows have the value as new, and no operation.

    Arguments: JOURNAL
    [ENTITY]: such as item:42, or item:42@yesterday for its earlier state
    [--kind KIND]: all items of this kind instead; or category, image or tag
    [--at SELECTOR]
    [--origin]: look through restores and reverts
    [--rows], [--csv], [--tsv], [--full], [--json]

    $ journal blame Books.journal item:42  # who set the title and all other attributes of item 42
    $ journal blame Books.journal item:42@HEAD~9  # the same, as of nine entries ago
    $ journal blame Books.journal --kind book --csv  # who set each attribute of each book, for a spreadsheet
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    guard arguments.has("ENTITY") != arguments.has("--kind") else {
      throw arguments.misuse("name an ENTITY, or all items of a kind with --kind")
    }
    let named = try arguments.value("ENTITY").map { try arguments.entityAndPoint($0) }
    if named?.point != nil, arguments.has("--at") {
      throw arguments.misuse("write either @SELECTOR after the entity or --at")
    }
    let point = try named?.point ?? arguments.selector(of: "--at", else: .head())
    let rows = try RowPrinter(arguments, excluding: [], terminal)
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(at: point)
    let printer = BlamePrinter(arguments, rows, journal, revision, isList: named == nil, terminal)
    if let (entity, _) = named {
      guard try printer.print(entity) else { throw try journal.absence(of: entity, at: revision) }
    } else {
      var isEmpty = true
      try journal.find(EntityQuery(kind: arguments.value("--kind")), asOf: .revision(revision)) { found in
        isEmpty = try !printer.print(found.entity) && isEmpty
        return true
      }
      if isEmpty { throw Failure.no("there is nothing of the kind \(arguments.operand("--kind"))") }
    }
    try printer.end()
  }
}

private struct BlamePrinter {
  private let journal: CatalogJournal
  private let revision: Revision
  private let labels: Labels
  private let rows: RowPrinter?
  private let findsOrigin: Bool
  private let isFull: Bool
  /// Whether there are several entities, so that each line names one.
  private let isList: Bool
  private let table: TextTable
  private let terminal: Terminal

  init(
    _ arguments: Arguments, _ rows: RowPrinter?, _ journal: CatalogJournal, _ revision: Revision,
    isList: Bool, _ terminal: Terminal
  ) {
    (self.journal, self.revision, labels) = (journal, revision, Labels(journal))
    (self.rows, self.isList, self.terminal) = (rows, isList, terminal)
    (findsOrigin, isFull) = (arguments.has("--origin"), arguments.has("--full"))
    let entity = isList ? [TextTable.Column(title: "ENTITY", width: 10, style: .yellow)] : []
    table = TextTable(
      entity + [
        .flexible("FIELD"), .flexible("VALUE"), .revision, .date(terminal), .flexible("AUTHOR"),
        .text("NOTE"),
      ], sampleCount: isList ? 100 : .max, isCut: !isFull, terminal)
  }

  /// Prints the lines of an entity. Returns false if it did not exist.
  func print(_ entity: EntityKey) throws -> Bool {
    guard let blame = try journal.blame(entity, asOf: .revision(revision), findsOrigin: findsOrigin) else {
      return false
    }
    let isForPrograms = rows != nil || terminal.isJSON
    let lines = isForPrograms ? blame.filter { !$0.key.isByteCount(of: entity.kind) } : blame
    let record = try rows == nil ? nil : journal.entity(entity, asOf: .revision(revision))?.record
    for line in lines {
      if let rows {
        try rows.print(
          ChangeRow(
            entry: (line.revision, line), entity: entity,
            label: record.flatMap { Catalog.label(of: $0, of: entity.kind) },
            kind: record?.kindName(of: entity), operation: nil,
            part: PartChange(key: line.key, old: nil, new: line.value)))
      } else {
        try table.add(try cells(of: line, entity), json: line.json(of: entity))
      }
    }
    return true
  }

  func end() throws { try table.end() }

  private func cells(of line: Blame, _ entity: EntityKey) throws -> [String] {
    let targets = try labels.targets(of: line.value, line.key, of: entity)
    let text = try terminal.text(of: line.value, line.key, of: entity.kind, targets: targets) {
      try labels.reference(to: $0, at: revision)
    }
    // `text` is made printable before it is cut, so the limit also counts its escapes.
    let value =
      if isFull, targets.isEmpty, case .attribute = line.key { fullText(of: line.value) } else {
        text.shortened(to: isFull ? 120 : 40)
      }
    return (isList ? [Catalog.name(of: entity)] : []) + [
      line.key.name(of: entity.kind).printable.shortened(to: 24), value, "\(line.revision)",
      terminal.text(of: line.date), line.authorCell(),
      line.isPruned ? "(history before this was pruned)" : terminal.note(of: line),
    ]
  }

  private func fullText(of value: FieldValue) -> String {
    if case .date(let date) = value { return terminal.text(ofValue: date, withFraction: true) }
    return value.json.printable
  }
}
