/// The scope of a restore.
public enum RestoreScope: Sendable {
  /// Some entities, with the entities that belong to them.
  case entities([EntityKey])
  /// Every entity that exists now, or existed at the point in time.
  case everything
}

extension Journal {
  /// Plans to restore entities, or everything, as of a point in time.
  ///
  /// A restored entity that was deleted since gets its old number. The entities that belong to it return too, and so do
  /// deleted entities that it refers to, with the entities that belong to these. An entity that was added since is
  /// deleted, with the entities that belong to it.
  ///
  /// Restoring an entity that did not exist at the point is usually a mistake. So if the scope names such an entity, or
  /// is everything at a point at which nothing existed, the additions are ``RestorePlan/conflicts`` of the plan. If the
  /// result would break a rule of the model, the plan has a ``RestorePlan/problem``.
  /// - Parameters:
  ///   - scope: what to restore.
  ///   - selector: the point in time.
  ///   - fields: the parts to restore, of entities that exist now and existed at the point; nil for all parts. Entities
  ///     that the scope names must exist now. The number of a field means a different field in each kind of entity.
  ///   - keepsNew: whether to keep entities and parts that were added since the point.
  ///   - deletesNew: whether to delete entities that the scope names and that did not exist at the point, instead of
  ///     reporting conflicts; with `everything`, whether to delete all entities if none existed.
  /// - Throws: ``JournalError`` with code `notFound` if the selector names no point in time, if an entity never
  ///   existed, if an entity's content at the point was erased, or if it is deleted and `fields` is not nil.
  /// - Complexity: as ``state(asOf:)``; for ``RestoreScope/everything``, as ``diff(from:to:)``.
  public func planRestore(
    of scope: RestoreScope, asOf selector: RevisionSelector, fields: Set<FieldKey>? = nil,
    keepsNew: Bool = false, deletesNew: Bool = false
  ) throws -> RestorePlan {
    let kinds = State.kindNames.indices.map { EntityKind(rawValue: UInt8($0)) }
    let fieldsByKind = fields.map { fields in Dictionary(uniqueKeysWithValues: kinds.map { ($0, fields) }) }
    return try planRestore(
      of: scope, asOf: selector, fieldsByKind: fieldsByKind, keepsNew: keepsNew,
      deletesNew: deletesNew)
  }

  /// Plans as ``planRestore(of:asOf:fields:keepsNew:deletesNew:)`` does, with the parts given for each kind of entity.
  /// - Parameter isGroup: whether the entities were named as a group, and not one by one. If some entities of a group
  ///   existed at the point, the others are deleted without a conflict.
  package func planRestore(
    of scope: RestoreScope, asOf selector: RevisionSelector,
    fieldsByKind fields: [EntityKind: Set<FieldKey>]?, keepsNew: Bool, deletesNew: Bool,
    isGroup: Bool = false
  ) throws -> RestorePlan {
    try settled {
      let newest = version
      let point = try revision(at: selector)
      guard point <= newest.revision else {
        throw JournalError(.notFound, "there is no revision \(point); the newest one is \(newest.revision)")
      }
      let now = newest.state
      let wasErased = { [self] (entity: EntityKey) in
        try isErased(entity, after: try newestEvent(of: entity, atOrBefore: point))
      }
      var targets: RestoreTargets<State>
      let selected: [(entity: EntityKey, past: EntityRecord?)]
      switch scope {
      case .everything:
        selected = try diff(from: .revision(newest.revision), to: .revision(point)).map {
          ($0.entity, $0.new)
        }
        targets = RestoreTargets(now: now) { [self] _ in try state(asOf: .revision(point)) }
      case .entities(let entities):
        let past = try state(asOf: .revision(point))
        for entity in entities where now.revision(of: entity) == 0 {
          throw JournalError(.notFound, "\(State.name(of: entity)) never existed in this journal")
        }
        for entity in entities where try wasErased(entity) {
          throw JournalError(
            .notFound,
            "\(State.name(of: entity)) can't be restored: its content at revision \(point) was erased"
          )
        }
        for entity in entities where fields != nil && now.record(of: entity) == nil {
          let end = now.isErased(entity) ? "erased" : "deleted by revision \(now.revision(of: entity))"
          throw JournalError(
            .notFound, "\(State.name(of: entity)) was \(end); restore it as a whole first")
        }
        let all = Self.withParts(entities, now: now, past: past)
        selected = all.sorted().map { ($0, past.record(of: $0)) }
        targets = RestoreTargets(now: now) { _ in past }
      }
      for (entity, past) in selected where State.isRestored(entity.kind) {
        let present = now.record(of: entity)
        if let fields {
          guard let past, let present else { continue }
          let changes = present.changes(to: past) { key in
            fields[entity.kind]?.contains(key) == true && !(keepsNew && past.value(of: key) == nil)
          }
          if let changes { targets.set(entity, present.applying(changes)) }
        } else if let past {
          guard keepsNew, let present else {
            targets.set(entity, past)
            continue
          }
          if let changes = present.changes(to: past, where: { past.value(of: $0) != nil }) {
            targets.set(entity, present.applying(changes))
          }
        } else if !keepsNew, try !wasErased(entity) {
          targets.set(entity, nil)
        }
      }
      try targets.complete()
      let changes = targets.changes
      try chain.faults.check()
      let coversEverything = if case .everything = scope { true } else { false }
      var edits = try laterEdits(lostBy: changes, since: point, on: Preview(newest))
      let deleted =
        deletesNew ? [] : Self.deletedUnasked(by: changes, of: now, scope, isGroup, asOf: point, selected)
      let additions = edits.filter { $0.operation == .add && deleted.contains($0.entity) }
      if !additions.isEmpty { edits.removeAll { deleted.contains($0.entity) } }
      let plan = RestorePlan(
        action: .restore(asOf: point), changes: changes, undoes: edits, conflicts: additions,
        note: Self.note(of: scope, asOf: point, fields, keepsNew: keepsNew),
        metadata: [RestoreMetadata.restores: "\(point)"], journal: id, head: newest.head,
        coversEverything: coversEverything)
      let checked = plan.checked(on: newest)
      try chain.faults.check()
      return checked
    }
  }

  /// The entities that the changes delete although the user may not expect it: those that the scope names and that did
  /// not exist at the point, or all if nothing existed.
  private static func deletedUnasked(
    by changes: [EntityDifference], of now: State, _ scope: RestoreScope, _ isGroup: Bool,
    asOf point: Revision, _ selected: [(entity: EntityKey, past: EntityRecord?)]
  ) -> Set<EntityKey> {
    var named: Set<EntityKey>
    switch scope {
    case .everything:
      // If the changes delete all entities, none existed.
      let all = (now.parts?.tables ?? []).enumerated().reduce(0) {
        $0 + (State.isRestored(EntityKind(rawValue: UInt8($1.offset))) ? $1.element.count : 0)
      }
      let isAll = changes.count == all && changes.allSatisfy { $0.new == nil }
      guard point == 0 || isAll else { return [] }
      named = Set(selected.map(\.entity))
    case .entities(let entities):
      named = Set(entities)
      let count = named.count
      for (entity, past) in selected where past != nil { named.remove(entity) }
      if isGroup, named.count < count { return [] }
    }
    return named.intersection(changes.filter { $0.new == nil }.map(\.entity))
  }

  /// The default note, such as `restored title, stars of item:1 as of revision 2`.
  private static func note(
    of scope: RestoreScope, asOf point: Revision, _ fields: [EntityKind: Set<FieldKey>]?, keepsNew: Bool
  ) -> String {
    func list(_ names: [String]) -> String {
      let shown = names.prefix(3).joined(separator: ", ")
      return names.count > 3 ? "\(shown) and \(names.count - 3) more" : shown
    }
    let subject: String
    var kinds = State.kindNames.indices.map { EntityKind(rawValue: UInt8($0)) }
    switch scope {
    case .everything: subject = "everything"
    case .entities(let entities):
      subject = entities.isEmpty ? "nothing" : list(entities.map { State.name(of: $0) })
      let present = Set(entities.map(\.kind))
      kinds.removeAll { !present.contains($0) }
    }
    let parts = fields.map { fields in
      Set(kinds.flatMap { kind in (fields[kind] ?? []).map { name(of: $0, of: kind) } }).sorted()
    }
    return "restored " + (parts.map { "\(list($0)) of " } ?? "") + "\(subject) as of revision \(point)"
      + (keepsNew ? ", keeping what was added since" : "")
  }

  private static func name(of part: FieldKey, of kind: EntityKind) -> String {
    switch part {
    case .attribute(let name): return String(name.prefix(80))
    case .field(let number):
      let names = State.fieldNames(of: kind)
      return Int(number) < names.count ? names[Int(number)] : "field \(number)"
    }
  }

  /// The entities, and all that depend on them now or did in the past.
  private static func withParts(_ entities: [EntityKey], now: State, past: State) -> Set<EntityKey> {
    var all = Set(entities)
    var open = entities
    while let entity = open.popLast() {
      for state in [now, past] {
        for referrer in state.referrers(to: entity) where !all.contains(referrer) {
          guard let record = state.record(of: referrer) else { continue }
          let isPart =
            State.references(in: record, of: referrer.kind).contains(entity)
            && State.record(record, of: referrer.kind, without: entity) == nil
          // A rule of the state may have deleted `referrer` together with `entity`.
          let wasDeletedToo =
            now.record(of: entity) == nil && now.record(of: referrer) == nil
            && now.record(record, of: referrer.kind, without: entity) == nil
          guard isPart || wasDeletedToo else { continue }
          all.insert(referrer)
          open.append(referrer)
        }
      }
    }
    return all
  }

  /// The edits after a revision that the given changes would undo, newest first.
  func laterEdits(
    lostBy changes: [EntityDifference], since revision: Revision, on preview: Preview<State>
  ) throws -> [LaterEdit] {
    var edits: [LaterEdit] = []
    for change in changes {
      let parts = Set(change.parts.map(\.key))
      for event in try laterEvents(of: change.entity, after: revision, on: preview) {
        if let edit = event.edit(of: change.operation == .update ? parts : nil) { edits.append(edit) }
      }
    }
    return edits.sorted { ($1.revision, $0.entity) < ($0.revision, $1.entity) }
  }

  /// The events of an entity after a revision, newest first.
  /// - Parameter preview: earlier plans, whose events are included.
  func laterEvents(
    of entity: EntityKey, after revision: Revision, on preview: Preview<State>
  ) throws -> [LaterEvent] {
    var events = preview.events(of: entity)
    let newest = preview.logged.revision(of: entity)
    guard newest > revision else { return events }
    try readBack(from: newest, over: entity) { past throws(JournalError) in
      events.append(LaterEvent(past))
      return past.event.previous > revision
    }
    return events
  }
}

/// The part of a later event that a plan needs. Values are left out, because a long history could fill the memory.
struct LaterEvent: Sendable {
  /// The event as an edit, with all parts that it changed.
  private let whole: LaterEdit
  private let isUpdate: Bool
  /// The revisions that the event's entry reverts; none if the entry is not a revert.
  let reverted: RangeSet<Revision>

  init(_ past: PastEvent) {
    var fields: [FieldKey] = []
    if case .update(let changes) = past.event.change {
      isUpdate = true
      changes.visitKeys { fields.append($0) }
    } else {
      isUpdate = false
    }
    let origin = past.origin
    reverted = origin.words.allReverted
    whole = LaterEdit(
      revision: origin.revision, date: origin.date.date, clockDate: origin.clockDate.date,
      author: origin.words.author, note: origin.words.note, isAnnotationErased: origin.annotation == nil,
      entity: past.event.entity, operation: past.event.operation, fields: fields)
  }

  var revision: Revision { whole.revision }

  /// Whether the event changed a part. Adds and deletions change all parts.
  func touches(_ key: FieldKey) -> Bool { !isUpdate || whole.fields.contains(key) }

  /// This event as an edit of the given parts (of all parts if nil); returns nil if the event changed none of them.
  func edit(of parts: Set<FieldKey>?) -> LaterEdit? {
    guard isUpdate else { return whole }
    var edit = whole
    edit.fields.removeAll { parts?.contains($0) == false }
    return edit.fields.isEmpty ? nil : edit
  }
}
