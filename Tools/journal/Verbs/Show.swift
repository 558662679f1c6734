import CatalogModel
import JSON

/// `journal show JOURNAL REVISION|ENTITY[@SELECTOR]`
enum Show: Verb {
  static let name = "show"
  static let summary = "shows one entry, or one entity as it is or was"
  static let explanation = """
    Shows an entry with all its changes and their old and new values, or an item, a category or an image. With @SELECTOR
    it shows the entity as of that point.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(
        name: "WHAT", help: "an entry (120, HEAD~3), or an entity with or without a point (item:42@HEAD~3)"),
    ],
    options: [Syntax.full, Syntax.json])
  static let examples = [
    (command: "journal show Books.journal HEAD", does: "the newest entry"),
    (command: "journal show Books.journal item:42@2026-08-01", does: "item 42 as it was on that day"),
  ]
  static let isPaged = true
  static let endsWithReader = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let what = arguments.operand("WHAT")
    if what.contains(/^[a-z]+:[^@]*(@.*)?$/) {
      let (entity, point) = try arguments.entityAndPoint(what)
      return try show(entity, asOf: point ?? .head(), arguments, terminal)
    }
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(try arguments.selector(what))
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
        entry: entry, journal: journal, isFull: arguments.has("--full"), terminal: terminal
      ).print()
    }
    return .done
  }

  private static func show(
    _ entity: EntityKey, asOf point: RevisionSelector, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    let version = try journal.version(asOf: .revision(try journal.revision(point)))
    let state = version.state
    guard let record = state.record(of: entity) else {
      throw try Failure(absent: entity, at: version.revision, journal)
    }
    if arguments.has("--json") {
      var writer = JSONWriter()
      state.write(entity, to: &writer)
      writer.newline()
      try terminal.output.write(writer.bytes)
      return .done
    }
    let head =
      "\(Catalog.name(of: entity)) at revision \(version.revision), \(terminal.text(of: version.date, withZone: true))"
    try terminal.output.line(terminal.styled(.bold, head))
    var lines = record.parts(of: entity.kind, in: state, isFull: arguments.has("--full"), terminal).map {
      ($0.name, $0.value)
    }
    if entity.kind == .item {
      lines += state.images(of: EntityID(entity.number)).map { image in
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
