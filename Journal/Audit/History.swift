public import Foundation

/// One event in the history of an entity, with its entry and its effect.
public struct EntityChange: Sendable {
  /// The entry's number.
  public let revision: Revision
  /// The entry's date.
  public let date: Date
  /// The date that the clock or the caller gave to the commit.
  public let clockDate: Date
  /// Who made the entry.
  public let author: String
  /// Why the entry was made.
  public let note: String
  /// Whether this change stands for all pruned history of the entity. If so, ``revision`` is the point of pruning, and
  /// the event adds the entity as it was then, or deletes it if it was deleted. Author and note are empty.
  public let isPruned: Bool
  /// Whether author, note and metadata have been erased, and are therefore empty.
  public let isAnnotationErased: Bool
  /// The metadata of the entry. The metadata of a restore names its source: see ``RestorePlan/metadata``.
  public let metadata: [String: String]
  /// The event.
  public let event: JournalEvent
  /// The revision of the entity's change before this one; 0 if there is none. If the earlier change was pruned, the
  /// point of pruning. Pass it to ``Journal/history(of:asOf:limit:)`` to read the earlier history.
  public let previous: Revision
  let version: RecordVersion

  /// The entity before the event; nil if it did not exist.
  /// - Complexity: O(n) in the bytes of the record.
  public var before: EntityRecord? { version.record }

  /// The entity after the event; nil if it was deleted or erased.
  /// - Complexity: O(n) in the bytes of the record.
  public var after: EntityRecord? { event.change.applied(to: version.record) }

  /// The parts that the event changed, with their old and new values.
  /// - Complexity: for an update, O(n) in the number of parts and the bytes of the changed ones.
  public var parts: [PartChange] {
    guard case .update(let update) = event.change else {
      return EntityRecord.differences(from: before, to: after)
    }
    return version.parts(changedBy: update)
  }

  /// The record to make a label from: after the event or before a deletion, without large attributes.
  package var labelRecord: EntityRecord? {
    event.change.applied(to: version.labelRecord) ?? version.labelRecord
  }

  /// The number of bytes in memory that this change does not share with an earlier change.
  package var byteCount: Int { version.byteCount + event.payload.count }
}

extension Journal {
  /// The history of an entity, newest change first; empty if it never existed. Pruned history is one change, the last.
  ///
  /// Each event has the revision of the previous one, so the call follows a linked list through the log. To read a long
  /// history in parts, pass ``EntityChange/previous`` of the last change as the next `selector`, until it is 0.
  /// - Parameters:
  ///   - entity: the entity.
  ///   - selector: the point in time at which the history ends.
  ///   - limit: the most changes to return, newest first.
  /// - Throws: ``JournalError``: `notFound` if the selector names no point in time, `damaged` if an entry is missing or
  ///   lacks the expected event.
  /// - Complexity: O(n + m) reads of the log for n returned changes and the m events that the entity has between two
  ///   checkpoints of the layers, whatever the size of the journal and the length of the history.
  public func history(
    of entity: EntityKey, asOf selector: RevisionSelector = .head(), limit: Int = .max
  ) throws -> [EntityChange] {
    try history(of: entity, asOf: selector, limit: limit, byteLimit: .max)
  }

  /// The history of an entity in parts of limited size.
  /// - Parameter byteLimit: the most bytes that the returned changes hold together, unless one change alone has more.
  ///   So there may be more changes even if fewer than `limit` are returned.
  package func history(
    of entity: EntityKey, asOf selector: RevisionSelector, limit: Int, byteLimit: Int
  ) throws -> [EntityChange] {
    try settled {
      guard limit > 0 else { return [] }
      var events: [PastEvent] = []
      let newest = try newestEvent(of: entity, atOrBefore: try revision(at: selector))
      var payloadByteCount = 0
      try readBack(from: newest, over: entity) { event throws(JournalError) in
        events.append(event)
        payloadByteCount += event.event.payload.count
        return events.count < limit && payloadByteCount < byteLimit
      }
      // From oldest to newest, because the record before an event follows from the earlier events.
      var version = RecordVersion(try row(of: entity, after: events.last?.event.previous ?? 0)?.record)
      var history: [EntityChange?] = []
      history.reserveCapacity(events.count)
      // The oldest changes are dropped again if newer changes fill `byteLimit`.
      var (start, byteCount) = (0, 0)
      for event in events.reversed() {
        let change = event.entityChange(of: version, pruned: format.head.revision)
        version.apply(event.event.change)
        history.append(change)
        byteCount += change.byteCount
        while byteCount > byteLimit, start < history.count - 1 {
          byteCount -= history[start]?.byteCount ?? 0
          history[start] = nil
          start += 1
        }
      }
      return history[start...].reversed().compactMap { $0 }
    }
  }
}

/// Who made an entry, when and why.
struct EntryOrigin: Sendable {
  let revision: Revision
  let date: Timestamp
  let clockDate: Timestamp
  /// Nil if the annotation was erased.
  let annotation: EntryAnnotation?
  /// Whether this stands for entries that were pruned.
  var isPruned = false

  var words: EntryAnnotation { annotation ?? EntryAnnotation() }
}

struct PastEvent: Sendable {
  let origin: EntryOrigin
  let event: JournalEvent

  /// - Parameters:
  ///   - version: the entity before the event.
  ///   - pruned: the revision before which history was pruned, 0 if none was.
  func entityChange(of version: RecordVersion, pruned: Revision) -> EntityChange {
    EntityChange(
      revision: origin.revision, date: origin.date.date, clockDate: origin.clockDate.date,
      author: origin.words.author, note: origin.words.note, isPruned: origin.isPruned,
      isAnnotationErased: origin.annotation == nil, metadata: origin.words.metadata, event: event,
      previous: event.previous == 0 ? 0 : max(event.previous, pruned), version: version)
  }
}

extension Journal {
  /// Calls `body` with the events of an entity, backwards from the event at `revision`, until `body` returns false or
  /// no event is left. All pruned history is one event, the last.
  func readBack(
    from revision: Revision, over entity: EntityKey, _ body: (PastEvent) throws(JournalError) -> Bool
  ) throws(JournalError) {
    try walkBack(from: revision, over: entity, asksLayers: false) { step throws(JournalError) in
      var origin = EntryOrigin(
        revision: format.head.revision, date: format.head.timestamp, clockDate: format.head.timestamp,
        annotation: EntryAnnotation(), isPruned: true)
      if let entry = step.entry {
        let header = try entry.header()
        origin = EntryOrigin(
          revision: step.revision, date: header.date, clockDate: header.clockDate,
          annotation: try entry.annotation())
      }
      return try body(PastEvent(origin: origin, event: step.event))
    }
  }

  func event(of entity: EntityKey, in entry: any PastEntry) throws(JournalError) -> JournalEvent {
    guard let event = try entry.event(of: entity, upcast), event.previous < entry.revision else {
      throw lacksEvent(of: entity, at: entry.revision)
    }
    return event
  }

  func lacksEvent(of entity: EntityKey, at revision: Revision) -> JournalError {
    JournalError(
      .damaged, "the entry should hold an event of \(State.name(of: entity)) and does not",
      revision: revision)
  }

  /// The revision of an entity's newest event at or before a revision, even if it was pruned; 0 if there is none.
  func newestEvent(of entity: EntityKey, atOrBefore revision: Revision) throws(JournalError) -> Revision {
    var found = state.revision(of: entity)
    try chain.faults.check()
    let end = max(revision, format.head.revision)
    var steps = 0
    while found > end {
      if steps == Self.stepsBeforeLayers, let known = try newestEvent(of: entity, atCheckpointAfter: end) {
        found = min(found, known)
        if found <= end { break }
      }
      try readBackCached(from: found) { entry throws(JournalError) in
        found = try event(of: entity, in: entry).previous
        steps += 1
        return found > end && steps != Self.stepsBeforeLayers ? found : nil
      }
    }
    return found
  }

  /// The number of events to follow back before layers are read. Reading a layer takes longer than a few steps.
  static var stepsBeforeLayers: Int { 64 }

  /// The revision at which an entity last changed, as of the oldest checkpoint at or after `revision`; 0 if the entity
  /// never changed, nil if there is no such checkpoint.
  private func newestEvent(
    of entity: EntityKey, atCheckpointAfter revision: Revision
  ) throws(JournalError) -> Revision? {
    guard let checkpoint = chain.checkpoint(atOrAfter: revision) else { return nil }
    let start: ReplayStart<State> = chain.start(atOrBefore: checkpoint)
    guard start.revision == checkpoint else { return nil }
    let newest = start.state.revision(of: entity)
    try chain.faults.check()
    return newest
  }
}

extension JournalEvent.Change {
  /// The record after the event. An erased record stays erased, whatever changes it afterwards.
  package func applied(to record: EntityRecord?) -> EntityRecord? {
    switch self {
    case .add(let added): added
    case .delete, .erased: nil
    case .update(let changes): record?.applying(changes)
    }
  }
}
