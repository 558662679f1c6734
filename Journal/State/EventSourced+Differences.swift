extension EventSourced {
  /// The entities that differ between this state and another, usually an older one, in the order of kinds and numbers;
  /// nil for a model without parts.
  ///
  /// ```swift
  /// for difference in journal.state.differences(from: shown) ?? [] { refresh(difference.entity) }
  /// ```
  /// - Complexity: O(d log n) for d differences if events lead from one state to the other, as between successive
  ///   states of a journal; otherwise O(n).
  public func differences(from older: Self) -> [EntityDifference]? {
    guard let old = older.parts?.tables, let new = parts?.tables, old.count == new.count else { return nil }
    var differences: [EntityDifference] = []
    for kind in new.indices {
      for (number, old, new) in new[kind].changes(since: old[kind]) {
        let entity = EntityKey(kind: EntityKind(rawValue: UInt8(kind)), number: number)
        differences.append(EntityDifference(entity: entity, old: old?.record, new: new?.record))
      }
    }
    return differences
  }
}
