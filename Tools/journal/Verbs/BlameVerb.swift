import CatalogModel
import EntitySearch
import JSON

enum BlameVerb: ListingVerb {
  static let text = """
    blame: shows who set each attribute of an entity, when and why

    Prints each attribute of an item, a category or an image with its value and the entry that set it. If an entry only
    restored an earlier value, --origin prints the entry that first set it.

    Arguments: JOURNAL
    ENTITY: such as item:42, or item:42@yesterday for its earlier state
    [--origin]: look through restores and reverts
    [--full], [--json]

    $ journal blame Books.journal item:42  # who set the title and all other attributes of item 42
    $ journal blame Books.journal item:42@HEAD~9  # the same, as of nine entries ago
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let (entity, point) = try arguments.entityAndPoint(arguments.operand("ENTITY"))
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(at: point ?? .head())
    guard
      let blame = try journal.blame(entity, asOf: .revision(revision), findsOrigin: arguments.has("--origin"))
    else { throw try journal.absence(of: entity, at: revision) }
    if terminal.isJSON {
      for line in blame where !line.key.isByteCount(of: entity.kind) {
        try terminal.printJSON(line.json(of: entity.kind))
      }
      return
    }
    let labels = Labels(journal)
    let isFull = arguments.has("--full")
    let rows = try blame.map { line in
      let targets = try labels.targets(of: line.value, line.key, of: entity)
      let text = try terminal.text(of: line.value, line.key, of: entity.kind, targets: targets) {
        try labels.reference(to: $0, at: revision)
      }
      // `text` is made printable before it is cut, so the limit also counts its escapes.
      let value =
        if isFull, targets.isEmpty, case .attribute = line.key { fullText(of: line.value, terminal) } else {
          text.shortened(to: isFull ? 120 : 40)
        }
      return [
        line.key.name(of: entity.kind).printable.shortened(to: 24), value, "\(line.revision)",
        terminal.text(of: line.date), line.authorCell(),
        line.isPruned ? "(history before this was pruned)" : terminal.note(of: line),
      ]
    }
    try TextTable.print(
      [
        .flexible("FIELD"), .flexible("VALUE"), .revision, .date(terminal), .flexible("AUTHOR"),
        .text("NOTE"),
      ], rows, isCut: !isFull, terminal)
  }

  private static func fullText(of value: FieldValue, _ terminal: Terminal) -> String {
    if case .date(let date) = value { return terminal.text(ofValue: date, withFraction: true) }
    return value.json.printable
  }
}
