/// How a revert treats later edits of the same parts.
public enum LaterEdits: Sendable {
  /// Later edits are conflicts, and the plan can't be committed.
  case refuse
  /// Later edits stay, and the rest is reverted. An entity that was deleted later stays deleted, and no
  /// reference to it comes back.
  case keep
  /// Later edits are lost.
  case override
}

extension Journal {
  /// Plans to undo exactly one entry: each part that it changed gets its earlier value.
  ///
  /// By default, a later edit of the same part prevents that, unless that edit was reverted itself. So does the later
  /// deletion of an entity to which an earlier value refers.
  /// - Parameters:
  ///   - revision: the entry.
  ///   - later: how to treat later edits of the same parts.
  /// - Throws: ``JournalError``: `notFound` if there is no such entry, `pruned` if it was pruned; `wrongUse` if it changed
  ///   nothing that can be reverted, for example because it only made a tag.
  /// - Complexity: O(h) reads of the log for h events of the entities that the entry touched. If earlier values refer
  ///   to entities that were deleted since, also reading the state before the entry, unless later edits are kept.
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
      of: entry, later, action: .revert(entry.revision), note: .revert,
      metadata: [RestoreMetadata.reverts: "\(entry.revision)"], on: preview)
  }

  /// Plans to revert several entries one after the other, each as if the plans before were committed, up to the first
  /// that has conflicts.
  /// - Parameter author: who would commit them.
  package func planReverts(
    of revisions: [Revision], later: LaterEdits, by author: String
  ) throws -> [RestorePlan] {
    try settled {
      try planReverts(of: revisions, later, by: author) { [self] in try revertibleEntry(at: $0) }
    }
  }

  private func planReverts<Element>(
    of elements: [Element], _ later: LaterEdits, by author: String, on version: Version<State>? = nil,
    entry: (Element) throws -> Entry
  ) throws -> [RestorePlan] {
    var plans: [RestorePlan] = []
    var preview = Preview(version ?? self.version)
    for element in elements {
      let plan = try planRevert(of: try entry(element), later, on: preview)
        .checked { (plan) throws(JournalError) in try preview.commit(plan, by: author) }
      plans.append(plan)
      if !plan.conflicts.isEmpty || plan.problem != nil { break }
    }
    return plans
  }

  /// Plans to revert several entries with one entry that brings about what reverting one after the other would.
  /// - Parameter entries: the entries, newest first.
  func planRevert(
    of entries: [Entry], _ later: LaterEdits, by author: String, action: RestorePlan.Action, note: RevertNote,
    metadata: [String: String]
  ) throws -> RestorePlan {
    let version = version
    if entries.count == 1 {
      return try planRevert(
        of: entries[0], later, action: action, note: note, metadata: metadata, on: Preview(version)
      ).checked(on: version)
    }
    let plans = try planReverts(of: entries, later, by: author, on: version) { $0 }
    let own = Set(entries.map(\.revision))
    func isByOthers(_ edit: LaterEdit) -> Bool {
      edit.revision <= version.revision && !own.contains(edit.revision)
    }
    // If a change of the plan itself is in the way, so is what others did to that entity before.
    let conflicts = try plans.flatMap(\.conflicts).map { edit in
      if isByOthers(edit) { return edit }
      return try laterEvents(of: edit.entity, after: entries[entries.count - 1].revision, on: nil)
        .first { !own.contains($0.revision) }?.edit(of: nil) ?? edit
    }
    var targets: [EntityKey: EntityRecord?] = [:]
    for change in plans.flatMap(\.changes) { targets[change.entity] = .some(change.new) }
    let changes = targets.sorted { $0.key < $1.key }.compactMap { entity, new -> EntityDifference? in
      let old = version.state.record(of: entity)
      return old == new ? nil : EntityDifference(entity: entity, old: old, new: new)
    }
    try chain.faults.check()
    let plan = RestorePlan(
      action: action, changes: changes, undoes: plans.flatMap(\.undoes).filter(isByOthers).merged(),
      conflicts: conflicts.merged(), problem: plans.last?.problem,
      note: note.text(of: entries), metadata: metadata, journal: id, head: version.head,
      coversEverything: false)
    return plan.problem == nil ? plan.checked(on: version) : plan
  }

  /// The entry of a revision, if it changed anything that can be reverted.
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

  /// Plans to revert an entry, without looking for a problem.
  private func planRevert(
    of entry: Entry, _ later: LaterEdits, action: RestorePlan.Action, note: RevertNote,
    metadata: [String: String], on preview: Preview<State>
  ) throws -> RestorePlan {
    let newest = preview.version
    var reversal = Reversal(
      RestoreTargets(now: newest.state) { [self] in
        try later == .keep ? nil : state(asOf: .revision(entry.revision - 1))
      }, later)
    let events = entry.events.filter { $0.isUndoable(State.self) }
    let past = try pastRecords(
      of: events.lazy.map { ($0.entity, $0.previous) }, asOf: entry.revision - 1)
    for event in events {
      let before = event.previous == 0 ? nil : try past(event.entity, event.previous)
      reversal.revert(
        event, from: before, to: event.change.applied(to: before),
        touches: Touches(
          of: try laterEvents(of: event.entity, after: entry.revision, on: preview), since: entry.revision))
    }
    let asked = reversal.targets
    try reversal.targets.complete()
    var changes = reversal.targets.changes
    // Entities that depend on one to be deleted were added later, and missing ones were deleted later.
    let others = later == .override ? [] : reversal.entitiesChangedForOthers(changes, since: asked)
    // One conflict for each entity is enough.
    let inConflict = Set(reversal.conflicts.map(\.entity))
    for entity in others where !inConflict.contains(entity) {
      let latest = newest.state.revision(of: entity)
      guard let event = try laterEvents(of: entity, after: latest - 1, on: preview).first,
        let edit = event.edit(of: nil)
      else { continue }
      reversal.note(edit)
    }
    if later == .keep, !others.isEmpty {
      reversal.targets = asked
      reversal.keepWhatOthersNeed(entry.events.map(\.entity))
      try reversal.targets.complete()
      changes = reversal.targets.changes
    }
    try chain.faults.check()
    let plan = RestorePlan(
      action: action, changes: changes,
      undoes: later == .override ? try laterEdits(lostBy: changes, since: entry.revision, on: preview) : [],
      conflicts: later == .refuse ? reversal.conflicts : [],
      note: note.text(of: [entry]), metadata: metadata, journal: id, head: newest.head,
      coversEverything: false)
    try chain.faults.check()
    return plan
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

/// What plans would make of a journal if they were committed one after the other.
struct Preview<State: EventSourced> {
  private(set) var version: Version<State>
  /// The events of each entity that the plans would make, newest first.
  private var events: [EntityKey: [LaterEvent]] = [:]

  init(_ version: Version<State>) { self.version = version }

  func events(of entity: EntityKey) -> [LaterEvent] { events[entity] ?? [] }

  /// Makes the changes of a plan, if there are any, as the next entry.
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

/// Collects the changes of the entities that an entry touched.
private struct Reversal<State: EventSourced> {
  var targets: RestoreTargets<State>
  private let later: LaterEdits
  private(set) var conflicts: [LaterEdit] = []
  private var noted: Set<LaterEdit> = []

  init(_ targets: RestoreTargets<State>, _ later: LaterEdits) {
    self.targets = targets
    self.later = later
  }

  mutating func note(_ edit: LaterEdit) { if noted.insert(edit).inserted { conflicts.append(edit) } }

  mutating func revert(
    _ event: JournalEvent, from before: EntityRecord?, to after: EntityRecord?, touches: Touches
  ) {
    let now = targets.now.record(of: event.entity)
    if now == before { return }
    guard let before, let after, let now else {
      // The entity was added or deleted, then or later, so it is restored or deleted as a whole.
      let (isReverted, edits) = touches.standing(isAsLeft: now == after) { _ in true }
      if isReverted, later != .override { return }
      for edit in edits { if let edit = edit.edit(of: nil) { note(edit) } }
      if edits.isEmpty || later == .override { targets.set(event.entity, before) }
      return
    }
    let changed = Set(EntityRecord.differences(from: now, to: after).map(\.key))
    let lost = Set(EntityRecord.differences(from: now, to: before).map(\.key))
    var wanted: Set<FieldKey> = []
    for part in EntityRecord.differences(from: before, to: after) {
      let isAsLeft = !changed.contains(part.key)
      let (isReverted, edits) = touches.standing(isAsLeft: isAsLeft) { $0.touches(part.key) }
      if isReverted, later != .override { continue }
      if lost.contains(part.key) {
        for edit in edits { if let edit = edit.edit(of: [part.key]) { note(edit) } }
      }
      if edits.isEmpty || later == .override { wanted.insert(part.key) }
    }
    if let changes = now.changes(to: before, where: { wanted.contains($0) }) {
      targets.set(event.entity, now.applying(changes))
    }
  }

  /// The existing entities that refer to an entity that is to be deleted, whether or not they can lose the reference, and the deleted ones that come back because
  /// another entity refers to them.
  /// - Parameters:
  ///   - changes: those of the completed targets.
  ///   - asked: the targets before they were completed.
  func entitiesChangedForOthers(
    _ changes: [EntityDifference], since asked: RestoreTargets<State>
  ) -> [EntityKey] {
    changes.filter { change in
      guard let record = asked.record(of: change.entity) else { return change.old == nil }
      guard change.old != nil else { return false }
      return targets.now.references(in: record, of: change.entity.kind).contains {
        targets.now.record(of: $0) != nil && targets.record(of: $0) == nil
      }
    }.map(\.entity) + targets.refusals
  }

  /// Keeps entities that were to be deleted and that a remaining entity refers to.
  mutating func keepWhatOthersNeed(_ entities: [EntityKey]) {
    func goes(_ entity: EntityKey) -> Bool {
      targets.now.record(of: entity) != nil && targets.record(of: entity) == nil
    }
    var open = entities.filter { entity in
      goes(entity)
        && targets.now.referrers(to: entity).contains { referrer in
          guard let record = targets.record(of: referrer) else { return false }
          return targets.now.references(in: record, of: referrer.kind).contains(entity)
        }
    }
    while let entity = open.popLast() {
      guard goes(entity), let record = targets.now.record(of: entity) else { continue }
      targets.set(entity, record)
      open += targets.now.references(in: record, of: entity.kind)
    }
  }
}

/// The events of one entity after an entry, newest first, without those that were reverted.
private struct Touches {
  private let events: [LaterEvent]
  private let revisions: Set<Revision>
  private let entry: Revision

  init(of events: [LaterEvent], since entry: Revision) {
    self.events = events
    revisions = Set(events.map(\.revision))
    self.entry = entry
  }

  /// The later events that still count, newest first, and whether one of them has reverted the entry already.
  /// - Parameter isAsLeft: whether the parts are still as the entry left them. If not, the newest event counts, even if
  ///   mutual reverts, some of which overrode later edits, seem to have undone all events.
  func standing(
    isAsLeft: Bool, where isAskedFor: (LaterEvent) -> Bool
  ) -> (isReverted: Bool, events: [LaterEvent]) {
    var reverted: Set<Revision> = []
    var standing: [LaterEvent] = []
    for event in events where isAskedFor(event) && !reverted.contains(event.revision) {
      if event.reverted.contains(entry) { return (true, standing) }
      let targets = event.reverted.isEmpty ? [] : revisions.filter { event.reverted.contains($0) }
      // Side effects of another entry's revert on this entity count as an edit.
      if targets.isEmpty { standing.append(event) } else { reverted.formUnion(targets) }
    }
    if standing.isEmpty, !isAsLeft, let newest = events.first(where: isAskedFor) { return (false, [newest]) }
    return (false, standing)
  }
}
