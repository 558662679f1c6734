import CatalogModel
import EntitySearch
import JSON

enum Diff: ListingVerb {
  static let text = """
    diff: shows the differences between two points in time

    Shows which items, categories, images and tags were added, changed and deleted between two points in time, with the
    old and the new values of those that were changed. With ENTITY it shows only that entity. Rows have no revision, date,
    author and note, because several entries may have made a difference.

    Arguments: JOURNAL
    A: the first point in time, such as yesterday or HEAD~3
    [B]: the second one; by default HEAD
    [ENTITY]…: such as item:42
    [--kind KIND]: only items of this kind; or category, image or tag
    [--stat]: show only which entities differ, and how many attributes of each
    [--rows], [--csv], [--tsv], [--full], [--json]

    $ journal diff Books.journal yesterday  # everything that has changed since yesterday
    $ journal diff Books.journal HEAD~1 HEAD item:42  # what the newest entry did to item 42
    $ journal diff Books.journal 2026-08-01 2026-09-01 --stat  # what happened in August
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let rows = try RowPrinter(arguments, excluding: ["--stat"], terminal)
    let journal = try arguments.openJournal(terminal)
    var entities = arguments.values("ENTITY")
    var second = RevisionSelector.head()
    if let text = arguments.value("B") {
      // In `diff JOURNAL A item:42`, the last argument is an entity.
      if text.wholeMatch(of: /[a-z]+:[0-9]+/) != nil {
        entities.insert(text, at: 0)
      } else {
        second = try arguments.selector(text)
      }
    }
    let old = try journal.revision(at: arguments.selector(arguments.operand("A")))
    let new = try journal.revision(at: second)
    let keys = try entities.map { try Catalog.entity($0) }
    for key in keys { try journal.checkEverExisted(key) }
    var differences =
      keys.isEmpty
      ? try journal.diff(from: .revision(old), to: .revision(new))
      : try journal.diff(of: keys, from: .revision(old), to: .revision(new))
    if let kind = arguments.value("--kind") {
      let query = EntityQuery(kind: kind)
      differences.removeAll { !query.matches($0.entity, $0.new ?? $0.old ?? EntityRecord()) }
    }
    if let rows {
      for difference in differences {
        let (entity, record) = (difference.entity, difference.new ?? difference.old ?? EntityRecord())
        try rows.print(
          nil, entity, label: Catalog.label(of: record, of: entity.kind), kind: record.kindName(of: entity),
          difference.operation, difference.parts)
      }
    } else if terminal.isJSON {
      for difference in differences {
        try terminal.printJSON(
          arguments.has("--stat") ? Catalog.outline(of: difference) : Catalog.json(of: difference))
      }
    } else if arguments.has("--stat") {
      try printStat(differences, terminal)
    } else {
      let text = ChangeText(terminal: terminal, isFull: arguments.has("--full"))
      let references = ReferenceTexts(Labels(journal), from: old, to: new)
      for difference in differences { try text.print(difference, references) }
    }
    if differences.isEmpty { terminal.warn("there are no differences") }
    let first = arguments.operand("A")
    if arguments.value("B") == nil, first.wholeMatch(of: /[a-z]+:[0-9]+/) != nil {
      terminal.warn(
        "\(first) is the point of its newest change; history \(first) shows its changes, diff A B \(first) "
          + "compares them")
    }
  }

  private static func printStat(_ differences: [EntityDifference], _ terminal: Terminal) throws {
    guard !differences.isEmpty else { return }
    let rows = differences.map { difference in
      let kind = difference.entity.kind
      let label = (difference.new ?? difference.old).flatMap { Catalog.label(of: $0, of: kind) } ?? ""
      let fields =
        difference.operation == .update
        ? difference.parts.map { $0.key.name(of: kind).printable }.joined(separator: ", ")
        : difference.operation.name
      return [
        difference.operation.sign, Catalog.name(of: difference.entity), label.printable.shortened(to: 40),
        fields,
      ]
    }
    let entity = TextTable.Column(title: "ENTITY", style: .yellow)
    try TextTable.print([.text(""), entity, .flexible("LABEL"), .text("CHANGED")], rows, terminal)
    let operations: [(JournalEvent.Operation, String)] = [
      (.add, "added"), (.update, "changed"), (.delete, "deleted"),
    ]
    let counts = operations.map { operation, past in
      "\(differences.count { $0.operation == operation }.grouped) \(past)"
    }
    try terminal.line(counts.joined(separator: ", "))
  }
}
