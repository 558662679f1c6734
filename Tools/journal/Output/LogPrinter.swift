import CatalogModel
import JSON

/// Prints entries as `journal log` does.
final class LogPrinter {
  private let terminal: Terminal
  private let labels: Labels
  private let text: ChangeText
  private let isJSON: Bool
  private let isPatch: Bool
  private let isStat: Bool
  private let isNarrowed: Bool
  private let table: TextTable
  /// The tags of a revision.
  private let tags: (Revision) -> [String]
  private var writer = JSONWriter()
  private var hasTitles = false

  private let authorWidth: Int

  init(
    _ arguments: Arguments, _ labels: Labels, widestRevision: Revision, _ terminal: Terminal,
    tags: @escaping (Revision) -> [String]
  ) {
    self.terminal = terminal
    self.labels = labels
    self.tags = tags
    authorWidth = terminal.width.map { $0 < 90 } ?? false ? 12 : 20
    text = ChangeText(terminal: terminal, isFull: arguments.has("--full"))
    isJSON = arguments.has("--json")
    isPatch = arguments.has("--patch")
    isStat = arguments.has("--stat")
    isNarrowed = isPatch || isStat
    table = TextTable(
      [
        TextTable.Column(
          title: "REVISION", alignment: .right, width: String(widestRevision).count, style: .yellow),
        TextTable.Column(title: terminal.dateTitle, width: 19),
        TextTable.Column(title: "AUTHOR", width: authorWidth),
        TextTable.Column(title: "CHANGES", width: 12, style: .faint), TextTable.Column(title: "NOTE"),
      ], isCut: !arguments.has("--full"))
  }

  /// Prints an entry, and with `--patch` or `--stat` these events of it.
  func print(_ entry: Entry, _ events: [JournalEvent]) throws {
    if isJSON { return try printJSON(entry, events) }
    if isPatch { return try printPatch(entry, events) }
    if !hasTitles { try table.printTitles(terminal) }
    hasTitles = true
    let tags = tags(entry.revision)
    let names = tags.isEmpty ? "" : "(\(tags.joined(separator: ", ").printable)) "
    try table.printRow(
      [
        "\(entry.revision)", terminal.text(of: entry.date), entry.authorCell(width: authorWidth),
        entry.changeCounts, names + terminal.note(of: entry),
      ], terminal)
    guard isStat else { return }
    for event in events {
      let outline = event.outline.trimmingPrefix("update ")
      let name = terminal.styled(
        event.operation.style, "\(event.operation.sign) \(try labels.name(of: event, in: entry.revision))")
      try terminal.output.line("          \(name): \(outline)")
    }
  }

  private func printPatch(_ entry: Entry, _ events: [JournalEvent]) throws {
    if hasTitles { try terminal.output.line() }
    hasTitles = true
    try EntryPage.printHead(entry, tags: tags(entry.revision), isShort: true, terminal)
    for event in events {
      try text.printHeading(
        event.entity, event.operation, label: try labels.label(of: event, in: entry.revision))
      try text.print(event, try labels.journal().parts(changedBy: event), in: entry.revision, labels)
    }
  }

  private func printJSON(_ entry: Entry, _ events: [JournalEvent]) throws {
    if isPatch {
      let changed = try events.map { (event: $0, parts: try labels.journal().parts(changedBy: $0)) }
      entry.write(to: &writer) { writer in
        for (event, parts) in changed { Catalog.write(event, changing: parts, to: &writer) }
      }
    } else {
      entry.write(to: &writer)
    }
    writer.newline()
    try terminal.output.write(writer.bytes)
    writer.removeAll()
  }
}

extension Entry {
  /// `+3 ~1 -2`: how many entities were added, updated and deleted. `pruned` or `erased` for an entry that records that.
  var changeCounts: String {
    if let rewriting { return rewriting }
    let counts = [JournalEvent.Operation.add, .update, .delete].map { operation in
      (operation.sign, events.count { $0.operation == operation })
    }
    return counts.filter { $0.1 > 0 }.map { "\($0.0)\($0.1)" }.joined(separator: " ")
  }
}
