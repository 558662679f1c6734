/// What entities shall become, and what must change with them so that no rule of the model is broken.
struct RestoreTargets<State: EventSourced> {
  let now: State
  /// What entities were at the point that is brought back.
  let past: (EntityKey) throws -> EntityRecord?
  /// What is asked for. An entity that maps to nil goes.
  private var records: [EntityKey: EntityRecord?] = [:]

  init(now: State, past: @escaping (EntityKey) throws -> EntityRecord?) {
    self.now = now
    self.past = past
  }

  /// Asks for an entity to become that record, or with nil to go.
  mutating func set(_ entity: EntityKey, _ record: EntityRecord?) { records[entity] = .some(record) }

  /// What an entity will be.
  func record(of entity: EntityKey) -> EntityRecord? { records[entity] ?? now.record(of: entity) }

  /// Brings back what the records refer to and is gone, and takes away or changes what refers to what goes.
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
            // It never was there at that point, or is to go: the record is left without it.
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

  /// What the model makes of a record without a reference: nothing, where it keeps the reference.
  private static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey)
    -> EntityRecord?
  {
    guard let changed = State.record(record, of: kind, without: entity),
      !State.references(in: changed, of: kind).contains(entity)
    else { return nil }
    return changed
  }

  /// What changes, in the order of kinds and numbers.
  var changes: [EntityDifference] {
    records.keys.sorted().compactMap { entity in
      let (old, new) = (now.record(of: entity), record(of: entity))
      return old == new ? nil : EntityDifference(entity: entity, old: old, new: new)
    }
  }
}
