import CatalogModel

/// Values that entities had when the entries of a log were made, such as labels.
///
/// Most events leave the value as it was. Each value is kept with the revisions in which it is known to be
/// the same, so that few are looked up.
struct PastValues<Value> {
  private static var limit: Int { 10_000 }
  private var known: [EntityKey: (value: Value, range: ClosedRange<Revision>)] = [:]

  /// After an entry, or before a deletion by that entry; nil if not known.
  func value(of entity: EntityKey, at revision: Revision) -> Value? {
    known[entity].flatMap { $0.range.contains(revision) ? $0.value : nil }
  }

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
  /// From the previous event of the entity to this one.
  func range(in revision: Revision) -> ClosedRange<Revision> { min(previous, revision)...revision }
}
