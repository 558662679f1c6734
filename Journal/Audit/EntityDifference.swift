/// The difference of one entity between two states.
public struct EntityDifference: Hashable, Sendable {
  /// The entity.
  public let entity: EntityKey
  /// The old record; nil if it did not exist.
  public let old: EntityRecord?
  /// The new record; nil if it does not exist.
  public let new: EntityRecord?

  /// The difference between two records of an entity.
  public init(entity: EntityKey, old: EntityRecord?, new: EntityRecord?) {
    self.entity = entity
    self.old = old
    self.new = new
  }

  /// The operation that leads from the old record to the new one.
  public var operation: JournalEvent.Operation { old == nil ? .add : new == nil ? .delete : .update }

  /// The parts that differ, with their old and new values.
  public var parts: [PartChange] { EntityRecord.differences(from: old, to: new) }

  /// The reverse difference.
  public var reversed: EntityDifference { EntityDifference(entity: entity, old: new, new: old) }
}

extension EventSourced {
  /// The differences of this state from an older one, or any other, in the order of kinds and numbers; nil for a model
  /// without parts.
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
