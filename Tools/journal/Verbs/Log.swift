import CatalogModel
import JSON

/// `journal log JOURNAL`
enum Log: Verb {
  static let name = "log"
  static let summary = "lists entries, the newest first"
  static let explanation = """
    Lists entries, the newest first: what was changed when, by whom and why. CHANGES counts what was added (+),
    updated (~) and deleted (-).
    """
  static let syntax = Syntax(
    operands: [Syntax.journal],
    options: [
      Syntax.Option(name: "-n", value: "N", help: "stop after N entries"),
      Syntax.Option(name: "--reverse", help: "the oldest first"),
      Syntax.Option(name: "--since", value: "SELECTOR", help: "only entries after this point"),
      Syntax.Option(
        name: "--until", value: "SELECTOR", help: "only entries up to this point, itself included"),
      Syntax.Option(name: "--author", value: "TEXT", help: "only entries whose author contains TEXT"),
      Syntax.json,
    ])
  static let examples = [
    (command: "journal log Books.journal -n 10", does: "the ten newest entries"),
    (command: "journal log Books.journal --since 2026-08-01 --author ana", does: "what Ana did since August"),
    (command: "journal log Books.journal --json | jq .note", does: "one JSON object a line"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let limit = try arguments.count("-n") ?? Int.max
    let journal = try arguments.openJournal(terminal)
    let since = try arguments.value("--since").map { try journal.revision(named: $0) } ?? 0
    let until =
      try arguments.value("--until").map { try journal.revision(named: $0) } ?? journal.head.revision
    let author = arguments.value("--author")?.lowercased()
    guard since < until, limit > 0 else { return .done }
    let entries = journal.entries((since + 1)...until, newestFirst: !arguments.has("--reverse"))
    let print = printer(arguments.has("--json"), widestRevision: until, terminal)
    var count = 0
    while count < limit, let entry = try entries.next() {
      if let author, !entry.author.lowercased().contains(author) { continue }
      try print(entry)
      count += 1
    }
    return .done
  }

  private static func printer(
    _ asJSON: Bool, widestRevision: Revision, _ terminal: Terminal
  ) -> (Entry) throws -> Void {
    if asJSON {
      var writer = JSONWriter()
      return { entry in
        entry.write(to: &writer)
        writer.newline()
        try terminal.output.write(writer.bytes)
        writer.removeAll()
      }
    }
    let table = Table([
      Table.Column(
        title: "REVISION", alignment: .right, width: String(widestRevision).count, style: .yellow),
      Table.Column(title: "DATE (UTC)", width: 19),
      Table.Column(title: "AUTHOR", width: authorWidth),
      Table.Column(title: "CHANGES", width: 12, style: .faint),
      Table.Column(title: "NOTE"),
    ])
    var hasTitles = false
    return { entry in
      if !hasTitles { try table.printTitles(terminal) }
      hasTitles = true
      try table.printRow(
        [
          "\(entry.revision)", entry.date.printable,
          entry.isAnnotationErased ? erasedText : entry.author.printable.shortened(to: authorWidth),
          entry.changeCounts, entry.subject + entry.date.clockRemark(entry.clockDate),
        ], terminal)
    }
  }

  private static let authorWidth = 20
}

extension Entry {
  /// The note's first line.
  var subject: String { note.prefix { !$0.isNewline }.description.printable }

  /// `+3 ~1 -2`: how many entities were added, updated and deleted.
  var changeCounts: String {
    let counts = [("+", Event.Operation.add), ("~", .update), ("-", .delete)].map { sign, operation in
      (sign, events.count { $0.operation == operation })
    }
    return counts.filter { $0.1 > 0 }.map { "\($0.0)\($0.1)" }.joined(separator: " ")
  }
}
