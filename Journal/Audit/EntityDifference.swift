/// The difference of one entity between two states.
public struct EntityDifference: Hashable, Sendable {
  /// The entity.
  public let entity: EntityKey
  /// The record in the old state; nil if the entity did not exist.
  public let old: EntityRecord?
  /// The record in the new state; nil if the entity does not exist there.
  public let new: EntityRecord?

  /// Makes the difference between two records of an entity.
  public init(entity: EntityKey, old: EntityRecord?, new: EntityRecord?) {
    self.entity = entity
    self.old = old
    self.new = new
  }

  /// The operation that leads from the old record to the new one.
  public var operation: JournalEvent.Operation { old == nil ? .add : new == nil ? .delete : .update }

  /// The parts that differ, with their old and new values.
  public var parts: [PartChange] { EntityRecord.differences(from: old, to: new) }

  /// The difference from the new state to the old one.
  public var reversed: EntityDifference { EntityDifference(entity: entity, old: new, new: old) }
}
