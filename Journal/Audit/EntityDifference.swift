/// What is different about one entity between two states.
public struct EntityDifference: Hashable, Sendable {
  /// Which entity.
  public let entity: EntityKey
  /// What it was; nil if it was not there.
  public let old: EntityRecord?
  /// What it is; nil if it does not exist.
  public let new: EntityRecord?

  /// An entity that is one thing before and another after.
  public init(entity: EntityKey, old: EntityRecord?, new: EntityRecord?) {
    self.entity = entity
    self.old = old
    self.new = new
  }

  /// The event that leads from the old to the new.
  public var operation: JournalEvent.Operation { old == nil ? .add : new == nil ? .delete : .update }

  /// The parts that differ, with the old value and the new one of each.
  public var parts: [PartChange] { EntityRecord.differences(from: old, to: new) }

  /// The same from the other side.
  public var reversed: EntityDifference { EntityDifference(entity: entity, old: new, new: old) }
}

extension EventSourced {
  /// What is different about this state from an older one, or from any other, in the order of kinds and numbers; nil
  /// for a model that does not say what it is made of.
  ///
  /// ```swift
  /// for difference in journal.state.differences(from: shown) ?? [] { refresh(difference.entity) }
  /// ```
  /// - Complexity: O(d log n) for d differences when one state was made from the other by events, as those are that
  ///   a journal publishes one after the other; O(n) at most.
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
