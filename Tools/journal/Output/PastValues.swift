import CatalogModel

/// What entities were like when the entries of a log were made, such as their labels.
///
/// A log prints many events of an entity, and most of them leave the value as it was. So a value is kept with the
/// revisions from and to which it is known to be the same, and few values are looked up.
struct PastValues<Value> {
  private static var limit: Int { 10_000 }
  private var known: [EntityKey: (value: Value, range: ClosedRange<Revision>)] = [:]

  /// The value of an entity after an entry, or before its deletion by that entry; nil if it is not known.
  func value(of entity: EntityKey, at revision: Revision) -> Value? {
    known[entity].flatMap { $0.range.contains(revision) ? $0.value : nil }
  }

  /// Records that an entity has a value from one revision to another.
  mutating func note(_ value: Value, of entity: EntityKey, in range: ClosedRange<Revision>) {
    var range = range
    if let old = known[entity]?.range, old.overlaps(range) {
      range = min(old.lowerBound, range.lowerBound)...max(old.upperBound, range.upperBound)
    } else if known.count >= Self.limit {
      known.removeAll()
    }
    known[entity] = (value, range)
  }
}

extension JournalEvent {
  /// The revisions from the previous event of the entity to this one.
  func range(in revision: Revision) -> ClosedRange<Revision> { min(previous, revision)...revision }
}
