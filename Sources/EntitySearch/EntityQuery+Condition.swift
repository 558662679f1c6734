public import CBOR
import CatalogModel
import Journaling

extension EntityQuery {
  /// A condition on one part of an entity.
  ///
  /// Values are compared as in an index, so that a search has the same results with and without an index: texts by
  /// their bytes, numbers by value, and a missing part as null.
  public struct Condition: Hashable, Sendable {
    /// The part's name: an attribute, a path such as `name.common`, or a field of the catalog such as `@category`.
    public let field: String
    private let ranges: [ValueRange]
    /// Arrays and dictionaries that also match, because ``ranges`` can't tell arrays and dictionaries apart.
    private let composites: [FieldValue]
    /// Whether the condition holds for all values except those in ``ranges`` and ``composites``.
    private let isNegated: Bool
    /// The path of ``field`` if it is an attribute without dots in its name; nil if the name has to be interpreted.
    private let path: AttributePath?

    /// Makes the condition that a part has a given value.
    public init(_ field: String, is value: FieldValue) { self.init(field, isOne: [value]) }

    /// Makes the condition that a part has one of the values, or a value in one of the ranges.
    package init(
      _ field: String, isOne values: [FieldValue] = [], in ranges: [ValueRange] = [], isNegated: Bool = false
    ) {
      self.field = field
      self.ranges = ranges + values.filter { ValueKey($0) != .composite }.map { .equal(to: $0) }
      composites = values.filter { ValueKey($0) == .composite }
      self.isNegated = isNegated
      path = field.isEmpty || field.hasPrefix("@") || field.contains(".") ? nil : AttributePath([field])
    }

    /// The path of an index, and the ranges of values to look up in it. They find all matches, and possibly other
    /// entities. Nil if no index helps.
    package var lookup: (path: AttributePath, ranges: [ValueRange])? {
      guard let path, composites.isEmpty, !isNegated else { return nil }
      return (path, ranges)
    }

    func holds(of record: EntityRecord, _ kind: EntityKind) -> Bool {
      if let path, composites.isEmpty { return includes(record.key(at: path)) != isNegated }
      let found = Catalog.part(named: field, of: record, kind)
      let isEqual = composites.contains { $0 == found || $0.isIdentical(to: found) }
      return (isEqual || includes(ValueKey(found))) != isNegated
    }

    private func includes(_ key: ValueKey) -> Bool { ranges.contains { $0.contains(key) } }

    /// Whether the condition holds for some value of the type of `value`. False if it asks for a text, and `value` is a
    /// number.
    func isOfType(of value: FieldValue) -> Bool {
      let key = ValueKey(value)
      return isNegated || !composites.isEmpty
        || ranges.contains { $0.lower.hasType(of: key) || $0.upper.hasType(of: key) }
    }
  }
}
