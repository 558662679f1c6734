/// One add, update or delete of one entity, inside an entry.
public struct JournalEvent: Hashable, Sendable {
  /// What an event does to its entity.
  public enum Operation: UInt8, Hashable, Sendable {
    /// It is there from now on.
    case add = 0
    /// Something of it is another.
    case update = 1
    /// It is gone; its history stays.
    case delete = 2
  }

  /// What becomes of the entity.
  public enum Change: Hashable, Sendable {
    /// It is there, with this record.
    case add(EntityRecord)
    /// These parts of its record are others.
    case update(RecordChanges)
    /// It is gone.
    case delete
    /// What was added or updated has been erased. The entity is there no more, whatever it was.
    case erased(Operation)
  }

  /// What it happened to.
  public let entity: EntityKey
  /// The revision of the event before this one on the same entity, 0 when there is none.
  public let previous: Revision
  /// What happened.
  public let change: Change

  /// What happened to an entity, after the event of the revision `previous`.
  public init(entity: EntityKey, previous: Revision, change: Change) {
    self.entity = entity
    self.previous = previous
    self.change = change
  }

  /// The change's name.
  public var operation: Operation {
    switch change {
    case .add: .add
    case .update: .update
    case .delete: .delete
    case .erased(let operation): operation
    }
  }
}
