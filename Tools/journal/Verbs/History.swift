import CatalogModel
import JSON

/// `journal history JOURNAL ENTITY`
enum History: Verb {
  static let name = "history"
  static let summary = "shows every version of one entity, with old and new values"
  static let explanation = """
    Shows all changes of an item, a category or an image, the newest first: who made each and why, with old and new
    values. The time depends on the number of changes shown, or with --reverse on that of all changes, not on the size of
    the journal.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(
        name: "ENTITY", help: "such as item:42, or item:42@yesterday for its history up to then"),
    ],
    options: [
      Syntax.Option(name: "-n", value: "N", help: "show at most N versions"),
      Syntax.Option(name: "--reverse", help: "show the oldest first"),
      Syntax.Option(name: "--stat", help: "one line for each version, without values"), Syntax.full,
      Syntax.json,
    ])
  static let examples = [
    (command: "journal history Books.journal item:42", does: "every change of item 42"),
    (command: "journal history Books.journal item:42 --stat", does: "one line for each"),
  ]
  static let isPaged = true
  static let endsWithReader = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let (entity, point) = try arguments.entityAndPoint(arguments.operand("ENTITY"))
    let limit = try arguments.count("-n") ?? Int.max
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(point ?? .head())
    let labels = Labels(journal)
    var table: TextTable?
    func print(_ part: some Collection<EntityChange>) throws {
      if arguments.has("--json") {
        try printJSON(part, terminal)
      } else if arguments.has("--stat") {
        try printRows(part, &table, terminal)
      } else {
        try Self.print(part, labels, isFull: arguments.has("--full"), terminal)
      }
    }
    let hasChanges =
      arguments.has("--reverse")
      ? try readForward(entity, revision, limit, journal, print)
      : try readBack(entity, revision, limit, journal, print)
    guard hasChanges else { throw try Failure(absent: entity, at: revision, journal) }
    return .done
  }

  /// Calls `body` with the parts of a history, newest first. Returns false if there is no history.
  private static func readBack(
    _ entity: EntityKey, _ revision: Revision, _ limit: Int, _ journal: CatalogJournal,
    _ body: (ArraySlice<EntityChange>) throws -> Void
  ) throws -> Bool {
    var partCount = firstPartCount
    var rest = limit
    var next = revision
    while true {
      // One is read even for `-n 0`, to tell whether there is any.
      let part = try journal.history(
        of: entity, asOf: .revision(next), limit: min(partCount, max(rest, 1)), byteLimit: partByteCount)
      guard let oldest = part.last else { return false }
      try body(part.prefix(rest))
      rest -= part.count
      next = oldest.previous
      guard rest > 0, next > 0 else { return true }
      // Without layers, finding the values before a part takes as long as reading all that is before it. Of large
      // versions, fewer are returned than are read.
      partCount = min(2 * part.count, longestPartCount)
    }
  }

  /// Calls `body` with the parts of a history, oldest first. Returns false if there is no history.
  private static func readForward(
    _ entity: EntityKey, _ revision: Revision, _ limit: Int, _ journal: CatalogJournal,
    _ body: (ArraySlice<EntityChange>) throws -> Void
  ) throws -> Bool {
    var part: [EntityChange] = []
    var byteCount = 0
    var count = 0
    try journal.forEachChange(of: entity, asOf: .revision(revision)) { change in
      count += 1
      part.append(change)
      byteCount += change.byteCount
      if part.count == firstPartCount || byteCount >= partByteCount || count >= limit {
        try body(part.prefix(limit))
        part = []
        byteCount = 0
      }
      return count < limit
    }
    if !part.isEmpty { try body(part[...]) }
    return count > 0
  }

  /// A history is read and printed in parts of so many versions or bytes, so that memory holds one part.
  private static let firstPartCount = 500
  private static let longestPartCount = 4_000
  private static let partByteCount = 16 << 20

  private static func print(
    _ changes: some Collection<EntityChange>, _ labels: Labels, isFull: Bool, _ terminal: Terminal
  ) throws {
    let text = ChangeText(terminal: terminal, isFull: isFull)
    for change in changes {
      if change.isPruned {
        try terminal.output.line(
          terminal.styled(.yellow, "revision \(change.revision)  \(terminal.text(of: change.date))")
            + "  history before this was pruned")
        try text.printHeading(change.event.entity, change.event.operation, change.labelRecord)
        try text.print(change.event, change.parts, in: change.revision, labels)
        continue
      }
      let head = "revision \(change.revision)  \(terminal.text(of: change.date))  \(change.authorText)"
      let note = terminal.note(of: change)
      try terminal.output.line(terminal.styled(.yellow, head) + (note.isEmpty ? "" : "  \(note)"))
      let event = change.event
      try text.printHeading(event.entity, event.operation, change.labelRecord)
      try text.print(event, change.parts, in: change.revision, labels)
    }
  }

  /// - Parameter table: has the columns, as wide as the first part needs; nil before that.
  private static func printRows(
    _ changes: some Collection<EntityChange>, _ table: inout TextTable?, _ terminal: Terminal
  ) throws {
    let columns = [
      TextTable.Column(title: "REVISION", alignment: .right, style: .yellow),
      TextTable.Column(title: terminal.dateTitle), TextTable.Column(title: "AUTHOR", isFlexible: true),
      TextTable.Column(title: "CHANGE", isFlexible: true),
      TextTable.Column(title: "NOTE"),
    ]
    let rows = changes.map { change in
      [
        "\(change.revision)", terminal.text(of: change.date), change.authorCell(),
        change.isPruned ? "(pruned before)" : change.event.outline, terminal.note(of: change),
      ]
    }
    if table == nil {
      table = TextTable(columns, fitting: rows, isCut: true, terminal)
      try table?.printTitles(terminal)
    }
    for row in rows { try table?.printRow(row, terminal) }
  }

  private static func printJSON(_ changes: some Collection<EntityChange>, _ terminal: Terminal) throws {
    var writer = JSONWriter()
    for change in changes {
      change.write(to: &writer)
      writer.newline()
      try terminal.output.write(writer.bytes)
      writer.removeAll()
    }
  }
}

extension JournalEvent {
  /// `update blob, text`: the operation, and for an update what it changes.
  var outline: String {
    switch change {
    case .add: return "add"
    case .delete: return "delete"
    case .erased: return "\(operation), erased"
    case .update(let changes):
      var names: [String] = []
      changes.visitKeys { names.append(EntityPart.name(of: $0, of: entity.kind).printable) }
      let shown = names.prefix(4).joined(separator: ", ")
      return "update \(shown)" + (names.count > 4 ? " and \(names.count - 4) more" : "")
    }
  }
}
