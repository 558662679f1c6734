import CatalogModel
import JSON

/// `journal history JOURNAL ENTITY`
enum History: Verb {
  static let name = "history"
  static let summary = "lists everything that happened to one entity"
  static let explanation = """
    Lists every event of an item, a category or an image, the newest first, with who made it and why. It takes
    as long as the history is, however large the journal.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal, Syntax.Operand(name: "ENTITY", help: "such as item:42, category:3 or image:7"),
    ],
    options: [Syntax.json])
  static let examples = [
    (command: "journal history Books.journal item:42", does: "every change of item 42")
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let entity = try Catalog.entity(arguments.operand("ENTITY"))
    let journal = try arguments.openJournal(terminal)
    let changes = try journal.history(of: entity)
    guard !changes.isEmpty else {
      throw Failure(.no, "there never was \(Catalog.name(of: entity)) in this journal")
    }
    if arguments.has("--json") {
      var writer = JSONWriter()
      for change in changes {
        writer.beginObject()
        writer.member("revision", change.revision)
        writer.member("date", change.date.precise)
        if change.date.differs(from: change.clockDate) {
          writer.member("clockDate", change.clockDate.precise)
        }
        writer.member("author", change.isAnnotationErased ? nil : change.author)
        writer.member("note", change.isAnnotationErased ? nil : change.note)
        writer.key("event")
        Catalog.write(change.event, to: &writer)
        writer.endObject()
        writer.newline()
        try terminal.output.write(writer.bytes)
        writer.removeAll()
      }
      return .done
    }
    let columns = [
      Table.Column(title: "REVISION", alignment: .right, style: .yellow), Table.Column(title: "DATE (UTC)"),
      Table.Column(title: "AUTHOR"), Table.Column(title: "CHANGE"), Table.Column(title: "NOTE"),
    ]
    let rows = changes.map { change in
      [
        "\(change.revision)", change.date.printable,
        change.isAnnotationErased ? erasedText : change.author.printable.shortened(to: 20),
        change.event.outline,
        change.note.prefix { !$0.isNewline }.description.printable
          + change.date.clockRemark(change.clockDate),
      ]
    }
    try Table.print(columns, rows, terminal)
    return .done
  }
}

extension Event {
  /// `update blob, text`: the operation, and for an update what it changes.
  fileprivate var outline: String {
    switch change {
    case .add: return "add"
    case .delete: return "delete"
    case .erased: return "\(operation), erased"
    case .update(let changes):
      let names = changes.parts(of: entity.kind).map(\.name.printable)
      let shown = names.prefix(4).joined(separator: ", ")
      return "update \(shown)" + (names.count > 4 ? " and \(names.count - 4) more" : "")
    }
  }
}
