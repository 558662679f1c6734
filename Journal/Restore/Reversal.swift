/// Collects the changes that revert entries, and the later edits that conflict.
struct Reversal<State: EventSourced> {
  private let later: LaterEdits
  private(set) var conflicts: [LaterEdit] = []
  private var noted: Set<LaterEdit> = []
  /// With ``LaterEdits/override``, the later edits that are lost; otherwise empty.
  private(set) var overridden: [EntityKey: [LaterEdit]] = [:]
  // The last property, because those after one of a generic type are found by a search for the type's metadata.
  var targets: RestoreTargets<State>

  init(_ targets: RestoreTargets<State>, _ later: LaterEdits) {
    self.targets = targets
    self.later = later
  }

  mutating func note(_ edit: LaterEdit) { if noted.insert(edit).inserted { conflicts.append(edit) } }

  mutating func revert(_ touched: RevertedEntity) {
    var touches = touched.touches
    for run in touched.runs.reversed() { revert(run, of: touched.entity, &touches) }
  }

  private mutating func revert(_ run: Run, of entity: EntityKey, _ touches: inout Touches) {
    let now = targets.record(of: entity)
    if now == run.before {
      // A later edit that is overridden may refer to the deleted entity, which then must not return.
      if now == nil, later == .override { targets.set(entity, nil) }
      return
    }
    guard let before = run.before, let after = run.after, let now else {
      // The run or a later edit added or deleted the entity, so the entity is restored or deleted as a whole.
      let (isReverted, edits) = touches.standing(since: run, touching: nil, isAsLeft: now == run.after)
      if isReverted, later != .override { return }
      for edit in edits { if let edit = edit.edit(of: nil) { note(edit) } }
      if edits.isEmpty || later == .override {
        set(entity, run.before, nil, losing: touches.later(than: run))
      }
      return
    }
    let changed = Set(EntityRecord.differences(from: now, to: after).map(\.key))
    let lost = Set(EntityRecord.differences(from: now, to: before).map(\.key))
    var wanted: Set<FieldKey> = []
    for part in EntityRecord.differences(from: before, to: after) {
      let isAsLeft = !changed.contains(part.key)
      let (isReverted, edits) = touches.standing(since: run, touching: part.key, isAsLeft: isAsLeft)
      if isReverted, later != .override { continue }
      if lost.contains(part.key) {
        for edit in edits { if let edit = edit.edit(of: [part.key]) { note(edit) } }
      }
      if edits.isEmpty || later == .override { wanted.insert(part.key) }
    }
    if let changes = now.changes(to: before, where: { wanted.contains($0) }) {
      set(entity, now.applying(changes), wanted, losing: touches.later(than: run))
    }
  }

  private mutating func set(
    _ entity: EntityKey, _ record: EntityRecord?, _ parts: Set<FieldKey>?,
    losing events: ArraySlice<LaterEvent>
  ) {
    targets.set(entity, record)
    guard later == .override else { return }
    overridden[entity, default: []] += events.compactMap { $0.edit(of: parts) }
  }

  /// The entities that change only because of other entities: existing ones that refer to an entity to be deleted,
  /// whether or not they can lose the reference; and deleted ones that return because another entity refers to them.
  /// - Parameters:
  ///   - changes: the changes of the completed targets.
  ///   - asked: the targets before they were completed.
  ///   - entities: the entities with a target in `asked`.
  func entitiesChangedForOthers(
    _ changes: [EntityDifference], since asked: RestoreTargets<State>, _ entities: [EntityKey]
  ) -> [EntityKey] {
    let deletesAny = changes.contains { $0.new == nil }
    // If nothing is deleted, only entities that return can be wanted.
    let candidates =
      deletesAny
      ? Set(changes.map(\.entity) + entities).sorted() : changes.filter { $0.old == nil }.map(\.entity)
    return candidates.filter { entity in
      guard let record = asked.record(of: entity) else {
        return targets.now.record(of: entity) == nil && targets.record(of: entity) != nil
      }
      return deletesAny && targets.now.references(in: record, of: entity.kind).contains(where: goes)
    } + targets.refusals
  }

  /// Whether an entity refers to one of the given entities that is to be deleted.
  func deletes(_ entities: Set<EntityKey>, referredToBy referrer: EntityKey) -> Bool {
    guard let record = targets.now.record(of: referrer) else { return false }
    return targets.now.references(in: record, of: referrer.kind).contains {
      entities.contains($0) && goes($0)
    }
  }

  private func goes(_ entity: EntityKey) -> Bool {
    targets.now.record(of: entity) != nil && targets.record(of: entity) == nil
  }

  /// Whether an entity will refer to another one.
  func refers(_ referrer: EntityKey, to entity: EntityKey) -> Bool {
    guard let record = targets.record(of: referrer) else { return false }
    return targets.now.references(in: record, of: referrer.kind).contains(entity)
  }

  /// Cancels the deletion of entities that a remaining entity refers to.
  mutating func keepWhatOthersNeed(_ entities: [EntityKey]) {
    let restored = Set(
      entities.flatMap { entity in
        targets.record(of: entity).map { targets.now.references(in: $0, of: entity.kind) } ?? []
      })
    var open = entities.filter { entity in
      goes(entity)
        && (restored.contains(entity)
          || targets.now.referrers(to: entity).contains { refers($0, to: entity) })
    }
    while let entity = open.popLast() {
      guard goes(entity), let record = targets.now.record(of: entity) else { continue }
      targets.set(entity, record)
      open += targets.now.references(in: record, of: entity.kind)
    }
  }
}

/// The later events of one entity that can conflict with a revert: all except the events to be reverted.
struct Touches {
  /// The later events, newest first.
  private let events: [LaterEvent]
  /// The events of the entity that each event reverts, by the revision of the reverting event.
  private let targets: [Revision: [Revision]]
  /// The events that changed a part, found once for all runs.
  private var eventsByPart: [FieldKey: [LaterEvent]] = [:]

  init(of events: [LaterEvent], own: Set<Revision>) {
    self.events = events.filter { !own.contains($0.revision) }
    var targets: [Revision: [Revision]] = [:]
    for event in events where !event.reverted.isEmpty {
      targets[event.revision] = events.map(\.revision).filter { event.reverted.contains($0) }
    }
    self.targets = targets
  }

  /// The events after a run.
  /// - Parameter part: a part that the events must have changed; nil for all events.
  mutating func later(than run: Run, touching part: FieldKey? = nil) -> ArraySlice<LaterEvent> {
    guard let part else { return events.prefix { $0.revision > run.last } }
    if eventsByPart[part] == nil { eventsByPart[part] = events.filter { $0.touches(part) } }
    return (eventsByPart[part] ?? []).prefix { $0.revision > run.last }
  }

  /// The events after a run that have not been reverted, newest first, and whether one of them has reverted the run.
  /// - Parameters:
  ///   - part: a part that the events must have changed; nil for all events.
  ///   - isAsLeft: whether the part, or the entity, is still as the run left it. If not, the newest event counts even
  ///     if reverts seem to have undone all events: some of these reverts may have overridden later edits.
  mutating func standing(
    since run: Run, touching part: FieldKey?, isAsLeft: Bool
  ) -> (isReverted: Bool, events: [LaterEvent]) {
    var reverted: Set<Revision> = []
    var standing: [LaterEvent] = []
    let asked = later(than: run, touching: part)
    for event in asked where !reverted.contains(event.revision) {
      if event.reverted.contains(run.last) { return (true, standing) }
      let targets = (targets[event.revision] ?? []).filter { $0 > run.last }
      // A revert of another entry that also changed this entity counts as an edit.
      if targets.isEmpty { standing.append(event) } else { reverted.formUnion(targets) }
    }
    if standing.isEmpty, !isAsLeft, let newest = asked.first { return (false, [newest]) }
    return (false, standing)
  }
}

typealias OwnEvent = (revision: Revision, event: JournalEvent)

/// Successive events of one entity in the entries to be reverted, treated as one change. No other event is in between,
/// and the same later entries have reverted all of them.
struct Run {
  let before: EntityRecord?
  var last: Revision
  var after: EntityRecord?
}

/// An entity that the entries to be reverted changed.
struct RevertedEntity {
  let entity: EntityKey
  /// The runs, oldest first.
  let runs: [Run]
  let touches: Touches
}
