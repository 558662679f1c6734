import CatalogModel
import Foundation
import JSON
import JournalMaintenance

enum ReplayVerb: Verb {
  static let text = """
    replay: rebuilds the state at a point in time and prints it

    Rebuilds the state as of a point and prints it: the counts and the first items, or with --json everything, as one
    object.

    With --to, it creates a journal instead, with the same history and digests up to that point, and the images that the
    history names. If history was pruned after that point, one more entry proves the state that history begins with. With
    --no-history, the first entry of the new journal is the state itself, its metadata name the source, and the new
    journal has its own id.

    Arguments: JOURNAL, [--at SELECTOR]
    [--from-start]: replay every entry from revision 1, using no layer
    [--to DIR]: create a journal with the history up to that point
    [--no-history]: with --to: only with the state, as one entry
    [--note TEXT], [--by AUTHOR], [--json]

    $ journal replay Books.journal --at HEAD~3  # the state three entries ago
    $ journal replay Books.journal --at 2026-08-01 --json  # everything that existed on that day
    $ journal replay Books.journal --at 2026-08-01 --to August.journal  # the journal as it was on that day,
      next to this one
    """
  static let endsWithReader = true

  private static let shownItems = 10

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(at: try arguments.selector(of: "--at", else: .head()))
    if let directory = arguments.value("--to") {
      return try copy(journal, revision, to: directory, arguments, terminal)
    }
    for option in ["--no-history", "--by", "--note"] where arguments.has(option) {
      throw arguments.misuse("\(option) is for --to")
    }
    let version =
      arguments.has("--from-start")
      ? try journal.version(replayedTo: .revision(revision))
      : try journal.version(asOf: .revision(revision))
    if terminal.isJSON {
      try writeJSON(version, to: terminal.output)
    } else {
      try printSummary(version, terminal)
    }
  }

  private static func copy(
    _ journal: CatalogJournal, _ revision: Revision, to directory: String, _ arguments: Arguments,
    _ terminal: Terminal
  ) throws {
    let url = URL(fileURLWithPath: directory)
    let isState = arguments.has("--no-history")
    if isState {
      try journal.copyState(
        to: url, asOf: .revision(revision), by: arguments.author,
        note: arguments.value("--note") ?? "the state of revision \(revision)"
      ) { terminal.showProgress("copying", $0.done, of: $0.all, "entities") }
    } else {
      try journal.copy(to: url, through: .revision(revision), progress: terminal.showCopying)
    }
    try terminal.answer(["path": directory, "revision": isState ? 1 : revision]) {
      try terminal.line(
        isState
          ? "created \(directory.printable) with the state of revision \(revision), as its entry 1"
          : "created \(directory.printable) with revision \(revision)")
    }
  }

  static func writeJSON(_ version: Version<Catalog>, to output: Output) throws {
    var text = StateText(version)
    while let piece = try text.next() { try output.write(piece) }
  }

  private static func printSummary(_ version: Version<Catalog>, _ terminal: Terminal) throws {
    let catalog = version.state
    // No entry made revision 0, so it has no date.
    let date = version.revision == 0 ? "" : ", \(terminal.text(of: version.date, withZone: true))"
    try terminal.line(
      terminal.styled(.bold, "revision \(version.revision)")
        + "\(date), digest \(version.digest.hex.prefix(16))")
    try terminal.line(
      "\(catalog.itemCount.counted("item")), \(catalog.categoryCount.counted("category", "categories")), "
        + catalog.imageCount.counted("image"))
    guard catalog.itemCount > 0 else { return }
    try printCounts(of: catalog, terminal)
    try terminal.line()
    let rows = catalog.items.prefix(shownItems).map { item in
      [
        "item:\(item.id)", item.kind.printable.shortened(to: 20),
        item.category.map { catalog.nameText(of: $0).shortened(to: 24) } ?? "",
        "\(item.modified)", item.outline(terminal),
      ]
    }
    try TextTable.print(
      [
        .text("ITEM"), .flexible("KIND"), .flexible("CATEGORY"),
        TextTable.Column(title: "CHANGED", isRight: true, style: .yellow), .text("ATTRIBUTES"),
      ], rows, terminal)
    let hidden = catalog.itemCount - rows.count
    if hidden > 0 { try terminal.line("… and \(hidden.counted("more item")); --json prints all") }
  }

  private static func printCounts(of catalog: Catalog, _ terminal: Terminal) throws {
    var counts: [ExactText: Int] = [:]
    var countsByCategory: [CategoryID: Int] = [:]
    for item in catalog.items {
      counts[ExactText(item.kind), default: 0] += 1
      countsByCategory[item.category ?? 0, default: 0] += 1
    }
    var rows = counts.sorted { $0.key < $1.key }.map { ["kind", $0.key.text.printable, $0.value.grouped] }
    let categories = countsByCategory.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    for (id, count) in categories.prefix(shownItems) {
      rows.append(["category", id == 0 ? "(none)" : catalog.nameText(of: id), count.grouped])
    }
    let rest = categories.dropFirst(shownItems)
    if !rest.isEmpty {
      let count = rest.reduce(0) { $0 + $1.value }
      rows.append(["category", "(\(rest.count) others)", count.grouped])
    }
    try terminal.line()
    try TextTable.print([.text("OF"), .flexible("NAME"), .number("ITEMS")], rows, terminal)
  }
}

extension Catalog {
  /// The name of a category, or a text that says that it was erased: items can still be in it.
  fileprivate func nameText(of id: CategoryID) -> String {
    category(id)?.name.printable ?? "\(Catalog.name(of: id.entity)) \(erasedText)"
  }
}

extension Catalog.Item {
  fileprivate func outline(_ terminal: Terminal) -> String {
    let sorted = attributes.sorted { ExactText($0.key) < ExactText($1.key) }
    return sorted.prefix(6).map { "\($0.key.printable)=\(terminal.text(of: $0.value).shortened(to: 24))" }
      .joined(separator: " ").shortened(to: 100)
  }
}
