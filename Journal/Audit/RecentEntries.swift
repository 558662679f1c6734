import Locks

protocol PastEntry {
  var revision: Revision { get }
  func header() throws(JournalError) -> EntryHeader
  /// The annotation, nil if it was erased.
  func annotation() throws(JournalError) -> EntryAnnotation?
  func event(of entity: EntityKey, _ upcast: EventUpcast) throws(JournalError) -> JournalEvent?
}

extension EntryDecoder: PastEntry {
  func event(of entity: EntityKey, _ upcast: EventUpcast) throws(JournalError) -> JournalEvent? {
    var events = try events()
    while let event = try events.nextUnchecked() {
      if event.entity == entity { return try event.checked(upcast) }
    }
    return nil
  }
}

/// The last entries with many events that were read more than once for events of single entities. They are kept in
/// memory, so that to undo an import, for example, does not read the whole entry for each of its entities.
///
/// 1. An entry is kept when it is read for the second time, so one lookup in a large entry costs no memory.
/// 2. One is kept whatever its size, and several up to `byteCount` together. The one that was used longest ago goes
///    first. It is kept again only after several reads, because indexing an entry takes longer than searching it.
///
/// Safe to use from any thread.
final class RecentEntries: Sendable {
  private struct Contents {
    /// The entries in the order of their last use.
    var entries: [IndexedEntry] = []
    /// How often large entries that are not kept were read. An entry is kept at 2; one that was removed starts below 0.
    var readCounts: [Revision: Int] = [:]
    /// How often everything was forgotten.
    var removalCount = 0
  }

  /// An entry with fewer events is searched instead, which takes little longer than reading it.
  private static var eventCount: Int { 64 }
  private static var byteCount: Int { 32 << 20 }
  private static var readCountAfterRemoval: Int { -16 }

  private let contents = Lock(Contents())

  /// To be read before an entry is read for ``indexed(_:since:)``.
  var removalCount: Int { contents.withLock { $0.removalCount } }

  subscript(revision: Revision) -> IndexedEntry? {
    contents.withLock { contents in
      guard let place = contents.entries.lastIndex(where: { $0.revision == revision }) else { return nil }
      let entry = contents.entries.remove(at: place)
      contents.entries.append(entry)
      return entry
    }
  }

  /// The entry from which to take events of single entities: an index if it has many events and is read again.
  /// - Parameter removalCount: ``removalCount`` before the entry was read.
  func indexed(
    _ entry: EntryDecoder, since removalCount: Int
  ) throws(JournalError) -> any PastEntry {
    guard try entry.events().remaining >= Self.eventCount else { return entry }
    let isAgain = contents.withLock { contents in
      if contents.readCounts.count == 1024 { contents.readCounts = [:] }
      contents.readCounts[entry.revision, default: 0] += 1
      return contents.readCounts[entry.revision, default: 0] >= 2
    }
    // If a part of the entry is damaged, the others can still be searched.
    guard isAgain, let indexed = try? IndexedEntry(entry) else { return entry }
    contents.withLock { contents in
      guard contents.removalCount == removalCount else { return }
      contents.entries.removeAll { $0.revision == indexed.revision }
      contents.entries.append(indexed)
      var excess = contents.entries.reduce(-Self.byteCount) { $0 + $1.byteCount }
      while excess > 0, contents.entries.count > 1 {
        let removed = contents.entries.removeFirst()
        contents.readCounts[removed.revision] = Self.readCountAfterRemoval
        excess -= removed.byteCount
      }
    }
    return indexed
  }

  /// Forgets all entries, because an erasure has removed content from the log.
  func removeAll() {
    contents.withLock { $0 = Contents(removalCount: $0.removalCount + 1) }
  }
}

/// An entry whose events are found by their entities.
final class IndexedEntry: PastEntry, Sendable {
  let revision: Revision
  let byteCount: Int
  private let entryHeader: EntryHeader
  private let entryAnnotation: EntryAnnotation?
  private let events: [EntityKey: UncheckedEvent]

  init(_ entry: EntryDecoder) throws(JournalError) {
    revision = entry.revision
    byteCount = entry.byteCount
    entryHeader = try entry.header()
    entryAnnotation = try entry.annotation()
    var decoder = try entry.events()
    var events: [EntityKey: UncheckedEvent] = [:]
    events.reserveCapacity(decoder.remaining)
    while let event = try decoder.nextUnchecked() {
      if events[event.entity] == nil { events[event.entity] = event }
    }
    self.events = events
  }

  func header() -> EntryHeader { entryHeader }
  func annotation() -> EntryAnnotation? { entryAnnotation }

  func event(of entity: EntityKey, _ upcast: EventUpcast) throws(JournalError) -> JournalEvent? {
    try events[entity]?.checked(upcast)
  }
}

extension Journal {
  /// Like `readBack` of the log, but an entry with many events is not read for each of its entities.
  func readBackCached(
    from revision: Revision, _ body: (any PastEntry) throws(JournalError) -> Revision?
  ) throws(JournalError) {
    // Together: an entry of a log that is being replaced must not be kept with those of the next one.
    let open = current.value
    let (log, recentEntries) = (open.log, open.recentEntries)
    var next: Revision? = revision
    while let wanted = next {
      if let entry = recentEntries[wanted] {
        next = try body(entry)
        continue
      }
      let removalCount = recentEntries.removalCount
      try log.readBack(from: wanted) { entry throws(JournalError) in
        next = try body(try recentEntries.indexed(entry, since: removalCount))
        return next.flatMap { recentEntries[$0] == nil ? $0 : nil }
      }
    }
  }
}
