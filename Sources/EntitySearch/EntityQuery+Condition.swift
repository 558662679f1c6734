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
    /// An array or a dictionary that also matches, because ``ranges`` can't tell arrays and dictionaries apart.
    private let composite: FieldValue?
    /// Whether the condition holds for all values except those in ``ranges`` and ``composite``.
    private let isNegated: Bool
    /// The path of ``field`` if it is an attribute without dots in its name; nil if the name has to be interpreted.
    private let path: AttributePath?

    /// Makes the condition that a part has a given value.
    public init(_ field: String, is value: FieldValue) { self.init(field, isOne: [value]) }

    /// Makes the condition that a part has one of the values, or a value in one of the ranges.
    package init(
      _ field: String, isOne values: [FieldValue] = [], in ranges: [ValueRange] = [], isNegated: Bool = false
    ) {
      let composites = values.filter { ValueKey($0) == ValueKey(.array([])) }
      self.field = field
      self.ranges = ranges + values.filter { !composites.contains($0) }.map { .equal(to: $0) }
      composite = composites.first
      self.isNegated = isNegated
      path = field.isEmpty || field.hasPrefix("@") || field.contains(".") ? nil : AttributePath([field])
    }

    /// The index that finds all matches, and maybe other entities, and the ranges to look up; nil if no index helps.
    package var lookup: (path: AttributePath, ranges: [ValueRange])? {
      guard let path, composite == nil, !isNegated else { return nil }
      return (path, ranges)
    }

    func holds(of record: EntityRecord, _ kind: EntityKind) -> Bool {
      if let path, composite == nil { return includes(record.key(at: path)) != isNegated }
      let found = part(of: record, kind)
      let isEqual = composite.map { $0 == found || $0.isIdentical(to: found) } ?? false
      return (isEqual || includes(ValueKey(found))) != isNegated
    }

    private func includes(_ key: ValueKey) -> Bool { ranges.contains { $0.contains(key) } }

    private func part(of record: EntityRecord, _ kind: EntityKind) -> FieldValue? {
      if let key = Catalog.key(named: field, of: kind), let value = record.value(of: key) {
        return Catalog.shown(value, key, of: kind)
      }
      let steps = field.split(separator: ".").map(String.init)
      guard let first = steps.first else { return nil }
      return steps.dropFirst().reduce(record[first]) { value, step in
        value?.array == nil ? value?[step] : Int(step).flatMap { value?[$0] }
      }
    }
  }
}
