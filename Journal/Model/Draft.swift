package import CBOR
public import Foundation

/// What the body of a commit works on: the newest accepted state, and the events that change it.
///
/// Each change is applied at once, by the code that also replays the log, so the body sees its own changes. A draft
/// refuses changes that the log could not reproduce, so every later opening accepts what a draft accepts.
///
/// If the body throws, nothing is written. If it catches an error and returns, the changes made before the error are
/// committed. So a method that makes several changes should check everything before the first.
///
/// ``add(_:_:)``, ``update(_:to:)`` and ``delete(_:)`` handle records without knowing their meaning. A model builds its
/// own methods from them in an extension, for apps to call, and checks in ``EventSourced/problems(after:)`` what must
/// hold however a change is made:
///
/// ```swift
/// extension Draft where State == Ledger {
///   mutating func open(owner: String) throws -> Int { … try add(account, EntityRecord(["owner": .string(owner)])) … }
/// }
/// ```
public struct Draft<State: EventSourced>: ~Copyable {
  /// The newest accepted state with this draft's changes.
  public private(set) var state: State
  /// The revision that this draft will become.
  public let revision: Revision
  /// The date that the entry of this draft will have.
  public let date: Date

  private let base: Version<State>
  private var events: [JournalEvent] = []
  /// Whether `state` may differ from the result of `events`, because the model threw while it applied an event.
  private var isInDoubt = false
  /// Whether `events` are exactly those of a plan, whose check has found that they keep the rules of the model.
  private var isChecked = false
  /// Why this draft can't be committed any more.
  private var failure: JournalError?
  /// The position of each entity's event. Nil until an entity is changed a second time.
  private var indexes: [EntityKey: Int]?
  /// The entities whose updates are committed even if they change nothing.
  private var touched: Set<EntityKey> = []
  /// The journal that the draft is for; nil for a preview.
  private let journal: JournalID?
  /// Knows the erasures of that journal.
  let chain: LayerChain?
  /// The plans that were applied to this draft.
  private(set) var plans: [RestorePlan] = []

  init(base: Version<State>, date: Date, journal: JournalID? = nil, chain: LayerChain? = nil) {
    self.base = base
    self.journal = journal
    self.chain = chain
    state = base.state
    revision = base.revision + 1
    self.date = date
  }

  /// Makes the changes of a plan. A body can add changes of its own to an undo or a restore, or throw to refuse it.
  ///
  /// ```swift
  /// let plan = try journal.planUndo(by: "ana")!
  /// try journal.commit(by: "ana") { draft in
  ///   try draft.apply(plan)
  ///   try draft.updateItem(7, set: ["checked": .date(.now)])
  /// }
  /// ```
  /// The entry gets the plan's metadata, and also the plan's note unless the commit has one.
  /// - Throws: ``JournalError`` with code `conflict` if the plan has conflicts, or if a later entry changed an entity
  ///   that the plan depends on; `wrongUse` if the plan was made for another journal.
  public mutating func apply(_ plan: RestorePlan) throws(JournalError) {
    // A copy with other entries since has the same id, but other digests.
    let isOwn =
      plan.basis < base.revision || plan.basis == base.revision && plan.head.digest == base.head.digest
    guard journal == nil || journal == plan.journal && isOwn else {
      throw JournalError(.wrongUse, "the plan was made for another journal; plan it again with this journal")
    }
    try make(plan)
    plans.append(plan)
  }

  /// Whether a plan was made of the version that this draft begins with, and nothing is changed yet.
  func isBase(of plan: RestorePlan) -> Bool { plan.head == base.head && events.isEmpty && !isInDoubt }

  /// Takes over the events that a plan has made of the same version already. Returns false, and changes nothing, if this
  /// draft has another base or other events.
  mutating func start(with result: PlanResult<State>) -> Bool {
    guard result.base.box === base.box, events.isEmpty, !isInDoubt else { return false }
    (events, state, isChecked) = (result.events, result.state, true)
    return true
  }

  /// Adds an entity, or restores a deleted one.
  /// - Throws: ``JournalError`` with code `rejected` if the entity exists, if its kind or number is invalid, or if the
  ///   record is too large or nested too deep.
  public mutating func add(_ entity: EntityKey, _ record: EntityRecord) throws(JournalError) {
    try record.check(entity, State.self)
    try change(entity, .add(record))
  }

  /// Adds an entity from fields that the model has just encoded. If they are valid, they are not read again to check
  /// them, which saves time when a model adds many entities.
  package mutating func add(_ entity: EntityKey, _ fields: consuming FieldMapBuilder) throws(JournalError) {
    let isValid = fields.isValid
    let record = fields.record()
    if isValid {
      assert((try? record.checkEncoding()) != nil)
      try record.checkSize(entity, State.self)
    } else {
      try record.check(entity, State.self)
    }
    try change(entity, .add(record))
  }

  /// Changes an entity's record to another one. Only the difference is recorded; if the records are equal, nothing is.
  /// - Throws: ``JournalError`` with code `rejected` if the entity does not exist, or the record is too large or nested
  ///   too deep.
  public mutating func update(_ entity: EntityKey, to record: EntityRecord) throws(JournalError) {
    try record.check(entity, State.self)
    guard let old = state.record(of: entity) else { throw absent(entity) }
    if let changes = old.changes(to: record) { try change(entity, .update(changes)) }
  }

  /// Adds an update without changes, for an entry that concerns an entity but does not change it.
  package mutating func touch(_ entity: EntityKey) throws(JournalError) {
    guard state.record(of: entity) != nil else { throw absent(entity) }
    touched.insert(entity)
    try change(entity, .update(RecordChanges()))
  }

  /// Deletes an entity. Its history stays.
  /// - Throws: ``JournalError`` with code `rejected` if the entity does not exist.
  public mutating func delete(_ entity: EntityKey) throws(JournalError) {
    guard state.record(of: entity) != nil else { throw absent(entity) }
    try change(entity, .delete)
  }

  private func absent(_ entity: EntityKey) -> JournalError {
    JournalError(.rejected, "\(State.name(of: entity)) does not exist, so it can't be changed or deleted")
  }

  private mutating func change(_ entity: EntityKey, _ change: JournalEvent.Change) throws(JournalError) {
    guard Int(entity.kind.rawValue) < State.kindNames.count, EntityKey.numbers.contains(entity.number) else {
      throw JournalError(
        .rejected,
        "\(State.name(of: entity)) is not a valid name: the kinds of \(State.schema) are "
          + "\(State.kindNames.joined(separator: ", ")), and numbers go from 1 to \(EntityKey.numbers.upperBound)"
      )
    }
    let event = JournalEvent(entity: entity, previous: state.revision(of: entity), change: change)
    isChecked = false
    do {
      try state.apply(event, at: revision)
    } catch {
      // The model may have changed a part of the state before it threw.
      isInDoubt = true
      // The log is not damaged: the caller asked for an impossible change.
      throw JournalError(.rejected, error.message, cause: error.cause)
    }
    guard state.revision(of: entity) == revision else {
      throw fail("does not say that revision \(revision) changed \(State.name(of: entity)), though it did")
    }
    if event.previous == revision {
      try coalesce(entity)
    } else {
      indexes?[entity] = events.count
      events.append(event)
    }
  }

  /// Records a mistake in the model, so that the draft can't be committed, and returns the error.
  private mutating func fail(_ mistake: String) -> JournalError {
    let error = JournalError(
      .wrongUse,
      "\(State.self) \(mistake); an event changes the entity that it names, and no other")
    failure = error
    return error
  }

  /// Merges the entity's changes into one event: an entry has at most one event of each entity.
  private mutating func coalesce(_ entity: EntityKey) throws(JournalError) {
    if indexes == nil {
      indexes = Dictionary(uniqueKeysWithValues: events.enumerated().map { ($1.entity, $0) })
    }
    guard let index = indexes?[entity] else {
      throw fail("changed \(State.name(of: entity)) by an event of another entity")
    }
    let before = base.state.record(of: entity)
    let change: JournalEvent.Change? =
      switch (before, state.record(of: entity)) {
      case (nil, nil): nil
      case (nil, let after?): .add(after)
      case (_?, nil): .delete
      case (let before?, let after?): before.changes(to: after).map { .update($0) }
      }
    // An event without effect stays in `events` until `finish`, so that `indexes` stay valid.
    events[index] = JournalEvent(
      entity: entity, previous: base.state.revision(of: entity), change: change ?? .update(RecordChanges()))
  }

  /// Ends the draft, and returns the events with the state that a replay makes of them.
  /// - Throws: ``JournalError``: `rejected` if the events together break a rule of the model, `wrongUse` if it made a
  ///   mistake.
  consuming func finish() throws(JournalError) -> (events: [JournalEvent], state: State) {
    if let failure { throw failure }
    if indexes != nil || isInDoubt {
      let nothing = JournalEvent.Change.update(RecordChanges())
      events = events.filter {
        $0.change != nothing || touched.contains($0.entity) && base.state.record(of: $0.entity) != nil
      }
      state = base.state
      do throws(JournalError) {
        for event in events { try state.apply(event, at: revision) }
      } catch {
        throw JournalError(.rejected, error.message, cause: error.cause)
      }
    }
    let problem =
      (isChecked ? nil : state.problems(after: events, since: base.state).first)
      ?? state.problemsByAdditions(after: events, since: base.state).first
    if let problem { throw JournalError(.rejected, problem) }
    return (events, state)
  }
}

extension EntityRecord {
  /// The most bytes of an entity's record.
  public static let byteLimit = 16 << 20

  fileprivate func checkSize<State: EventSourced>(_ entity: EntityKey, _: State.Type) throws(JournalError) {
    guard bytes.count <= Self.byteLimit else {
      throw JournalError(
        .rejected,
        "\(State.name(of: entity)) would take \(bytes.count) bytes, and a record may have \(Self.byteLimit); "
          + "keep large data as an image")
    }
  }

  /// Fails unless the log can reproduce exactly this record.
  fileprivate func check<State: EventSourced>(_ entity: EntityKey, _: State.Type) throws(JournalError) {
    try checkSize(entity, State.self)
    do throws(CBORError) {
      try checkEncoding()
    } catch {
      let part: String =
        switch key(at: error.offset) {
        case .attribute(let name): "the attribute \"\(name)\" of \(State.name(of: entity))"
        case .field(let number): "the field \(number) of \(State.name(of: entity))"
        case nil: "the record of \(State.name(of: entity))"
        }
      let reason =
        error.code == .tooDeep
        ? "is nested more than \(CBORLimits.depth - 1) deep"
        : "can't be kept: fields have the numbers 0 to 23, each once"
      throw JournalError(.rejected, "\(part) \(reason)", cause: error)
    }
  }
}
