extension Journal {
  /// The differences between two points in time, in the order of kinds and numbers. Applied to the state at `first`,
  /// they give the state at `second`.
  ///
  /// `second` may be before `first`. Reads the events between the points, and each changed entity's earlier record.
  /// - Throws: ``JournalError`` with code `notFound` if a selector names no point in time, `pruned` if the point was
  ///   pruned.
  /// - Complexity: grows with the number of events between the two points, not with the journal.
  public func diff(
    from first: RevisionSelector, to second: RevisionSelector = .head()
  ) throws -> [EntityDifference] {
    try settled {
      let (from, to) = (try revision(at: first), try revision(at: second))
      if from == to { return [] }
      let differences = try differences(after: min(from, to), through: max(from, to))
      return from < to ? differences : differences.map(\.reversed)
    }
  }

  /// The differences of some entities between two points in time, in the order of kinds and numbers.
  /// - Throws: ``JournalError`` with code `notFound` if a selector names no point in time, `pruned` if the point was
  ///   pruned.
  /// - Complexity: at most O(h) reads of the log for h events of these entities, whatever the size of the journal. If
  ///   the events are many, layers are read instead.
  public func diff(
    of entities: some Sequence<EntityKey>, from first: RevisionSelector, to second: RevisionSelector = .head()
  ) throws -> [EntityDifference] {
    try settled {
      let (from, to) = (try revision(at: first), try revision(at: second))
      return try Set(entities).sorted().compactMap { entity in
        let old = try self.entity(entity, asOf: .revision(from))?.record
        let new = try self.entity(entity, asOf: .revision(to))?.record
        return old == new ? nil : EntityDifference(entity: entity, old: old, new: new)
      }
    }
  }

  private func differences(after low: Revision, through high: Revision) throws -> [EntityDifference] {
    var touched: [EntityKey: TouchedEntity] = [:]
    try EventPipeline.run(log, low + 1...high, upcast) { event, revision throws(JournalError) in
      if touched[event.entity]?.add(event.change) == nil {
        touched[event.entity] = TouchedEntity(previous: event.previous, change: event.change)
      }
    }
    let past = try pastRecords(of: touched.lazy.map { ($0.key, $0.value.previous) }, asOf: low)
    var differences: [EntityDifference] = []
    for (entity, touch) in touched.sorted(by: { $0.key < $1.key }) {
      let old = touch.previous == 0 ? nil : try past(entity, touch.previous)
      let new = touch.change.applied(to: old)
      if old != new { differences.append(EntityDifference(entity: entity, old: old, new: new)) }
    }
    try chain.faults.check()
    return differences
  }

  /// Returns a function that finds the record of an entity as of a revision. It follows the events of each entity back
  /// or, for many entities, replays the state once. Entities that one entry added together are read from that entry.
  /// - Parameter events: the entities to look up, each with its newest event up to `revision`; 0 if it has none.
  func pastRecords(
    of events: some Sequence<(entity: EntityKey, event: Revision)>, asOf revision: Revision
  ) throws -> (_ entity: EntityKey, _ event: Revision) throws -> EntityRecord? {
    let many = 64
    var added: [EntityKey: EntityRecord] = [:]
    var count = 0
    for (event, entities) in Dictionary(grouping: events, by: \.event) where event > 0 {
      count += entities.count
      guard entities.count >= many, event > format.head.revision else { continue }
      let asked = Set(entities.lazy.map(\.entity))
      added.reserveCapacity(added.count + asked.count)
      try log.read(event) { entry throws(JournalError) in
        var events = try entry.events()
        while let next = try events.nextUnchecked() {
          guard asked.contains(next.entity), case .add(let record) = try next.checked(upcast).change else {
            continue
          }
          added[next.entity] = record
        }
      }
    }
    count -= added.count
    var past: State?
    if count >= many {
      let base: ReplayStart<State> = chain.start(atOrBefore: revision)
      // The factor is an estimate, not measured: looking up one entity takes as long as replaying ten entries.
      if (revision - base.revision) / 10 <= count {
        past = try replayed(through: revision, from: base).version.state
      }
    }
    return { [past, added] entity, event in
      if let record = added[entity] { return record }
      return try past.map { $0.record(of: entity) } ?? self.row(of: entity, after: event)?.record
    }
  }
}

/// The changes of one entity in a range of events, as one change.
private struct TouchedEntity {
  /// The revision of the entity's event before the range; 0 if there is none.
  let previous: Revision
  /// All changes as one. A list of changes would hold each version of a large attribute.
  var change: JournalEvent.Change

  mutating func add(_ next: JournalEvent.Change) {
    switch (change, next) {
    case (.add(let record), .update(let changes)): change = .add(record.applying(changes))
    case (.update(let changes), .update(let later)): change = .update(changes.followed(by: later))
    // An update of a missing entity changes nothing.
    case (.delete, .update), (.erased, .update): break
    case (_, .add), (_, .delete), (_, .erased): change = next
    }
  }
}
