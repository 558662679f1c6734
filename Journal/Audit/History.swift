public import Foundation

/// One event in the history of an entity, the entry it belongs to, and what it made of the entity.
public struct EntityChange: Sendable {
  /// The entry's number.
  public let revision: Revision
  /// The entry's date.
  public let date: Date
  /// Who made it.
  public let author: String
  /// Why.
  public let note: String
  /// What else the entry has with it, such as what it restored; see ``RestorePlan/metadata``.
  public let metadata: [String: String]
  /// What happened.
  public let event: Event
  /// The entity before the event; nil when it was not there.
  public let before: Record?
  /// The entity after the event; nil when it was deleted.
  public let after: Record?

  /// The parts that the event changed, with the old value and the new one of each.
  public var parts: [PartChange] { Record.differences(from: before, to: after) }
}

extension Journal {
  /// Everything that ever happened to an entity, the newest event first; empty when it never was.
  ///
  /// Each event names the one before it, so this follows a list through the log.
  /// - Parameter selector: what came later is left out.
  /// - Throws: ``JournalError`` with code `damaged` when an entry is missing or does not hold what is said of
  ///   it.
  /// - Complexity: O(h) reads of the log for h events, whatever the size of the journal.
  public func history(
    of entity: Entity, asOf selector: RevisionSelector = .head()
  ) throws -> [EntityChange] {
    var changes: [PastEvent] = []
    var revision = try newestEvent(of: entity, atOrBefore: try revision(at: selector))
    while revision > 0 {
      let change = try pastEvent(of: entity, at: revision)
      changes.append(change)
      revision = change.event.previous
    }
    // The values before an event are those that the events before it made, so the oldest comes first here.
    var record: Record?
    var history: [EntityChange] = []
    history.reserveCapacity(changes.count)
    for change in changes.reversed() {
      let before = record
      record = try change.event.change.applied(to: record, at: change.revision)
      history.append(change.entityChange(before: before, after: record))
    }
    return history.reversed()
  }
}

/// One event of an entity as the log has it, and what its entry says of itself.
struct PastEvent: Sendable {
  let revision: Revision
  let header: EntryHeader
  let event: Event

  func entityChange(before: Record?, after: Record?) -> EntityChange {
    EntityChange(
      revision: revision, date: header.date.date, author: header.author, note: header.note,
      metadata: header.metadata, event: event, before: before, after: after)
  }
}

extension Journal {
  /// The event that an entry has of an entity, with the entry's header.
  func pastEvent(of entity: Entity, at revision: Revision) throws(JournalError) -> PastEvent {
    let past = try log.read(revision) { entry throws(JournalError) -> PastEvent? in
      guard let event = try entry.event(of: entity) else { return nil }
      return PastEvent(revision: revision, header: try entry.header(), event: event)
    }
    guard let past, past.event.previous < revision else { throw lacksEvent(of: entity, at: revision) }
    return past
  }

  /// The event that an entry has of an entity.
  func event(of entity: Entity, at revision: Revision) throws(JournalError) -> Event {
    let event = try log.read(revision) { entry throws(JournalError) in try entry.event(of: entity) }
    guard let event, event.previous < revision else { throw lacksEvent(of: entity, at: revision) }
    return event
  }

  private func lacksEvent(of entity: Entity, at revision: Revision) -> JournalError {
    JournalError(
      .damaged, "the entry should hold an event of \(State.name(of: entity)) and does not",
      revision: revision)
  }

  /// The revision of the newest event that an entity had up to a revision, 0 when it had none.
  func newestEvent(of entity: Entity, atOrBefore revision: Revision) throws(JournalError) -> Revision {
    var found = state.revision(of: entity)
    while found > revision { found = try event(of: entity, at: found).previous }
    return found
  }
}

extension Event.Change {
  /// What the event makes of a record.
  /// - Throws: ``JournalError`` with code `damaged` for an update of what is not there.
  func applied(to record: Record?, at revision: Revision) throws(JournalError) -> Record? {
    switch self {
    case .add(let added): return added
    case .delete: return nil
    case .update(let changes):
      guard let record else {
        throw JournalError(.damaged, "an event changes what is not there", revision: revision)
      }
      return record.applying(changes)
    }
  }
}

extension EntryDecoder {
  /// The event of one entity, nil when the entry has none.
  func event(of entity: Entity) throws(JournalError) -> Event? {
    var events = try events()
    while let event = try events.nextUnchecked() {
      if event.entity == entity { return try event.checked() }
    }
    return nil
  }
}
