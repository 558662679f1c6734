import CBOR
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

    FIELD is an attribute, a path such as name.common, or a field such as @category, and FIELDS are several of them,
    separated by commas. Entities without a value come first in an order, and have a group of their own.

    --ever finds the entities that matched at some time, up to --at: when first and last, how often, and for how long in
    all. They may have been changed or deleted since. The time of one that still matches is counted until --at or now. In a
    pruned history, the state that it begins with is the first.

    Arguments: JOURNAL
    [TEXT]: part of a label or of a text, or an entity's name
    [--words WORDS]: whole words, words that begin with WORD*, and "phrases", in any order
    [--kind KIND], [--category C], [--where FIELD=VALUE]…, [--at SELECTOR]
    [--deleted]: search deleted entities
    [--ever]: search all past states of all entities
    [--first]: like --ever, in the order in which they first matched
    [--longer TIME]: like --ever, only what matched for longer than TIME in all: 45s, 30m, 12h, 3d or 2w
    [--since SELECTOR]: like --ever, only what matched at that point or later, and only its time since then
    [--fields FIELDS]: also print these
    [--order FIELDS]: sort by these; downwards by one with a - before it
    [--count]: print only how many entities there are
    [--group FIELD]: print each value of a field, and how many entities have it
    [--sum FIELDS]: print the sums of the numbers in these, with --group those of each group
    [-n N]: print at most N entities or groups
    [--json]

    $ journal find Books.journal dune  # everything with "dune" in a text
    $ journal find Books.journal --words 'dun*' --ever  # what ever had a word that begins so
    $ journal find Books.journal --kind book --where stars=5  # books with five stars
    $ journal find Books.journal --kind book --fields stars --order -stars -n 10  # the ten best books
    $ journal find Books.journal --kind book --group author --sum pages  # how many books and pages of each author
    $ journal find Books.journal --deleted --at yesterday  # entities that had been deleted by then
    $ journal find Books.journal --where stars=5 --ever  # what ever had five stars, and when
    $ journal find Books.journal --where stars=5 --first -n 1  # what had them first
    $ journal find Books.journal --where stars=5 --longer 3d --since 2026-01-01  # what had them for more than three days
      of this year
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal)
    let point = try arguments.selector(of: "--at", else: .head())
    let query = try arguments.query(journal, text: arguments.value("TEXT"), asOf: point)
    let isDeleted = arguments.has("--deleted")
    let revision = try journal.revision(at: point)
    let values = FoundValues(journal, revision: revision, terminal)
    let periods = try FoundPeriods(arguments, journal, through: revision)
    let output = try output(arguments, values, try journal.state(asOf: point), periods)
    var isEmpty = true
    func add(_ found: FoundEntity) throws -> Bool {
      isEmpty = false
      return try output.add(found)
    }
    var isLeftOut = false
    if let periods {
      try journal.findEver(query, asOf: point) { found in
        guard let counted = periods.counted(of: found) else {
          isLeftOut = true
          return true
        }
        return try add(counted)
      }
    } else {
      try journal.find(query, asOf: point, deleted: isDeleted, add)
    }
    try output.end()
    if isEmpty {
      if isLeftOut {
        throw Failure.no(
          arguments.has("--longer")
            ? "nothing matched for that long" : "nothing matched at that point or later")
      }
      let problem =
        periods != nil
        ? "nothing found in any state"
        : isDeleted ? "no deleted entity matches" : "nothing found; --deleted searches deleted entities"
      if !query.hint.isEmpty { throw Failure.no(problem + query.hint) }
      var misfit = try query.misfit(in: journal, asOf: point, deleted: isDeleted)
      // A deleted entity may have it.
      if periods != nil, try query.misfit(in: journal, asOf: point, deleted: true) == nil { misfit = nil }
      throw Failure.no(problem + (misfit.map { "; " + $0.text(kind: query.kind) } ?? ""))
    }
    // A part that nothing has is probably misspelled.
    let parts = values.missing.subtracting(values.present).sorted()
    if !parts.isEmpty, let misfit = try query.misfit(of: parts, in: journal, asOf: point, deleted: isDeleted)
    {
      terminal.warn("journal: " + misfit.text(kind: query.kind))
    }
  }

  private static func output(
    _ arguments: Arguments, _ values: FoundValues, _ catalog: Catalog, _ periods: FoundPeriods?
  ) throws -> any FindOutput {
    let limit = try arguments.count("-n") ?? Int.max
    let (fields, order) = (try arguments.names("--fields"), try arguments.names("--order"))
    let sums = try arguments.names("--sum")
    let group = try arguments.names("--group")
    let isCount = arguments.has("--count")
    if !isCount, group.isEmpty, sums.isEmpty {
      return FoundList(
        values, catalog, fields: fields, order: order, limit: limit, isDeleted: arguments.has("--deleted"),
        periods)
    }
    guard fields.isEmpty, order.isEmpty else {
      throw arguments.misuse("--fields and --order are for lists, not for --count, --group and --sum")
    }
    guard group.count <= 1 else { throw arguments.misuse("--group takes one field") }
    guard !isCount || (group.isEmpty && sums.isEmpty) else {
      throw arguments.misuse("--group and --sum count too; leave out --count")
    }
    guard limit == .max || !group.isEmpty else {
      throw arguments.misuse("-n limits lists and groups, not what is counted")
    }
    return FoundGroups(values, group: group.first, sums: sums, limit: limit)
  }
}

/// What is printed of the entities that a search finds.
protocol FindOutput: AnyObject {
  /// Takes the next entity. Returns false if no more are wanted.
  func add(_ found: FoundEntity) throws -> Bool
  func end() throws
}

/// The values of found entities, as they are printed.
final class FoundValues {
  let terminal: Terminal
  private let labels: Labels
  private let revision: Revision
  /// The parts that some entity lacks, and those that some entity has.
  private(set) var missing: Set<String> = []
  private(set) var present: Set<String> = []

  /// - Parameter revision: the point in time at which categories and other entities that a value names have their labels.
  init(_ journal: CatalogJournal, revision: Revision, _ terminal: Terminal) {
    labels = Labels(journal)
    self.revision = revision
    self.terminal = terminal
  }

  subscript(found: FoundEntity, part: String) -> FieldValue? {
    let value = found[part]
    if value == nil { missing.insert(part) } else { present.insert(part) }
    return value
  }

  func text(of value: FieldValue?, _ part: String, of kind: EntityKind) throws -> String {
    guard let value, !value.isNull else { return "" }
    guard let key = Catalog.key(named: part, of: kind) else { return terminal.text(of: value) }
    return try terminal.text(of: value, key, of: kind) { try labels.reference(to: $0, at: revision) }
  }
}

/// Prints found entities one by one, in an order if one is given.
final class FoundList: FindOutput {
  /// The most characters that are printed of a label. A label can be long, and a table in a file is not cut.
  private static let labelLimit = 200

  private let values: FoundValues
  private let catalog: Catalog
  private let fields: [String]
  private let order: [(key: (FoundEntity) -> ValueKey, isDownwards: Bool)]
  private let limit: Int
  private let periods: FoundPeriods?
  private let table: TextTable
  private var count = 0
  private var sorted: [(keys: [ValueKey], found: FoundEntity)] = []

  init(
    _ values: FoundValues, _ catalog: Catalog, fields: [String], order: [String], limit: Int, isDeleted: Bool,
    _ periods: FoundPeriods?
  ) {
    self.values = values
    self.catalog = catalog
    self.fields = fields
    if let key = periods?.order {
      self.order = [(key, false)]
    } else {
      self.order = order.map { name in
        let part = String(name.trimmingPrefix("-"))
        return ({ ValueKey(values[$0, part]) }, name.hasPrefix("-"))
      }
    }
    self.limit = limit
    self.periods = periods
    table = TextTable(
      [
        TextTable.Column(title: "ENTITY", width: 10, style: .yellow),
        TextTable.Column(title: "KIND", width: 10, isFlexible: true),
      ] + (periods?.columns(values.terminal) ?? [.number(isDeleted ? "DELETED" : "CHANGED")])
        + fields.map { .flexible($0.uppercased().printable) } + [.text("LABEL")],
      sampleCount: 100, values.terminal)
  }

  func add(_ found: FoundEntity) throws -> Bool {
    guard !order.isEmpty else { return try print(found) }
    sorted.append((order.map { $0.key(found) }, found))
    return true
  }

  func end() throws {
    // Entities with equal values stay in the order of their numbers.
    let places = sorted.indices.sorted { left, right in
      for (index, part) in order.enumerated() {
        let (a, b) = (sorted[left].keys[index], sorted[right].keys[index])
        if a != b { return part.isDownwards ? b < a : a < b }
      }
      return left < right
    }
    for place in places where try !print(sorted[place].found) { break }
    try table.end()
  }

  private func print(_ found: FoundEntity) throws -> Bool {
    // Even with a limit of 0, the exit code says whether something was found.
    count += 1
    if count > limit { return false }
    let shown = fields.map { ($0, values[found, $0]) }
    let changed = "\(found.deleted ?? catalog.revision(of: found.entity))"
    try table.add(
      [Catalog.name(of: found.entity), found.kind.printable.cut(toColumns: 20)]
        + (periods?.cells(of: found, values.terminal) ?? [changed])
        + shown.map { try values.text(of: $1, $0, of: found.entity.kind) }
        + [found.label?.printable.shortened(to: Self.labelLimit) ?? ""],
      json: [
        .members: found.json(in: catalog), "seconds": ifAny(periods?.json(of: found)),
        "fields": ifAny(
          fields.isEmpty ? nil : JSONObject(shown.compactMap { name, value in value.map { (name, $0) } })),
      ])
    return count < limit
  }
}
