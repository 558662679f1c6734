public import CBOR
import CatalogModel
import Journaling

extension EntityQuery {
  /// A condition on one part of an entity.
  ///
  /// Values compare as in an index, so that a search finds the same with and without one: texts by their bytes, numbers
  /// by value, and a missing part is null.
  public struct Condition: Hashable, Sendable {
    /// An attribute, a path inside one such as `name.common`, or one of the catalog's fields such as `@category`.
    public let field: String
    private let ranges: [ValueRange]
    /// An array or a dictionary that matches too: ranges can't distinguish these.
    private let composite: FieldValue?
    /// Whether all other values match instead.
    private let isNegated: Bool
    /// The path of an attribute without dots in its name; nil for other fields, which have to be interpreted.
    private let path: AttributePath?

    /// The condition that a part has that value.
    public init(_ field: String, is value: FieldValue) { self.init(field, isOne: [value]) }

    /// The condition that a part has one of the values, or a value in one of the ranges.
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

    /// The ranges of an index that include all matches, and maybe others; nil if no index helps.
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
