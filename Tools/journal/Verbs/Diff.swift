import CatalogModel
import JSON

/// `journal diff JOURNAL A B [ENTITY…]`
enum Diff: Verb {
  static let name = "diff"
  static let summary = "shows the differences between two points in time"
  static let explanation = """
    Shows which items, categories, images and tags were added, changed and deleted between two points in time, with the
    old and the new values of those that were changed. With ENTITY it shows only that entity. It reads the entries between
    the two points and what they changed, so comparing neighbors is fast, however large the journal is. --kind and
    --stat print less, but take as long.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal, Syntax.Operand(name: "A", help: "the first point in time, such as yesterday or HEAD~3"),
      Syntax.Operand(name: "B", help: "the second one; by default HEAD", isOptional: true),
      Syntax.Operand(name: "ENTITY", help: "such as item:42", isOptional: true, isRepeated: true),
    ],
    options: [
      Syntax.Option(
        name: "--kind", value: "KIND", help: "only items of this kind; or category, image or tag"),
      Syntax.Option(name: "--stat", help: "show only which entities differ, and how many attributes of each"),
      Syntax.full, Syntax.json,
    ])
  static let examples = [
    (command: "journal diff Books.journal yesterday", does: "everything that has changed since yesterday"),
    (command: "journal diff Books.journal HEAD~1 HEAD item:42", does: "what the newest entry did to item 42"),
    (command: "journal diff Books.journal 2026-08-01 2026-09-01 --stat", does: "what happened in August"),
  ]
  static let isPaged = true
  static let endsWithReader = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    var entities = arguments.operandValues("ENTITY")
    var second = RevisionSelector.head()
    if let text = arguments.optionalOperand("B") {
      // In `diff JOURNAL A item:42`, the last argument is an entity.
      if text.wholeMatch(of: /[a-z]+:[0-9]+/) != nil {
        entities.insert(text, at: 0)
      } else {
        second = try arguments.selector(text)
      }
    }
    let old = try journal.revision(arguments.selector(arguments.operand("A")))
    let new = try journal.revision(second)
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
    if arguments.has("--json") {
      try terminal.printJSON(differences)
    } else if arguments.has("--stat") {
      try printStat(differences, terminal)
    } else {
      let text = ChangeText(terminal: terminal, isFull: arguments.has("--full"))
      let references = ReferenceTexts(Labels(journal), from: old, to: new)
      for difference in differences { try text.print(difference, references) }
    }
    if differences.isEmpty { terminal.warn("there are no differences") }
    let first = arguments.operand("A")
    if arguments.optionalOperand("B") == nil, first.wholeMatch(of: /[a-z]+:[0-9]+/) != nil {
      terminal.warn(
        "\(first) is the point of its newest change; history \(first) shows its changes, diff A B \(first) "
          + "compares them")
    }
    return .done
  }

  private static func printStat(_ differences: [EntityDifference], _ terminal: Terminal) throws {
    guard !differences.isEmpty else { return }
    let rows = differences.map { difference in
      let kind = difference.entity.kind
      let label = (difference.new ?? difference.old).flatMap { Catalog.label(of: $0, of: kind) } ?? ""
      let fields =
        difference.operation == .update
        ? difference.parts.map { EntityPart.name(of: $0.key, of: kind).printable }.joined(separator: ", ")
        : difference.operation.name
      return [
        difference.operation.sign, Catalog.name(of: difference.entity), label.printable.shortened(to: 40),
        fields,
      ]
    }
    let columns = [
      TextTable.Column(title: ""), TextTable.Column(title: "ENTITY", style: .yellow),
      TextTable.Column(title: "LABEL", isFlexible: true),
      TextTable.Column(title: "CHANGED"),
    ]
    try TextTable.print(columns, rows, isCut: true, terminal)
    let counts = JournalEvent.Operation.allCases.map { operation in
      "\(differences.count { $0.operation == operation }.grouped) \(operation.past)"
    }
    try terminal.output.line(counts.joined(separator: ", "))
  }
}

extension JournalEvent.Operation {
  fileprivate static let allCases: [JournalEvent.Operation] = [.add, .update, .delete]

  /// `added`, `changed` or `deleted`.
  var past: String {
    switch self {
    case .add: "added"
    case .update: "changed"
    case .delete: "deleted"
    }
  }
}

extension Terminal {
  /// Prints each difference as a line of JSON.
  func printJSON(_ differences: [EntityDifference]) throws {
    var writer = JSONWriter()
    for difference in differences {
      Catalog.write(difference, to: &writer)
      writer.newline()
      try output.write(writer.bytes)
      writer.removeAll()
    }
  }
}
