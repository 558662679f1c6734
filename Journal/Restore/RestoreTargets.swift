import Tables

/// The target records of entities, and the records that must change with them to keep the rules of the model.
struct RestoreTargets<State: EventSourced> {
  /// Returns the state from which to restore a deleted entity that a target refers to; nil if the entity must stay
  /// deleted. Called only if there is such an entity.
  let past: (EntityKey) throws -> State?
  /// The target records. Nil means that the entity is to be deleted.
  private var records = SortedTable<EntityKey, EntityRecord?>()
  /// The entities that keep a reference to an entity to be deleted, because the state's rules forbid that deletion.
  private(set) var refusals: [EntityKey] = []
  // The last property, because those after one of a generic type are found by a search for the type's metadata.
  let now: State

  init(now: State, past: @escaping (EntityKey) throws -> State?) {
    self.now = now
    self.past = past
  }

  /// Sets the record that an entity is to get; nil if the entity is to be deleted.
  mutating func set(_ entity: EntityKey, _ record: EntityRecord?) {
    records.updateValue(record, forKey: entity)
  }

  func record(of entity: EntityKey) -> EntityRecord? { records[entity] ?? now.record(of: entity) }

  /// Restores deleted entities that the target records refer to, with the entities that belong to them; and deletes or
  /// changes entities that refer to an entity to be deleted.
  mutating func complete() throws {
    var open = records.map(\.key)
    var known: State?
    while !open.isEmpty {
      let deletionCount = records.count { $0.value == nil }
      while let entity = open.popLast() { try complete(entity, &open, &known) }
      // A target can refer to an entity that was only to be deleted after the target was completed.
      if records.count(where: { $0.value == nil }) > deletionCount {
        open = records.map(\.key).filter { record(of: $0) != nil }
      }
    }
  }

  /// - Parameter open: the entities that are not completed yet. Those that must change with `entity` are appended.
  private mutating func complete(_ entity: EntityKey, _ open: inout [EntityKey], _ known: inout State?) throws
  {
    if let record = record(of: entity) {
      for reference in now.references(in: record, of: entity.kind)
      where self.record(of: reference) == nil && !now.isErased(reference) {
        if records[reference] == nil {
          if known?.record(of: reference) == nil { known = try past(reference) }
          if let known, known.record(of: reference) != nil {
            open += revive(reference, from: known)
            continue
          }
        }
        // The referenced entity did not exist, stays deleted, or is to be deleted, so the record loses the reference.
        let changed = self.record(record, of: entity, without: reference)
        if changed == record { continue }
        set(entity, changed)
        open.append(entity)
        break
      }
    } else if now.record(of: entity) != nil {
      for referrer in now.referrers(to: entity) {
        guard let record = record(of: referrer),
          now.references(in: record, of: referrer.kind).contains(entity)
        else { continue }
        let changed = self.record(record, of: referrer, without: entity)
        if changed == record {
          refusals.append(referrer)
        } else {
          set(referrer, changed)
          open.append(referrer)
        }
      }
    }
  }

  /// Restores a deleted entity and the deleted entities that can't exist without it. Returns all these entities.
  private mutating func revive(_ entity: EntityKey, from past: State) -> [EntityKey] {
    set(entity, past.record(of: entity))
    var revived = [entity]
    var next = 0
    while next < revived.count {
      let owner = revived[next]
      next += 1
      for referrer in past.referrers(to: owner)
      where records[referrer] == nil && now.record(of: referrer) == nil && State.isRestored(referrer.kind) {
        guard let record = past.record(of: referrer),
          now.record(record, of: referrer.kind, without: owner) == nil
        else { continue }
        set(referrer, record)
        revived.append(referrer)
      }
    }
    return revived
  }

  /// The record of an entity without a reference; nil if the entity can't exist without the reference.
  private func record(
    _ record: EntityRecord, of entity: EntityKey, without reference: EntityKey
  ) -> EntityRecord? {
    func refers(_ record: EntityRecord) -> Bool {
      now.references(in: record, of: entity.kind).contains(reference)
    }
    if let present = now.record(of: entity), !refers(present) {
      // Only the part with the reference keeps its present value.
      for part in EntityRecord.differences(from: record, to: present) {
        guard let changes = record.changes(to: present, where: { $0 == part.key }) else { continue }
        let kept = record.applying(changes)
        if !refers(kept) { return kept }
      }
      return present
    }
    return now.record(record, of: entity.kind, without: reference)
  }

  var changes: [EntityDifference] {
    records.compactMap { entity, new in
      let old = now.record(of: entity)
      return old == new ? nil : EntityDifference(entity: entity, old: old, new: new)
    }
  }
}
