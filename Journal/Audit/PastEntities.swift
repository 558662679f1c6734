extension Journal {
  /// An entity as of a point in time; nil if it did not exist. Unlike `state(asOf:)`, this rebuilds no state.
  ///
  /// Each event has the revision of the previous one, so the call follows the events of the entity back from the newest
  /// and replays nothing else. If the events are many, layers are read instead.
  /// - Throws: ``JournalError`` with code `notFound` if the selector names no point in time, `pruned` if the point was
  ///   pruned.
  /// - Complexity: O(m) reads of the log for the m events that the entity has between two checkpoints of the layers,
  ///   whatever the size of the journal. Without layers, O(h) for all h events of the entity.
  public func entity(_ entity: EntityKey, asOf selector: RevisionSelector) throws -> EntityRow? {
    try settled {
      let revision = try revision(at: selector)
      return try row(of: entity, after: try newestEvent(of: entity, atOrBefore: revision))
    }
  }

  /// The parts that an event changes, with their old and new values.
  /// - Parameter event: an event of this journal's history.
  /// - Throws: ``JournalError`` with code `damaged` if an entry is missing or altered.
  /// - Complexity: O(k) reads of the log, where the newest event that set the same parts is k events back.
  public func parts(changedBy event: JournalEvent) throws -> [PartChange] {
    try settled {
      switch event.change {
      case .erased: return []
      case .add(let record): return EntityRecord.differences(from: nil, to: record)
      case .delete:
        return EntityRecord.differences(
          from: try row(of: event.entity, after: event.previous)?.record, to: nil)
      case .update(let changes):
        var new: [(key: FieldKey, value: FieldValue?)] = []
        changes.visit { new.append(($0, $1)) }
        let old = try values(of: Set(new.map(\.key)), in: event.entity, after: event.previous)
        return new.map { PartChange(key: $0.key, old: old[$0.key] ?? nil, new: $0.value) }
      }
    }
  }

  /// The row of an entity after its event at `revision`; nil after a deletion, or if `revision` is 0.
  package func row(of entity: EntityKey, after revision: Revision) throws(JournalError) -> EntityRow? {
    // All updates as one. A list of updates would hold each version of a large attribute.
    var updates: RecordChanges?
    var found: EntityRow?
    var isErased = false
    try walkBack(from: revision, over: entity, asksLayers: true) { step throws(JournalError) in
      switch step.event.change {
      case .add(let record):
        found =
          step.row ?? EntityRow(record: record, created: step.revision, modified: step.revision)
      case .update(let changes):
        updates = updates.map { changes.followed(by: $0) } ?? changes
        return true
      case .erased: isErased = true
      case .delete: break
      }
      return false
    }
    guard let row = found else {
      if updates == nil || isErased { return nil }
      throw JournalError(
        .damaged, "the entry changes \(State.name(of: entity)), which is not there", revision: revision)
    }
    return updates.map { row.applying($0, at: revision) } ?? row
  }

  /// The values of some parts of an entity after its event at `revision`; nil for parts that the entity lacks.
  func values(
    of keys: Set<FieldKey>, in entity: EntityKey, after revision: Revision
  ) throws(JournalError) -> [FieldKey: FieldValue?] {
    var missing = keys
    var values: [FieldKey: FieldValue?] = [:]
    func take(_ key: FieldKey, _ value: FieldValue?) {
      if missing.remove(key) != nil { values[key] = .some(value) }
    }
    try walkBack(from: revision, over: entity, asksLayers: true) { step throws(JournalError) in
      switch step.event.change {
      case .add(let record): record.visit { take($0, $1) }
      case .update(let changes):
        changes.visit { take($0, $1) }
        return !missing.isEmpty
      case .delete, .erased: break
      }
      return false
    }
    return values
  }

  func isErased(_ entity: EntityKey, after revision: Revision) throws(JournalError) -> Bool {
    var isErased = false
    try walkBack(from: revision, over: entity, asksLayers: true) { step throws(JournalError) in
      switch step.event.change {
      case .erased: isErased = true
      case .update: return true
      case .add, .delete: break
      }
      return false
    }
    return isErased
  }

  /// Calls `body` with an entity's events, from the one at `revision` back, until `body` returns false or none is left.
  ///
  /// All pruned history is one event, the last: an add, or a deletion.
  /// - Parameter asksLayers: whether to look the entity up in a layer after ``stepsBeforeLayers`` events. If a layer
  ///   has it, an add is passed as the last event, in place of all earlier ones. This bounds the cost.
  func walkBack(
    from revision: Revision, over entity: EntityKey, asksLayers: Bool,
    _ body: (PastStep) throws(JournalError) -> Bool
  ) throws(JournalError) {
    var (revision, steps) = (revision, 0)
    var layers: ReplayStart<State>?
    func pass(_ change: JournalEvent.Change, _ row: EntityRow?) throws(JournalError) {
      let event = JournalEvent(entity: entity, previous: 0, change: change)
      _ = try body(PastStep(revision: revision, event: event, row: row, entry: nil))
    }
    while revision > 0 {
      if let base = format.base, revision <= base.head.revision {
        switch try base.contents().row(of: entity, upcast) {
        case .there(let row): try pass(.add(row.record), row)
        case .gone(let deletion): try pass(deletion.isErased ? .erased(.add) : .delete, nil)
        case nil: if !asksLayers { throw lacksEvent(of: entity, at: base.head.revision) }
        }
        return
      }
      if asksLayers, steps == Self.stepsBeforeLayers { layers = chain.start(atOrBefore: revision) }
      if let known = layers, revision <= known.revision {
        let row = known.state.row(of: entity)
        // `row` is also nil if a layer can't be read. In this case, `check()` throws.
        try chain.faults.check()
        if let row { return try pass(.add(row.record), row) }
        layers = nil
      }
      let end = max(format.head.revision, layers?.revision ?? 0)
      var continues = true
      try readBackCached(from: revision) { entry throws(JournalError) in
        let event = try event(of: entity, in: entry)
        continues = try body(PastStep(revision: entry.revision, event: event, row: nil, entry: entry))
        revision = event.previous
        steps += 1
        let asksNext = asksLayers && steps == Self.stepsBeforeLayers
        return continues && revision > end && !asksNext ? revision : nil
      }
      if !continues { return }
    }
  }
}

/// One event of an entity, as a walk back passes it.
struct PastStep {
  let revision: Revision
  let event: JournalEvent
  /// The row that the base of a pruned history or a layer has; nil for an event of the log.
  let row: EntityRow?
  /// The entry of the event; nil if the event stands for pruned history or for a layer.
  let entry: (any PastEntry)?
}

extension EventSourced {
  /// The row of an entity; nil if the entity does not exist, or the model has no parts.
  func row(of entity: EntityKey) -> EntityRow? {
    guard let tables = parts?.tables, Int(entity.kind.rawValue) < tables.count else { return nil }
    return tables[Int(entity.kind.rawValue)][entity.number]
  }
}
