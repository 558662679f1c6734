import CatalogModel
import EntitySearch
import JSON

enum Find: ListingVerb {
  static let text = """
    find: finds items, categories and images, deleted ones too

    Finds entities and prints their numbers, which the other verbs take. It searches labels and texts for TEXT and ignores
    case. Texts inside lists and objects count too, as do the kind of an item and the media type of an image. An entity's
    name, such as item:42, finds that entity. --at searches the entities of that point. --deleted searches the entities
    that had been deleted by then, as they last were. Exits with 1 if nothing is found.

    Arguments: JOURNAL
    [TEXT]: part of a label or of a text, or an entity's name
    [--kind KIND], [--category C], [--where FIELD=VALUE]…, [--at SELECTOR]
    [--deleted]: search deleted entities
    [-n N]: show at most N entities
    [--json]

    $ journal find Books.journal dune  # everything with "dune" in a text
    $ journal find Books.journal --kind book --where stars=5  # books with five stars
    $ journal find Books.journal --deleted --at yesterday  # entities that had been deleted by then
    """

  /// The most characters that are printed of a label. A label can be long, and a table in a file is not cut.
  private static let labelLimit = 200

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal)
    let point = try arguments.selector(of: "--at", else: .head())
    let limit = try arguments.count("-n") ?? Int.max
    let query = try arguments.query(journal, text: arguments.value("TEXT"), asOf: point)
    let isDeleted = arguments.has("--deleted")
    let table = TextTable(
      [
        TextTable.Column(title: "ENTITY", width: 10, style: .yellow),
        TextTable.Column(title: "KIND", width: 10, isFlexible: true),
        .number(isDeleted ? "DELETED" : "CHANGED"), .text("LABEL"),
      ], sampleCount: 100, terminal)
    var count = 0
    let catalog = try journal.state(asOf: point)
    try journal.find(query, asOf: point, deleted: isDeleted) { found in
      // Even with a limit of 0, the exit code says whether something was found.
      count += 1
      if count > limit { return false }
      try table.add(
        [
          Catalog.name(of: found.entity), found.kind.printable.cut(toColumns: 20),
          "\(found.deleted ?? catalog.revision(of: found.entity))",
          found.label?.printable.shortened(to: labelLimit) ?? "",
        ], json: found.json)
      return count < limit
    }
    try table.end()
    if count > 0 { return }
    throw Failure.no(
      (isDeleted ? "no deleted entity matches" : "nothing found; --deleted searches deleted entities")
        + query.hint)
  }
}
