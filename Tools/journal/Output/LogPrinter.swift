import CatalogModel
import JSON

final class LogPrinter {
  private let terminal: Terminal
  private let labels: Labels
  private let filter: EntryFilter
  private let rows: RowPrinter?
  private let text: ChangeText
  private let isPatch: Bool
  private let isStat: Bool
  private let table: TextTable
  private let tags: [Revision: [String]]
  private var isFirst = true
  var isForPrograms: Bool { terminal.isJSON || rows != nil }
  private let authorWidth: Int

  init(
    _ arguments: Arguments, _ labels: Labels, _ filter: EntryFilter, widestRevision: Revision,
    _ terminal: Terminal
  ) throws {
    self.terminal = terminal
    self.labels = labels
    self.filter = filter
    rows = try RowPrinter(arguments, excluding: ["--patch", "--stat"], terminal)
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
    if let rows { return try print(events, of: entry, rows) }
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
    guard isPatch || isStat else { return try terminal.printJSON(entry.json) }
    let changed = try events.map { event in
      if isPatch { return Catalog.json(of: event, changing: try labels.journal.parts(changedBy: event)) }
      return Catalog.outline(of: event, label: try labels.past(event, in: entry.revision)?.label)
    }
    try terminal.printJSON([.members: entry.jsonHead, "events": changed] as JSONObject)
  }

  private func print(_ events: [JournalEvent], of entry: Entry, _ rows: RowPrinter) throws {
    for event in events {
      let past = try labels.past(event, in: entry.revision)
      let entity = event.entity
      let kind = entity.kind == .item ? past?.kind : Catalog.kindName(of: entity.kind)
      let parts = try labels.journal.parts(changedBy: event).filter { filter.wants($0.key, of: entity.kind) }
      try rows.print((entry.revision, entry), entity, label: past?.label, kind: kind, event.operation, parts)
    }
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
