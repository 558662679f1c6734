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

/// Keeps large entries in memory that were read repeatedly for events of single entities. So the undo of an import, for
/// example, does not read the import's whole entry for each of its entities. Also keeps the words of the newest entries.
///
/// 1. An entry is kept from its second read on, so a single lookup in a large entry costs no memory.
/// 2. A single entry is kept whatever its size, several up to `byteCount` together. The least recently used entry is
///    removed first. A removed entry is kept again only after many reads, because indexing takes longer than a search.
///
/// Safe to use from any thread.
final class RecentEntries: Sendable {
  private struct Contents {
    /// The entries, least recently used first.
    var entries: [IndexedEntry] = []
    /// The number of reads of large entries. At 2, an entry is kept. The count of a removed entry begins below 0.
    var readCounts: [Revision: Int] = [:]
    /// The words of the entries that no layer has.
    var words: RecentWords?
    /// The number of calls of `removeAll()`.
    var removalCount = 0
  }

  /// The fewest events of an entry to keep. To search a smaller entry takes little longer than to read it.
  private static var eventCount: Int { 64 }
  private static var byteCount: Int { 32 << 20 }
  private static var readCountAfterRemoval: Int { -16 }

  private let contents = Lock(Contents())

  /// The number of calls of ``removeAll()``. Read it before you read an entry for ``indexed(_:since:)``.
  var removalCount: Int { contents.withLock { $0.removalCount } }

  subscript(revision: Revision) -> IndexedEntry? {
    contents.withLock { contents in
      guard let place = contents.entries.lastIndex(where: { $0.revision == revision }) else { return nil }
      let entry = contents.entries.remove(at: place)
      contents.entries.append(entry)
      return entry
    }
  }

  /// Returns an index of the entry if the entry has many events and is read again; otherwise, the entry itself.
  /// - Parameter removalCount: the value of ``removalCount`` before the entry was read.
  func indexed(
    _ entry: EntryDecoder, since removalCount: Int
  ) throws(JournalError) -> any PastEntry {
    guard try entry.events().remaining >= Self.eventCount else { return entry }
    let isAgain = contents.withLock { contents in
      if contents.readCounts.count == 1024 { contents.readCounts = [:] }
      contents.readCounts[entry.revision, default: 0] += 1
      return contents.readCounts[entry.revision, default: 0] >= 2
    }
    // If a part of the entry is damaged, the index fails, but the other parts can still be searched.
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

  /// The words of entries that are in no layer with these indexes: those of the last search, or none.
  func words(_ definitions: [IndexDefinition], after start: Revision) -> RecentWords {
    let kept = contents.withLock { $0.words }
    if let kept, kept.start == start, kept.definitions == definitions { return kept }
    return RecentWords(definitions, after: start)
  }

  /// - Parameter removalCount: the value of ``removalCount`` before the words were read.
  func keep(_ words: RecentWords, since removalCount: Int) {
    contents.withLock { if $0.removalCount == removalCount { $0.words = words } }
  }

  /// Forgets all entries, because an erasure has removed content from the log.
  func removeAll() {
    contents.withLock { $0 = Contents(removalCount: $0.removalCount + 1) }
  }
}

/// An entry in memory with an index of its events by entity.
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
  /// Calls `body` with an entry, and then with the entry of the revision that `body` returns, until `body` returns nil.
  /// Takes entries from ``RecentEntries`` if they are there, and else from the log.
  func readBackCached(
    from revision: Revision, _ body: (any PastEntry) throws(JournalError) -> Revision?
  ) throws(JournalError) {
    // Both from one `OpenLog`, so that an entry of a replaced log is not kept with entries of the new log.
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
