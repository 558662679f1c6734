import CatalogModel

extension Syntax {
  /// The options that say which entities are looked for.
  static let query = [
    Option(name: "--kind", value: "KIND", help: "only items of this kind; or category, image or tag"),
    Option(name: "--category", value: "C", help: "only items of this category: 3, category:3 or its name"),
    Option(
      name: "--where", value: "FIELD=VALUE",
      help:
        "only with this value; name.common is a place inside of a value, @category a field; may be repeated",
      isRepeated: true),
  ]

  /// Which point in time is meant.
  static let point = pointOption("the point in time; HEAD if not given")

  /// The same for a verb that says more of it.
  static func pointOption(_ help: String) -> Option {
    Option(
      name: "--at", value: "SELECTOR",
      help: help + "; a date is compared with the dates that order entries, and not with what a clock said")
  }

  static let full = Option(name: "--full", help: "cut no values and leave no lines out")
  static let author = Option(
    name: "--by", value: "AUTHOR", help: "the author of the new entry; your login name if not given")
  static let note = Option(name: "--note", value: "TEXT", help: "the note of the new entry")
}

extension Arguments {
  /// What is looked for.
  func query(_ journal: CatalogJournal, text: String? = nil) throws -> EntityQuery {
    EntityQuery(
      text: text, kind: value("--kind"),
      categories: try value("--category").map {
        try journal.categories(named: $0, asOf: try selector(of: "--at", else: .head()))
      },
      conditions: try values("--where").map { condition throws(Failure) in
        let parts = condition.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
          throw Failure(.wrongUse, "--where needs FIELD=VALUE, such as title=Dune, not \"\(condition)\"")
        }
        return EntityQuery.Condition(String(parts[0]), is: String(parts[1]))
      })
  }

  /// The parts that are named, separated by commas; nil for all.
  func fields(_ option: String) throws(Failure) -> Set<FieldKey>? {
    guard let text = value(option) else { return nil }
    var keys: Set<FieldKey> = []
    for name in text.split(separator: ",").map(String.init) {
      let found = (0..<UInt8(Catalog.kindNames.count)).compactMap {
        Catalog.key(named: name, of: EntityKind(rawValue: $0))
      }
      if found.isEmpty {
        throw Failure(.wrongUse, "there is no field \(name); attributes are written without @")
      }
      keys.formUnion(found)
    }
    return keys
  }
}
