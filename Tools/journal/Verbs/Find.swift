import CatalogModel
import JSON

/// `journal find JOURNAL [TEXT]`
enum Find: Verb {
  static let name = "find"
  static let summary = "finds items, categories and images, deleted ones too"
  static let explanation = """
    Finds entities and prints their numbers, which the other verbs take. It searches labels and texts for TEXT and ignores
    case. Texts inside lists and objects count too, as do the kind of an item and the media type of an image. An entity's
    name, such as item:42, finds that entity. --at searches the entities of that point. --deleted searches the entities
    that had been deleted by then, as they last were. Exits with 1 if nothing is found.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(
        name: "TEXT", help: "part of a label or of a text, or an entity's name", isOptional: true),
    ],
    options: Syntax.query + [
      Syntax.point, Syntax.Option(name: "--deleted", help: "search deleted entities"),
      Syntax.Option(name: "-n", value: "N", help: "show at most N entities"), Syntax.json,
    ])
  static let examples = [
    (command: "journal find Books.journal dune", does: "everything with \"dune\" in a text"),
    (command: "journal find Books.journal --kind book --where stars=5", does: "books with five stars"),
    (
      command: "journal find Books.journal --deleted --at yesterday",
      does: "entities that had been deleted by then"
    ),
  ]
  static let isPaged = true
  static let endsWithReader = true

  /// The columns are as wide as so many rows need; later rows are printed as they are found.
  private static let firstCount = 100
  /// A label can be a whole text, which no terminal cuts if the results go elsewhere.
  private static let labelLimit = 200

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    let point = try arguments.selector(of: "--at", else: .head())
    let limit = try arguments.count("-n") ?? Int.max
    let query = try arguments.query(journal, text: arguments.optionalOperand("TEXT"), asOf: point)
    let isDeleted = arguments.has("--deleted")
    var writer = JSONWriter()
    let columns = [
      TextTable.Column(title: "ENTITY", width: 10, style: .yellow),
      TextTable.Column(title: "KIND", width: 10, isFlexible: true),
      TextTable.Column(title: isDeleted ? "DELETED" : "CHANGED", alignment: .right),
      TextTable.Column(title: "LABEL"),
    ]
    var table: TextTable?
    var rows: [[String]] = []
    func printRows() throws {
      if table == nil {
        table = TextTable(columns, fitting: rows, isCut: true, terminal)
        try table?.printTitles(terminal)
      }
      for row in rows { try table?.printRow(row, terminal) }
      rows = []
    }
    var count = 0
    let catalog = try journal.state(asOf: .revision(try journal.revision(point)))
    try journal.find(query, asOf: point, deleted: isDeleted) { found in
      // Even with a limit of 0, the exit code says whether something was found.
      count += 1
      if count > limit { return false }
      if arguments.has("--json") {
        found.write(to: &writer)
        writer.newline()
        try terminal.output.write(writer.bytes)
        writer.removeAll()
        return count < limit
      }
      rows.append([
        Catalog.name(of: found.entity), found.kind.printable.cut(toColumns: 20),
        "\(found.deleted ?? catalog.revision(of: found.entity))",
        found.label?.printable.shortened(to: labelLimit) ?? "",
      ])
      if table != nil || rows.count == firstCount { try printRows() }
      return count < limit
    }
    if !rows.isEmpty { try printRows() }
    if count > 0 { return .done }
    throw Failure(
      .no,
      (isDeleted ? "no deleted entity matches" : "nothing found; --deleted searches deleted entities")
        + query.hint)
  }
}
