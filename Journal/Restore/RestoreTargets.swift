/// The target records of entities, and what must change with them so that no rule of the model is broken.
struct RestoreTargets<State: EventSourced> {
  let now: State
  /// The record of an entity at the point to be restored.
  let past: (EntityKey) throws -> EntityRecord?
  /// The targets. An entity that maps to nil is to be deleted.
  private var records: [EntityKey: EntityRecord?] = [:]

  init(now: State, past: @escaping (EntityKey) throws -> EntityRecord?) {
    self.now = now
    self.past = past
  }

  /// Sets the target of an entity; nil deletes it.
  mutating func set(_ entity: EntityKey, _ record: EntityRecord?) { records[entity] = .some(record) }

  /// The record that an entity will have.
  func record(of entity: EntityKey) -> EntityRecord? { records[entity] ?? now.record(of: entity) }

  /// Restores deleted entities that the records refer to, and deletes or changes entities that refer to deleted ones.
  mutating func complete() throws {
    var open = Array(records.keys)
    while let entity = open.popLast() {
      if let record = record(of: entity) {
        for reference in State.references(in: record, of: entity.kind)
        where self.record(of: reference) == nil && !now.isErased(reference) {
          if records[reference] == nil, let past = try past(reference) {
            set(reference, past)
            open.append(reference)
          } else {
            // It did not exist at that point, or is to be deleted: the record loses the reference.
            set(entity, Self.record(record, of: entity.kind, without: reference))
            open.append(entity)
            break
          }
        }
      } else if now.record(of: entity) != nil {
        for referrer in now.referrers(to: entity) {
          guard let record = record(of: referrer),
            State.references(in: record, of: referrer.kind).contains(entity)
          else { continue }
          set(referrer, Self.record(record, of: referrer.kind, without: entity))
          open.append(referrer)
        }
      }
    }
  }

  /// The model's record without a reference; nil if the model keeps the reference.
  static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey)
    -> EntityRecord?
  {
    guard let changed = State.record(record, of: kind, without: entity),
      !State.references(in: changed, of: kind).contains(entity)
    else { return nil }
    return changed
  }

  /// The changes, in the order of kinds and numbers.
  var changes: [EntityDifference] {
    records.keys.sorted().compactMap { entity in
      let (old, new) = (now.record(of: entity), record(of: entity))
      return old == new ? nil : EntityDifference(entity: entity, old: old, new: new)
    }
  }
}
