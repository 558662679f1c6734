import CatalogModel
import JSON

/// `journal blame JOURNAL ENTITY`
enum BlameVerb: Verb {
  static let name = "blame"
  static let summary = "shows who set each attribute of an entity, when and why"
  static let explanation = """
    Prints each attribute of an item, a category or an image with its value and the entry that set it. If an entry only
    restored an earlier value, --origin prints the entry that first set it.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(name: "ENTITY", help: "such as item:42, or item:42@yesterday for its earlier state"),
    ],
    options: [
      Syntax.Option(name: "--origin", help: "look through restores and reverts"), Syntax.full, Syntax.json,
    ])
  static let examples = [
    (
      command: "journal blame Books.journal item:42",
      does: "who set the title and all other attributes of item 42"
    ),
    (command: "journal blame Books.journal item:42@HEAD~9", does: "the same, as of nine entries ago"),
  ]
  static let isPaged = true
  static let endsWithReader = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let (entity, point) = try arguments.entityAndPoint(arguments.operand("ENTITY"))
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(point ?? .head())
    guard
      let blame = try journal.blame(
        entity, asOf: .revision(revision), findsOrigin: arguments.has("--origin"))
    else { throw try Failure(absent: entity, at: revision, journal) }
    if arguments.has("--json") {
      var writer = JSONWriter()
      for line in blame where !line.key.isByteCount(of: entity.kind) {
        line.write(to: &writer, of: entity.kind)
        writer.newline()
      }
      try terminal.output.write(writer.bytes)
      return .done
    }
    let labels = Labels(journal)
    let isFull = arguments.has("--full")
    let rows = try blame.map { line in
      let part = try EntityPart(line.key, line.value, of: entity.kind, terminal) {
        try labels.reference(to: $0, at: revision)
      }
      // The printable value is cut too.
      let value =
        if isFull, case .attribute = line.key { fullText(of: line.value, terminal) } else {
          part.value.shortened(to: isFull ? 120 : 40)
        }
      return [
        part.name.printable.shortened(to: 24), value, "\(line.revision)",
        terminal.text(of: line.date), line.authorCell(),
        line.isPruned ? "(history before this was pruned)" : terminal.note(of: line),
      ]
    }
    let columns = [
      TextTable.Column(title: "FIELD", isFlexible: true), TextTable.Column(title: "VALUE", isFlexible: true),
      TextTable.Column(title: "REVISION", alignment: .right, style: .yellow),
      TextTable.Column(title: terminal.dateTitle), TextTable.Column(title: "AUTHOR", isFlexible: true),
      TextTable.Column(title: "NOTE"),
    ]
    try TextTable.print(columns, rows, isCut: !isFull, terminal)
    return .done
  }

  /// A value of which nothing is left out.
  private static func fullText(of value: FieldValue, _ terminal: Terminal) -> String {
    if case .date(let date) = value { return terminal.text(ofValue: date, withFraction: true) }
    return value.json.printable
  }
}
