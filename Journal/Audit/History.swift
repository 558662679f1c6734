public import Foundation

/// One event in the history of an entity, the entry it belongs to, and what it made of the entity.
public struct EntityChange: Sendable {
  /// The entry's number.
  public let revision: Revision
  /// The entry's date.
  public let date: Date
  /// What the clock said, or who committed it.
  public let clockDate: Date
  /// Who made it.
  public let author: String
  /// Why.
  public let note: String
  /// Whether this is what the entity was when history before ``revision`` was pruned, whatever had happened to it by
  /// then. Its event adds what was there, author and note are empty, and nothing comes before it.
  public let isPruned: Bool
  /// Whether author, note and metadata have been erased. They are empty then.
  public let isAnnotationErased: Bool
  /// What else the entry has with it, such as what it restored; see ``RestorePlan/metadata``.
  public let metadata: [String: String]
  /// What happened.
  public let event: JournalEvent
  /// The entity before the event; nil if it was not there.
  public let before: EntityRecord?
  /// The entity after the event; nil if it was deleted, or what it was has been erased.
  public let after: EntityRecord?

  /// The parts that the event changed, with the old value and the new one of each.
  public var parts: [PartChange] { EntityRecord.differences(from: before, to: after) }
}

extension Journal {
  /// Everything that ever happened to an entity, the newest event first; empty when it never was. What was pruned is one
  /// change, the last.
  ///
  /// Each event names the one before it, so this follows a list through the log.
  /// - Parameter selector: what came later is left out.
  /// - Throws: ``JournalError`` with code `damaged` if an entry is missing or does not hold what is said of it.
  /// - Complexity: O(h) reads of the log for h events, whatever the size of the journal.
  public func history(
    of entity: EntityKey, asOf selector: RevisionSelector = .head()
  ) throws -> [EntityChange] {
    var changes: [PastEvent] = []
    var revision = try newestEvent(of: entity, atOrBefore: try revision(at: selector))
    while revision > 0 {
      let change = try pastEvent(of: entity, at: revision)
      changes.append(change)
      revision = change.event.previous
    }
    // The values before an event are those that the events before it made, so the oldest comes first here.
    var record: EntityRecord?
    var history: [EntityChange] = []
    history.reserveCapacity(changes.count)
    for change in changes.reversed() {
      let before = record
      record = change.event.change.applied(to: record)
      history.append(change.entityChange(before: before, after: record))
    }
    return history.reversed()
  }
}

/// One event of an entity as the log has it, and what its entry says of itself.
struct PastEvent: Sendable {
  let revision: Revision
  let header: EntryHeader
  /// What people said of the entry, nil if that was erased.
  let annotation: EntryAnnotation?
  let event: JournalEvent
  /// Whether this stands for all that was pruned.
  var isPruned = false

  /// What is left of what people said of the entry.
  var words: EntryAnnotation { annotation ?? EntryAnnotation() }

  func entityChange(before: EntityRecord?, after: EntityRecord?) -> EntityChange {
    EntityChange(
      revision: revision, date: header.date.date, clockDate: header.clockDate.date, author: words.author,
      note: words.note, isPruned: isPruned, isAnnotationErased: annotation == nil, metadata: words.metadata,
      event: event,
      before: before, after: after)
  }
}

extension Journal {
  /// The event that an entry has of an entity, with the entry's header.
  func pastEvent(of entity: EntityKey, at revision: Revision) throws(JournalError) -> PastEvent {
    if let base = format.base, revision <= base.head.revision { return try prunedEvent(of: entity, base) }
    let past = try log.read(revision) { entry throws(JournalError) -> PastEvent? in
      guard let event = try entry.event(of: entity, upcast) else { return nil }
      return PastEvent(
        revision: revision, header: try entry.header(), annotation: try entry.annotation(), event: event)
    }
    guard let past, past.event.previous < revision else { throw lacksEvent(of: entity, at: revision) }
    return past
  }

  /// What the base says of an entity, as one event that has made it so.
  private func prunedEvent(of entity: EntityKey, _ base: HistoryBase) throws(JournalError) -> PastEvent {
    let change: JournalEvent.Change? =
      switch try base.contents().row(of: entity, upcast) {
      case .there(let row): .add(row.record)
      case .gone(let deletion): deletion.isErased ? .erased(.add) : .delete
      case nil: nil
      }
    guard let change else { throw lacksEvent(of: entity, at: base.head.revision) }
    return PastEvent(
      revision: base.head.revision,
      header: EntryHeader(
        date: base.head.timestamp, clockDate: base.head.timestamp, schemaVersion: upcast.schema.version,
        previousDigest: base.head.digest, checkpointRevision: nil),
      annotation: EntryAnnotation(), event: JournalEvent(entity: entity, previous: 0, change: change),
      isPruned: true
    )
  }

  /// The event that an entry has of an entity.
  func event(of entity: EntityKey, at revision: Revision) throws(JournalError) -> JournalEvent {
    let event = try log.read(revision) { entry throws(JournalError) in try entry.event(of: entity, upcast) }
    guard let event, event.previous < revision else { throw lacksEvent(of: entity, at: revision) }
    return event
  }

  private func lacksEvent(of entity: EntityKey, at revision: Revision) -> JournalError {
    JournalError(
      .damaged, "the entry should hold an event of \(State.name(of: entity)) and does not",
      revision: revision)
  }

  /// The revision of the newest event that an entity had up to a revision, 0 when it had none. Its entry may have been
  /// pruned.
  func newestEvent(of entity: EntityKey, atOrBefore revision: Revision) throws(JournalError) -> Revision {
    var found = state.revision(of: entity)
    while found > max(revision, format.head.revision) { found = try event(of: entity, at: found).previous }
    return found
  }
}

extension JournalEvent.Change {
  /// What the event makes of a record: nothing is left of one that was erased, whatever changes it afterwards.
  func applied(to record: EntityRecord?) -> EntityRecord? {
    switch self {
    case .add(let added): added
    case .delete, .erased: nil
    case .update(let changes): record?.applying(changes)
    }
  }
}

extension EntryDecoder {
  /// The event of one entity, nil if the entry has none.
  func event(of entity: EntityKey, _ upcast: EventUpcast) throws(JournalError) -> JournalEvent? {
    var events = try events(upcast)
    while let event = try events.nextUnchecked() {
      if event.entity == entity { return try event.checked(upcast) }
    }
    return nil
  }
}
