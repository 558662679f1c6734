import CatalogModel
import JSON

final class LogPrinter {
  private let terminal: Terminal
  private let labels: Labels
  private let text: ChangeText
  private let isPatch: Bool
  private let isStat: Bool
  private let table: TextTable
  private let tags: [Revision: [String]]
  private var isFirst = true
  private let authorWidth: Int

  init(_ arguments: Arguments, _ labels: Labels, widestRevision: Revision, _ terminal: Terminal) {
    self.terminal = terminal
    self.labels = labels
    tags = labels.journal.state.tagNames
    authorWidth = terminal.width.map { $0 < 90 } ?? false ? 12 : 20
    text = ChangeText(terminal: terminal, isFull: arguments.has("--full"))
    isPatch = arguments.has("--patch")
    isStat = arguments.has("--stat")
    var revision = TextTable.Column.revision
    revision.width = String(widestRevision).count
    table = TextTable(
      [
        revision, TextTable.Column(title: terminal.dateTitle(), width: 19),
        TextTable.Column(title: "AUTHOR", width: authorWidth),
        TextTable.Column(title: "CHANGES", width: 12, style: .faint), .text("NOTE"),
      ], sampleCount: 0, isCut: !arguments.has("--full"), terminal)
  }

  func print(_ entry: Entry, _ events: [JournalEvent]) throws {
    if terminal.isJSON { return try printJSON(entry, events) }
    let tags = tags[entry.revision] ?? []
    if isPatch {
      if !isFirst { try terminal.line() }
      isFirst = false
      try terminal.printHead(of: entry, tags: tags, isShort: true)
      return try text.print(events, in: entry.revision, labels)
    }
    let names = tags.isEmpty ? "" : "(\(tags.joined(separator: ", ").printable)) "
    try table.add([
      "\(entry.revision)", terminal.text(of: entry.date), entry.authorCell(width: authorWidth),
      entry.changeCounts, names + terminal.note(of: entry),
    ])
    guard isStat else { return }
    for event in events {
      let outline = event.outline.trimmingPrefix("update ")
      let name = try Catalog.name(of: event.entity, labeled: labels.label(of: event, in: entry.revision))
      let heading = terminal.styled(event.operation.style, "\(event.operation.sign) \(name)")
      try terminal.line("          \(heading): \(outline)")
    }
  }

  private func printJSON(_ entry: Entry, _ events: [JournalEvent]) throws {
    guard isPatch else { return try terminal.printJSON(entry.json) }
    let changed = try events.map { Catalog.json(of: $0, changing: try labels.journal.parts(changedBy: $0)) }
    try terminal.printJSON([.members: entry.jsonHead, "events": changed] as JSONObject)
  }
}

extension Entry {
  /// `+3 ~1 -2`: the numbers of added, updated and deleted entities. For a pruning or an erasure: `pruned` or `erased`.
  var changeCounts: String {
    if let rewriting { return rewriting }
    let counts = [JournalEvent.Operation.add, .update, .delete].map { operation in
      (operation.sign, events.count { $0.operation == operation })
    }
    return counts.filter { $0.1 > 0 }.map { "\($0.0)\($0.1)" }.joined(separator: " ")
  }
}
