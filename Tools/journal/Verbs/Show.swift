import CatalogModel
import JSON

enum Show: ListingVerb {
  static let text = """
    show: shows one entry, or one entity as it is or was

    Shows an entry with all its changes and their old and new values, or an item, a category or an image. With @SELECTOR
    it shows the entity as of that point.

    Arguments: JOURNAL
    WHAT: an entry (120, HEAD~3), or an entity with or without a point (item:42@HEAD~3)
    [--full], [--json]

    $ journal show Books.journal HEAD  # the newest entry
    $ journal show Books.journal item:42@2026-08-01  # item 42 as it was on that day
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let what = arguments.operand("WHAT")
    if what.contains(/^[a-z]+:[^@]*(@.*)?$/) {
      let (entity, point) = try arguments.entityAndPoint(what)
      return try show(entity, asOf: point ?? .head(), arguments, terminal)
    }
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(at: try arguments.selector(what))
    guard revision > 0 else { throw Failure.no("revision 0 is the empty journal; there is no entry to show") }
    let entry = try journal.entry(at: revision)
    if terminal.isJSON {
      try terminal.printJSON(entry.json)
    } else {
      try terminal.printHead(of: entry, tags: journal.state.tagNames[revision] ?? [])
      let text = ChangeText(terminal: terminal, isFull: arguments.has("--full"))
      try text.print(entry.events, in: revision, Labels(journal))
    }
  }

  private static func show(
    _ entity: EntityKey, asOf point: RevisionSelector, _ arguments: Arguments, _ terminal: Terminal
  ) throws {
    let journal = try arguments.openJournal(terminal)
    let version = try journal.version(asOf: point)
    let state = version.state
    guard let record = state.record(of: entity) else {
      throw try journal.absence(of: entity, at: version.revision)
    }
    if terminal.isJSON { return try terminal.printJSON(state.json(of: entity)) }
    let head =
      "\(Catalog.name(of: entity)) at revision \(version.revision), \(terminal.text(of: version.date, withZone: true))"
    try terminal.line(terminal.styled(.bold, head))
    var lines: [(name: String, text: String)] = []
    record.visit { key, value in
      var targets: [EntityKey] = []
      if case .attribute(let name) = key, entity.kind == .item {
        targets = state.targets(of: value, in: name, ofKind: record[field: ItemField.kind]?.string ?? "")
      }
      let text = terminal.text(
        of: value, key, of: entity.kind, isFull: arguments.has("--full"), targets: targets
      ) { state.reference(to: $0) }
      lines.append((key.name(of: entity.kind).printable, text))
    }
    if entity.kind == .item {
      lines += state.images(of: EntityID(entity.number)).map { image in
        (
          "image:\(image.id)",
          "\(image.name.printable), \(image.mediaType.printable), \(image.blob.byteCount.counted("byte"))"
        )
      }
    }
    let referrers = state.referrers(to: entity).lazy.filter { $0.kind == .item }.prefix(20)
    if entity.kind == .item, !referrers.isEmpty {
      lines.append(("referred to by", referrers.map { state.reference(to: $0) }.joined(separator: ", ")))
    }
    lines.append(("last changed", "revision \(state.revision(of: entity))"))
    try terminal.printList(lines, indent: "  ")
  }
}
