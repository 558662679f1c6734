/// How a revert treats later edits of the same parts.
public enum LaterEdits: Sendable {
  /// Later edits are conflicts, and the plan can't be committed.
  case refuse
  /// Later edits stay, and all other parts are reverted. An entity that was deleted later stays deleted, and no
  /// reference to the entity is restored.
  case keep
  /// Later edits are lost.
  case override
}

extension Journal {
  /// Plans to undo exactly one entry: each part that the entry changed gets its earlier value.
  ///
  /// By default, a later edit of the same part is a conflict, unless the edit was reverted itself. So is the later
  /// deletion of an entity to which an earlier value refers.
  /// - Parameters:
  ///   - revision: the revision of the entry to undo.
  ///   - later: how to treat later edits of the same parts.
  /// - Throws: ``JournalError``: `notFound` if there is no such entry; `pruned` if the entry was pruned; `wrongUse` if
  ///   the entry changed nothing that can be reverted, for example because it only made a tag.
  /// - Complexity: O(h) reads of the log for h events of the entities that the entry touched. If earlier values refer
  ///   to entities that were deleted since, the state before the entry is read too, unless `later` is `keep`.
  public func planRevert(of revision: Revision, later: LaterEdits = .refuse) throws -> RestorePlan {
    try settled {
      let version = version
      return try planRevert(of: try revertibleEntry(at: revision), later, on: Preview(version)).checked(
        on: version)
    }
  }

  private func planRevert(
    of entry: Entry, _ later: LaterEdits, on preview: Preview<State>
  ) throws -> RestorePlan {
    try planRevert(
      of: [entry], later, action: .revert(entry.revision), note: .revert,
      metadata: [RestoreMetadata.reverts: "\(entry.revision)"], on: preview)
  }

  /// Plans to revert several entries one after the other, each as if the earlier plans were committed. Ends after the
  /// first plan that has conflicts or a problem.
  /// - Parameter author: who would commit the plans.
  package func planReverts(
    of revisions: [Revision], later: LaterEdits, by author: String
  ) throws -> [RestorePlan] {
    try settled {
      var plans: [RestorePlan] = []
      var preview = Preview(version)
      for revision in revisions {
        let plan = try planRevert(of: try revertibleEntry(at: revision), later, on: preview)
          .checked { (plan) throws(JournalError) in try preview.commit(plan, by: author) }
        plans.append(plan)
        if !plan.conflicts.isEmpty || plan.problem != nil { break }
      }
      return plans
    }
  }

  /// Plans to revert several entries with one entry. Values that existed only between these entries are ignored.
  /// - Parameter entries: the entries, newest first.
  func planRevert(
    of entries: [Entry], _ later: LaterEdits, action: RestorePlan.Action, note: RevertNote,
    metadata: [String: String]
  ) throws -> RestorePlan {
    let version = version
    return try planRevert(
      of: entries, later, action: action, note: note, metadata: metadata, on: Preview(version)
    ).checked(on: version)
  }

  /// The entry of a revision. Fails if the entry changed nothing that can be reverted.
  package func revertibleEntry(at revision: Revision) throws -> Entry {
    let entry = try entry(at: revision)
    if entry.isUndoable(State.self) { return entry }
    let reason =
      if let kept = entry.events.first(where: { !State.isRestored($0.entity.kind) })?.entity {
        "it changed only \(State.name(of: kept))"
          + (entry.events.count > 1 ? " and others" : "") + ", which a revert leaves as it is; "
          + "take that back with a new entry"
      } else {
        entry.events.isEmpty ? "it changed no entity" : "the content of its changes was erased"
      }
    throw JournalError(.wrongUse, "there is nothing to revert: \(reason)", revision: revision)
  }

  /// Plans to revert entries, newest first, without checking the rules of the model.
  /// - Parameter known: the entities that the entries changed, if they were read already.
  private func planRevert(
    of entries: [Entry], _ later: LaterEdits, action: RestorePlan.Action, note: RevertNote,
    metadata: [String: String], on preview: Preview<State>, _ known: [RevertedEntity]? = nil
  ) throws -> RestorePlan {
    let newest = preview.version
    let own = Set(entries.map(\.revision))
    let oldest = entries[entries.count - 1].revision
    var past: State?
    var reversal = Reversal(
      RestoreTargets(now: newest.state) { [self] entity in
        if later == .keep { return nil }
        if past == nil { past = try state(asOf: .revision(oldest - 1)) }
        let wasAddedLater = past?.record(of: entity) == nil && newest.state.revision(of: entity) >= oldest
        if entries.count == 1 || !wasAddedLater { return past }
        // Other entries added and deleted the entity between the reverted ones.
        return try state(asOf: .revision(max(newest.state.revision(of: entity), 1) - 1))
      }, later)
    let touched = try known ?? touchedEntities(of: entries, own, on: preview)
    for entity in touched { reversal.revert(entity) }
    let entities = touched.map(\.entity)
    let asked = reversal.targets
    try reversal.targets.complete()
    var changes = reversal.targets.changes
    // Entities that were added later and depend on one to be deleted, or that were deleted later and are needed.
    let others =
      later == .override ? [] : reversal.entitiesChangedForOthers(changes, since: asked, entities)
    // One conflict for each entity is enough. An entity that changed last before the entries is one only if it refers to
    // an entity that the entries added, for example because a rule was declared later. Otherwise it refers to an entity
    // that is in conflict itself.
    let inConflict = Set(reversal.conflicts.map(\.entity))
    let deleted = others.isEmpty ? [] : Set(entities.filter { asked.record(of: $0) == nil })
    for entity in others where !inConflict.contains(entity) {
      let latest = newest.state.revision(of: entity)
      if latest < oldest, !reversal.deletes(deleted, referredToBy: entity) { continue }
      let after = own.contains(latest) ? oldest : latest - 1
      if let edit = try newestEdit(of: entity, after: after, exceptBy: own, on: preview) {
        reversal.note(edit)
        continue
      }
      // No other entry has changed this entity, which the reverted entries added and deleted. The conflicts are edits of
      // other entities, to which the revert would give back a reference to this entity.
      for referrer in entities where reversal.refers(referrer, to: entity) {
        let parts = EntityRecord.differences(
          from: newest.state.record(of: referrer), to: reversal.targets.record(of: referrer)
        ).map(\.key)
        if let edit = try newestEdit(
          of: referrer, Set(parts), after: oldest, exceptBy: own, on: preview)
        {
          reversal.note(edit)
        }
      }
    }
    if later == .keep, !others.isEmpty {
      reversal.targets = asked
      reversal.keepWhatOthersNeed(entities)
      try reversal.targets.complete()
      changes = reversal.targets.changes
    }
    var undoes: [LaterEdit] = []
    if later == .override {
      for change in changes {
        if let edits = reversal.overridden[change.entity], asked.record(of: change.entity) == change.new {
          undoes += edits.merged().compactMap { $0.lost(by: change) }
        } else {
          // If other entries added and deleted the entity between the reverted ones, only the deletion is undone.
          let isNewer = entries.count > 1 && change.old == nil && past?.record(of: change.entity) == nil
          let since = isNewer ? newest.state.revision(of: change.entity) - 1 : oldest
          undoes += try laterEdits(lostBy: [change], since: since, on: preview)
            .filter { !own.contains($0.revision) }
        }
      }
      undoes.sort { ($1.revision, $0.entity) < ($0.revision, $1.entity) }
    }
    let conflicts = later == .refuse ? reversal.conflicts.merged() : []
    if !conflicts.isEmpty {
      changes =
        try planRevert(
          of: entries, .override, action: action, note: note, metadata: metadata, on: preview, touched
        ).changes
    }
    try chain.faults.check()
    return RestorePlan(
      action: action, changes: changes, undoes: undoes, conflicts: conflicts,
      note: note.text(of: entries), metadata: metadata, journal: id, head: newest.head,
      coversEverything: false)
  }

  /// The newest edit of an entity after a revision, except by the given entries.
  /// - Parameter parts: the parts that the edit must have changed; nil for any.
  private func newestEdit(
    of entity: EntityKey, _ parts: Set<FieldKey>? = nil, after revision: Revision,
    exceptBy own: Set<Revision>, on preview: Preview<State>
  ) throws -> LaterEdit? {
    for event in try laterEvents(of: entity, after: revision, on: preview)
    where !own.contains(event.revision) {
      if let edit = event.edit(of: parts) { return edit }
    }
    return nil
  }

  /// The entities that the given entries, newest first, changed, in order, each with its runs and its later events.
  private func touchedEntities(
    of entries: [Entry], _ own: Set<Revision>, on preview: Preview<State>
  ) throws -> [RevertedEntity] {
    var all: [OwnEvent] = []
    for entry in entries {
      for event in entry.events where event.isUndoable(State.self) { all.append((entry.revision, event)) }
    }
    all.sort { ($0.event.entity, $0.revision) < ($1.event.entity, $1.revision) }
    var groups: [(first: JournalEvent, events: ArraySlice<OwnEvent>)] = []
    var rest = all[...]
    while let first = rest.first?.event {
      let events = rest.prefix { $0.event.entity == first.entity }
      groups.append((first, events))
      rest = rest[events.endIndex...]
    }
    let oldest = entries[entries.count - 1].revision
    // If other entries changed an entity between the reverted ones, the state before them lacks the record to restore.
    let past = try pastRecords(
      of: groups.map { (entity: $0.first.entity, event: $0.first.previous) }.filter { $0.event < oldest },
      asOf: oldest - 1)
    return try groups.map { first, events in
      let (entity, previous) = (first.entity, first.previous)
      let before: EntityRecord? =
        if previous == 0 {
          nil
        } else if previous < oldest {
          try past(entity, previous)
        } else {
          try row(of: entity, after: previous)?.record
        }
      // The events between the first and the last of these events are known if each follows directly on the one before.
      let isChain = zip(events, events.dropFirst()).allSatisfy { $1.event.previous == $0.revision }
      let later = try laterEvents(
        of: entity, after: (isChain ? events.last : events.first)?.revision ?? oldest, on: preview)
      return RevertedEntity(
        entity: entity, runs: try runs(of: events, in: entity, from: before, later),
        touches: Touches(of: later, own: own))
    }
  }

  /// The runs of events of an entity.
  /// - Parameters:
  ///   - events: the events to be reverted, oldest first.
  ///   - before: the record before the first event.
  ///   - later: the entity's later events, newest first.
  private func runs(
    of events: ArraySlice<OwnEvent>, in entity: EntityKey, from before: EntityRecord?, _ later: [LaterEvent]
  ) throws -> [Run] {
    let reverts = later.filter { !$0.reverted.isEmpty }
    var runs: [Run] = []
    var open = later
    var record = before
    for (revision, event) in events {
      let last = runs.last?.last ?? 0
      while let other = open.last, other.revision < revision {
        open.removeLast()
        if other.revision <= last { continue }
        try readBack(from: other.revision, over: entity) { past throws(JournalError) in
          record = past.event.change.applied(to: record)
          return false
        }
      }
      let before = record
      record = event.change.applied(to: record)
      let joins =
        event.previous == last
        && reverts.allSatisfy { $0.reverted.contains(revision) == $0.reverted.contains(last) }
      if joins, !runs.isEmpty {
        runs[runs.count - 1].last = revision
        runs[runs.count - 1].after = record
      } else {
        runs.append(Run(before: before, last: revision, after: record))
      }
    }
    return runs
  }
}

extension LaterEdit {
  /// The edit with only those parts that a change undoes; nil if the change undoes no part of the edit.
  fileprivate func lost(by change: EntityDifference) -> LaterEdit? {
    guard operation == .update, change.operation == .update else { return self }
    let parts = Set(change.parts.map(\.key))
    var edit = self
    edit.fields.removeAll { !parts.contains($0) }
    return edit.fields.isEmpty ? nil : edit
  }
}

extension [LaterEdit] {
  /// Each edit once, with all of its parts.
  fileprivate func merged() -> [LaterEdit] {
    var positions: [EntityKey: [Revision: Int]] = [:]
    var merged: [LaterEdit] = []
    for edit in self {
      if let position = positions[edit.entity]?[edit.revision] {
        let known = Set(merged[position].fields)
        merged[position].fields += edit.fields.filter { !known.contains($0) }
      } else {
        positions[edit.entity, default: [:]][edit.revision] = merged.count
        merged.append(edit)
      }
    }
    return merged
  }
}

/// The version of a journal after plans that are committed one after the other, without writing them.
struct Preview<State: EventSourced> {
  private(set) var version: Version<State>
  /// The state before the plans, whose events are in the log.
  let logged: State
  /// The events of each entity that the plans would make, newest first.
  private var events: [EntityKey: [LaterEvent]] = [:]

  init(_ version: Version<State>) {
    self.version = version
    logged = version.state
  }

  func events(of entity: EntityKey) -> [LaterEvent] { events[entity] ?? [] }

  /// Makes the changes of a plan as the next entry. Does nothing if the plan is empty.
  mutating func commit(_ plan: RestorePlan, by author: String) throws(JournalError) {
    if plan.isEmpty { return }
    let head = version.head
    let result = try PlanResult(of: plan, on: version)
    let origin = EntryOrigin(
      revision: head.revision + 1, date: .now, clockDate: .now,
      annotation: EntryAnnotation(author: author, note: plan.note, metadata: plan.metadata))
    for event in result.events {
      events[event.entity, default: []].insert(LaterEvent(PastEvent(origin: origin, event: event)), at: 0)
    }
    version = Version(
      head: Head(revision: head.revision + 1, timestamp: head.timestamp, digest: head.digest),
      state: result.state)
  }
}
