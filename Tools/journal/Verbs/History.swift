import CatalogModel
import JSON

enum History: ListingVerb {
  static let text = """
    history: shows every version of one entity, with old and new values

    Shows all changes of an item, a category or an image, the newest first: who made each and why, with old and new
    values.

    Arguments: JOURNAL
    ENTITY: such as item:42, or item:42@yesterday for its history up to then
    [-n N]: show at most N versions
    [--reverse]: show the oldest first
    [--stat]: one line for each version, without values
    [--rows], [--csv], [--tsv], [--full], [--json]

    $ journal history Books.journal item:42  # every change of item 42
    $ journal history Books.journal item:42 --stat  # one line for each
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let (entity, point) = try arguments.entityAndPoint(arguments.operand("ENTITY"))
    let limit = try arguments.count("-n") ?? Int.max
    let rows = try RowPrinter(arguments, excluding: ["--stat"], terminal)
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(at: point ?? .head())
    let labels = Labels(journal)
    let table = TextTable(
      [.revision, .date(terminal), .flexible("AUTHOR"), .flexible("CHANGE"), .text("NOTE")],
      sampleCount: firstPartCount, terminal)
    func print(_ change: EntityChange) throws {
      if let rows { return try Self.print(change, rows) }
      if terminal.isJSON {
        return try terminal.printJSON(arguments.has("--stat") ? change.outlineJSON : change.json)
      }
      guard arguments.has("--stat") else {
        return try Self.print(change, labels, isFull: arguments.has("--full"), terminal)
      }
      try table.add([
        "\(change.revision)", terminal.text(of: change.date), change.authorCell(),
        change.isPruned ? "(pruned before)" : change.event.outline, terminal.note(of: change),
      ])
    }
    var (isThere, left) = (false, limit)
    func show(_ part: [EntityChange]) throws {
      isThere = true
      for change in part.prefix(left) { try print(change) }
      left -= min(part.count, left)
    }
    if arguments.has("--reverse") {
      // A history is read backwards: a first pass divides it into parts, which a second one prints, oldest first.
      var parts: [(newest: Revision, count: Int)] = []
      try forEachPart(of: entity, revision, atMost: .max, first: longestPartCount, journal) {
        parts.append(($0[0].revision, $0.count))
      }
      for (newest, count) in parts.reversed() where !isThere || left > 0 {
        let part = try journal.history(
          of: entity, asOf: .revision(newest), limit: count, byteLimit: partByteCount)
        try show(part.reversed())
      }
    } else {
      try forEachPart(of: entity, revision, atMost: limit, journal, show)
    }
    guard isThere else { throw try journal.absence(of: entity, at: revision) }
    try table.end()
  }

  /// Calls `body` with parts of a history, the newest changes first. Even with a limit of 0, one change is read, so
  /// that the caller learns whether there is any.
  private static func forEachPart(
    of entity: EntityKey, _ revision: Revision, atMost limit: Int, first: Int = firstPartCount,
    _ journal: CatalogJournal, _ body: ([EntityChange]) throws -> Void
  ) throws {
    var (left, next, partCount) = (max(limit, 1), revision, first)
    repeat {
      let part = try journal.history(
        of: entity, asOf: .revision(next), limit: min(partCount, left), byteLimit: partByteCount)
      guard let oldest = part.last else { return }
      try body(part)
      left -= part.count
      next = oldest.previous
      // Parts grow: without layers, finding the values before a part takes as long as reading all that is before it.
      partCount = min(2 * part.count, longestPartCount)
    } while left > 0 && next > 0
  }

  /// The limits of a part. A history is read in parts, so that memory holds only one of them.
  private static let firstPartCount = 500
  private static let longestPartCount = 4_000
  private static let partByteCount = 16 << 20

  private static func print(_ change: EntityChange, _ rows: RowPrinter) throws {
    let (entity, record) = (change.event.entity, change.labelRecord)
    let isErased = if case .erased = change.event.change { true } else { false }
    try rows.print(
      (change.revision, change), entity, label: record.flatMap { Catalog.label(of: $0, of: entity.kind) },
      kind: record?.kindName(of: entity), change.event.operation,
      isErased ? [] : change.parts)
  }

  private static func print(
    _ change: EntityChange, _ labels: Labels, isFull: Bool, _ terminal: Terminal
  ) throws {
    let head = "revision \(change.revision)  \(terminal.text(of: change.date))"
    let note = change.isPruned ? "history before this was pruned" : terminal.note(of: change)
    try terminal.line(
      terminal.styled(.yellow, change.isPruned ? head : "\(head)  \(change.authorText)")
        + (note.isEmpty ? "" : "  \(note)"))
    let text = ChangeText(terminal: terminal, isFull: isFull)
    let event = change.event
    let label = change.labelRecord.flatMap { Catalog.label(of: $0, of: event.entity.kind) }
    try text.print(event, change.parts, label: label, in: change.revision, labels)
  }
}

extension EntityChange {
  fileprivate var outlineJSON: JSONObject {
    let label = labelRecord.flatMap { Catalog.label(of: $0, of: event.entity.kind) }
    return [
      "revision": revision, .members: JSONObject.attribution(of: self),
      "pruned": ifAny(isPruned ? true : nil), .members: Catalog.outline(of: event, label: label),
    ]
  }
}

extension JournalEvent {
  /// The operation and, for an update, the names of up to four changed parts: `update blob, text`.
  var outline: String {
    switch change {
    case .add: return "add"
    case .delete: return "delete"
    case .erased: return "\(operation), erased"
    case .update(let changes):
      var names: [String] = []
      changes.visitKeys { names.append($0.name(of: entity.kind).printable) }
      if names.isEmpty { return "update" }
      let shown = names.prefix(4).joined(separator: ", ")
      return "update \(shown)" + (names.count > 4 ? " and \(names.count - 4) more" : "")
    }
  }
}
