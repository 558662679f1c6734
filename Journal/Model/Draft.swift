public import Foundation

/// What the body of a commit works on: the newest accepted state, and the events that change it.
///
/// Each change is applied at once, by the same code that replays the log, so the body sees what it has done.
/// A model gives its own verbs to the draft in an extension and checks its rules there:
///
/// ```swift
/// extension Draft where State == Ledger {
///   mutating func open(owner: String) throws -> Int { … try add(account, Record(["owner": .string(owner)])) … }
/// }
/// ```
public struct Draft<State: EventSourced>: ~Copyable {
  /// The newest accepted state with this draft's changes.
  public private(set) var state: State
  /// The revision that this draft will become.
  public let revision: Revision
  /// The date that its entry will have.
  public let date: Date

  private let base: Version<State>
  private var events: [Event] = []
  /// Where the event of an entity stands that was touched more than once; built when the first one is.
  private var indexes: [Entity: Int]?

  init(base: Version<State>, date: Date) {
    self.base = base
    state = base.state
    revision = base.revision + 1
    self.date = date
  }

  /// Adds an entity, or brings a deleted one back.
  /// - Throws: ``JournalError`` when it is there.
  public mutating func add(_ entity: Entity, _ record: Record) throws(JournalError) {
    try record.checkSize(entity, State.self)
    try change(entity, .add(record))
  }

  /// Makes an entity's record equal to another; what is recorded is the difference, and nothing when there
  /// is none.
  /// - Throws: ``JournalError`` when the entity is not there.
  public mutating func update(_ entity: Entity, to record: Record) throws(JournalError) {
    try record.checkSize(entity, State.self)
    guard let old = state.record(of: entity) else { throw absent(entity) }
    if let changes = old.changes(to: record) { try change(entity, .update(changes)) }
  }

  /// Deletes an entity. Its history stays.
  /// - Throws: ``JournalError`` when it is not there.
  public mutating func delete(_ entity: Entity) throws(JournalError) {
    guard state.record(of: entity) != nil else { throw absent(entity) }
    try change(entity, .delete)
  }

  private func absent(_ entity: Entity) -> JournalError {
    JournalError(.rejected, "\(State.name(of: entity)) is not there, so it can't be changed or deleted")
  }

  private mutating func change(_ entity: Entity, _ change: Event.Change) throws(JournalError) {
    let event = Event(entity: entity, previous: state.revision(of: entity), change: change)
    do {
      try state.apply(event, at: revision)
    } catch {
      // The log is not damaged: a caller asked for what can't be.
      throw JournalError(.rejected, error.message, cause: error.cause)
    }
    if event.previous == revision {
      coalesce(entity)
    } else {
      indexes?[entity] = events.count
      events.append(event)
    }
  }

  /// Within one entry an entity has at most one event: the difference between before and after.
  private mutating func coalesce(_ entity: Entity) {
    if indexes == nil {
      indexes = Dictionary(uniqueKeysWithValues: events.enumerated().map { ($1.entity, $0) })
    }
    let before = base.state.record(of: entity)
    let change: Event.Change? =
      switch (before, state.record(of: entity)) {
      case (nil, nil): nil
      case (nil, let after?): .add(after)
      case (_?, nil): .delete
      case (let before?, let after?): before.changes(to: after).map { .update($0) }
      }
    let index = indexes![entity]!
    // An event without effect keeps its place until the end, so that the indexes stay true.
    events[index] = Event(
      entity: entity, previous: base.state.revision(of: entity), change: change ?? .update(RecordChanges()))
  }

  /// The events, and the state that they make, exactly as a replay will make it.
  consuming func finish() throws(JournalError) -> (events: [Event], state: State) {
    guard indexes != nil else { return (events, state) }
    let nothing = Event.Change.update(RecordChanges())
    let effective = events.filter { $0.change != nothing }
    var replayed = base.state
    for event in effective { try replayed.apply(event, at: revision) }
    return (effective, replayed)
  }
}

extension Record {
  /// How many bytes the record of one entity may have.
  public static let byteLimit = 16 << 20

  fileprivate func checkSize<State: EventSourced>(_ entity: Entity, _: State.Type) throws(JournalError) {
    guard bytes.count > Self.byteLimit else { return }
    throw JournalError(
      .rejected,
      "\(State.name(of: entity)) would take \(bytes.count) bytes, and a record may have \(Self.byteLimit); "
        + "keep large data as an image")
  }
}
