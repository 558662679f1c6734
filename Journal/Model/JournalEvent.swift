/// One add, update or delete of one entity, inside an entry.
public struct JournalEvent: Hashable, Sendable {
  /// The effect of an event on its entity.
  public enum Operation: UInt8, Hashable, Sendable {
    /// The entity exists from now on.
    case add = 0
    /// The record changes.
    case update = 1
    /// The entity is deleted; its history stays.
    case delete = 2
  }

  /// The effect of an event, with its data.
  public enum Change: Hashable, Sendable {
    /// The entity exists from now on, with this record.
    case add(EntityRecord)
    /// The parts of the record that change.
    case update(RecordChanges)
    /// The entity is deleted.
    case delete
    /// The content of the add or update was erased. The entity no longer exists.
    case erased(Operation)
  }

  /// The entity concerned.
  public let entity: EntityKey
  /// The revision of the previous event of the same entity, 0 if there is none.
  public let previous: Revision
  /// The change.
  public let change: Change

  /// An event whose entity was last changed at the revision `previous`.
  public init(entity: EntityKey, previous: Revision, change: Change) {
    self.entity = entity
    self.previous = previous
    self.change = change
  }

  /// The operation of the change.
  public var operation: Operation {
    switch change {
    case .add: .add
    case .update: .update
    case .delete: .delete
    case .erased(let operation): operation
    }
  }
}
