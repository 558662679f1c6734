import CatalogModel
import JSON

extension Syntax {
  /// The options of a query for entities.
  static let query = [
    Option(name: "--kind", value: "KIND", help: "only items of this kind; or category, image or tag"),
    Option(
      name: "--category", value: "C",
      help:
        "only items of this category: 3, category:3, or its name at the point in time or, if none has that name then, "
        + "now"),
    Option(
      name: "--where", value: "FIELD=VALUE",
      help:
        "only with this value, or with !=, <, <=, >, >= or ^= (begins with) instead of =; FIELD=null finds what has no "
        + "value, FIELD!=null what has one; FIELD is an attribute, a path such as name.common, or @category; a date is "
        + "2026-08, 2026-08-01 or \"2026-08-01 10:00\", also with seconds, in UTC or with --local in the zone of this "
        + "machine, unless it names another; words such as yesterday are only texts; may be repeated",
      isRepeated: true),
  ]

  /// The option for a point in time.
  static let point = pointOption("the point in time; by default HEAD")

  /// The same with other help.
  static func pointOption(_ help: String) -> Option {
    Option(
      name: "--at", value: "SELECTOR",
      help: help + "; a date is compared with the dates that order entries, not with the clock's dates")
  }

  static let since = Option(
    name: "--since", value: "SELECTOR",
    help: "only entries since this date, or after this revision, tag or change of an entity")
  static let until = Option(
    name: "--until", value: "SELECTOR",
    help: "only entries before this date, or up to and including this revision, tag or change of an entity")

  static let full = Option(name: "--full", help: "print long values and all lines in full")
  static let author = Option(
    name: "--by", value: "AUTHOR", help: "the author of the new entry; by default your login name")
  static let note = Option(name: "--note", value: "TEXT", help: "the note of the new entry")
}

extension EntityQuery {
  /// What to say after nothing was found: that the text looks like a condition, or that a condition may mean a field of
  /// the catalog, whose name begins with `@`.
  var hint: String {
    if let text, text.contains("="), !text.contains(" ") {
      return "; for a condition, write --where \(text.printable)"
    }
    return conditions.map { Catalog.hint(forFieldWithoutSign: $0.field) }.first { !$0.isEmpty } ?? ""
  }
}

extension Arguments {
  /// The query of these options and a text.
  /// - Parameter point: the point in time at which a category has its name.
  /// - Throws: ``Failure`` if there is no such category, or the text is empty, and ``JournalError`` if a condition has no
  ///   operator.
  func query(
    _ journal: CatalogJournal, text: String? = nil, asOf point: RevisionSelector
  ) throws -> EntityQuery {
    if let text, text.isEmpty { throw Failure(.wrongUse, "TEXT is empty; leave it out to find everything") }
    let conditions = try values("--where").map {
      try EntityQuery.Condition(parsing: $0, timeZone: timeZone)
    }
    return EntityQuery(
      text: text, kind: value("--kind"),
      categories: try value("--category").map { try journal.categories(named: $0, asOf: point) },
      conditions: conditions)
  }

  /// The parts that an option names, separated by commas; nil for all parts, if the option was not given.
  /// - Throws: ``Failure`` if it names none, and ``JournalError`` if the catalog has no part of a name.
  func parts(_ option: String) throws -> NamedParts? {
    guard let text = value(option) else { return nil }
    guard !text.allSatisfy({ $0 == "," || $0.isWhitespace }) else {
      throw Failure(.wrongUse, "\(option) names no attribute")
    }
    return try NamedParts(text.split(separator: ",").map(String.init))
  }
}
