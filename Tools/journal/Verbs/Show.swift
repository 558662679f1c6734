import CatalogModel
import JSON

/// `journal show JOURNAL REVISION|ENTITY[@SELECTOR]`
enum Show: Verb {
  static let name = "show"
  static let summary = "shows one entry, or one entity as it is or was"
  static let explanation = """
    Shows an entry with all its changes, or an item, a category or an image: as it is now, or with @SELECTOR as
    it was at that point.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(
        name: "WHAT", help: "an entry (120, HEAD~3), or an entity with or without a point (item:42@HEAD~3)"),
    ],
    options: [Syntax.json])
  static let examples = [
    (command: "journal show Books.journal HEAD", does: "the newest entry"),
    (command: "journal show Books.journal item:42@2026-08-01", does: "item 42 as it was on that day"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let what = arguments.operand("WHAT")
    let parts = what.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    // A date may hold a colon too, but begins with a digit.
    if let letter = parts[0].first, letter.isLetter, parts[0].contains(":") {
      let entity = try Catalog.entity(parts[0])
      let selector = parts.count == 2 ? parts[1] : "HEAD"
      return try show(entity, asOf: selector, arguments, terminal)
    }
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(named: what)
    guard revision > 0 else {
      throw Failure(.no, "revision 0 is the empty journal; there is no entry to show")
    }
    let entry = try journal.entry(at: revision)
    if arguments.has("--json") {
      var writer = JSONWriter()
      entry.write(to: &writer)
      writer.newline()
      try terminal.output.write(writer.bytes)
    } else {
      try EntryPage(
        entry: entry, before: try journal.state(asOf: .revision(revision - 1)), terminal: terminal
      )
      .print()
    }
    return .done
  }

  private static func show(
    _ entity: Entity, asOf selector: String, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    let version = try journal.version(asOf: .revision(journal.revision(named: selector)))
    let state = version.state
    guard let record = state.record(of: entity) else {
      let last = state.revision(of: entity)
      let reason =
        last == 0
        ? "it was not yet added"
        : state.isErased(entity)
          ? "what it was has been erased; its newest event is in revision \(last)"
          : "it was deleted by revision \(last)"
      throw Failure(
        .no, "\(Catalog.name(of: entity)) is not there at revision \(version.revision): \(reason)")
    }
    if arguments.has("--json") {
      var writer = JSONWriter()
      switch entity.kind {
      case .category: state.category(entity.number)?.write(to: &writer)
      case .item: state.item(entity.number)?.write(to: &writer, in: state)
      default: state.image(entity.number)?.write(to: &writer)
      }
      writer.newline()
      try terminal.output.write(writer.bytes)
      return .done
    }
    let head = "\(Catalog.name(of: entity)) at revision \(version.revision), \(version.date.printable) UTC"
    try terminal.output.line(terminal.styled(.bold, head))
    var lines = record.parts(of: entity.kind).map { ($0.name, $0.value ?? "") }
    if entity.kind == .item {
      lines += state.images(of: entity.number).map { image in
        (
          "image:\(image.id)",
          "\(image.name.printable), \(image.mediaType.printable), \(image.blob.byteCount.counted("byte"))"
        )
      }
    }
    lines.append(("last changed", "revision \(state.revision(of: entity))"))
    let width = lines.map(\.0.printable.columns).max() ?? 0
    for (name, text) in lines {
      let gap = String(repeating: " ", count: width - name.printable.columns)
      try terminal.output.line("  \(name.printable)\(gap)  \(text)")
    }
    return .done
  }
}

/// An entry with its changes, for people.
private struct EntryPage {
  let entry: Entry
  /// The state that the entry changed, for the values that were.
  let before: Catalog
  let terminal: Terminal

  func print() throws {
    let output = terminal.output
    try output.line(terminal.styled(.yellow, "entry \(entry.revision)"))
    try output.line("Date:    \(entry.date.precise)")
    if entry.date.differs(from: entry.clockDate) {
      try output.line("Clock:   \(entry.clockDate.precise)")
    }
    try output.line(
      "Author:  \(entry.isAnnotationErased ? erasedText : entry.author.isEmpty ? "(nobody named)" : entry.author.printable)"
    )
    try output.line("Digest:  \(entry.digest.hex)")
    for (key, value) in entry.metadata.sorted(by: { ExactText($0.key) < ExactText($1.key) }) {
      try output.line("         \(key.printable) = \(value.printable)")
    }
    if !entry.note.isEmpty {
      try output.line()
      for line in entry.note.split(separator: "\n", omittingEmptySubsequences: false) {
        try output.line(line.isEmpty ? "" : "    \(String(line).printable)")
      }
    }
    try output.line()
    for event in entry.events { try print(event) }
  }

  private func print(_ event: Event) throws {
    let name = Catalog.name(of: event.entity)
    let kind = event.entity.kind
    switch event.change {
    case .add(let record):
      try terminal.output.line(terminal.styled(.green, "+ \(name)"))
      for part in record.parts(of: kind) { try line(part.name, part.value ?? "") }
    case .update(let changes):
      try terminal.output.line(terminal.styled(.yellow, "~ \(name)"))
      let old = before.record(of: event.entity)
      for part in changes.parts(of: kind) {
        let was = old?.part(part.key, of: kind)?.value ?? "(none)"
        try line(part.name, "\(was) → \(part.value ?? "(none)")")
      }
    case .erased(let operation):
      try terminal.output.line(
        terminal.styled(operation == .add ? .green : .yellow, "\(operation == .add ? "+" : "~") \(name)"))
      try line("content", erasedText)
    case .delete:
      try terminal.output.line(terminal.styled(.red, "- \(name)"))
    }
  }

  private func line(_ name: String, _ text: String) throws {
    try terminal.output.line("    \(name.printable): \(text)")
  }
}
