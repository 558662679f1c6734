extension Journal {
  /// The entry of a revision.
  /// - Throws: ``JournalError`` with code `notFound` if there is none, `pruned` if it was pruned.
  /// - Complexity: O(1) reads of the log.
  public func entry(at revision: Revision) throws -> Entry {
    try settled {
      let newest = head.revision
      guard revision > 0, revision <= newest else {
        throw JournalError(.notFound, "there is no entry \(revision); the journal has entries 1 to \(newest)")
      }
      if let base = format.base, revision <= base.head.revision {
        throw base.pruned("there is no entry \(revision) any more")
      }
      return try log.read(revision) { entry throws(JournalError) in try entry.entry(journal: id, upcast) }
    }
  }

  /// Streams the entries of a range: memory does not grow with its length.
  ///
  /// ```swift
  /// let cursor = journal.entries(newestFirst: true)
  /// while let entry = try cursor.next() { print(entry.revision, entry.note) }
  /// ```
  /// - Parameters:
  ///   - range: the revisions; nil for all entries. Revisions outside of the journal are ignored.
  ///   - newestFirst: whether the newest entry comes first.
  public func entries(_ range: ClosedRange<Revision>? = nil, newestFirst: Bool = false) -> EntryCursor {
    let (newest, current) = (head.revision, current)
    return EntryCursor(
      id, upcast, range, first: format.head.revision + 1, newest: newest, newestFirst: newestFirst
    ) {
      let (count, open) = (current.settledCount(), current.value)
      return (open.log, open.format, count)
    }
  }
}

/// Iterates over entries. Used by one thread at a time.
public final class EntryCursor {
  typealias Source = (log: any EntryLog, format: JournalFormat, replacementCount: Int)

  /// Entries are fetched in pieces of about this many bytes, or this many entries. The first piece is small, because the
  /// newest few entries are asked for most often, and each further piece is larger.
  private static let chunkByteCount = 1 << 20
  private static let chunkCounts = (first: 32, growth: 4, last: 1000)

  /// The log that the journal has now.
  private let source: @Sendable () -> Source
  private let id: JournalID
  private let upcast: EventUpcast
  private let newestFirst: Bool
  private var remaining: ClosedRange<Revision>?
  private var chunkCount = chunkCounts.first
  /// The fetched entries that were not returned yet, the next one last.
  private var fetched: [Entry] = []

  init(
    _ id: JournalID, _ upcast: EventUpcast, _ range: ClosedRange<Revision>?, first: Revision,
    newest: Revision, newestFirst: Bool,
    of source: @escaping @Sendable () -> Source
  ) {
    let first = max(range?.lowerBound ?? 1, first)
    let last = min(range?.upperBound ?? newest, newest)
    self.id = id
    self.source = source
    self.upcast = upcast
    remaining = first <= last ? first...last : nil
    self.newestFirst = newestFirst
  }

  /// The next entry, nil after the last.
  /// - Throws: ``JournalError`` with code `damaged` at an entry that is missing or altered, `pruned` at one that was
  ///   pruned since the cursor was made.
  public func next() throws -> Entry? {
    if fetched.isEmpty { try fetch() }
    return fetched.popLast()
  }

  private func fetch() throws(JournalError) {
    while true {
      let (log, format, count) = source()
      do throws(JournalError) { return try fetch(log, format) } catch {
        // The log was closed because another one has replaced it.
        if source().replacementCount == count { throw error }
      }
    }
  }

  private func fetch(_ log: any EntryLog, _ format: JournalFormat) throws(JournalError) {
    guard var range = remaining else { return }
    if let base = format.base, range.lowerBound <= base.head.revision {
      let first = base.head.revision + 1
      guard newestFirst, range.upperBound >= first else {
        throw base.pruned("there is no entry \(newestFirst ? range.upperBound : range.lowerBound) any more")
      }
      range = first...range.upperBound
    }
    var expected = newestFirst ? range.upperBound : range.lowerBound
    let step = newestFirst ? -1 : 1
    var byteCount = 0
    var entries: [Entry] = []
    do throws(JournalError) {
      try unsafe log.read(range, newestFirst: newestFirst) { revision, bytes throws(JournalError) in
        guard revision == expected else { throw JournalError.missing(expected) }
        entries.append(try unsafe EntryDecoder(bytes, revision: revision).entry(journal: id, upcast))
        expected += step
        byteCount += bytes.count
        return byteCount < Self.chunkByteCount && entries.count < chunkCount
      }
    } catch {
      // The entries before a damaged one come first.
      guard error.code == .damaged, !entries.isEmpty else { throw error }
    }
    guard !entries.isEmpty else { throw JournalError.missing(expected) }
    if newestFirst {
      // From the end that was asked for, so that a pruned entry is an error.
      remaining = remaining.flatMap { expected >= $0.lowerBound ? $0.lowerBound...expected : nil }
    } else {
      remaining = expected <= range.upperBound ? expected...range.upperBound : nil
    }
    fetched = entries.reversed()
    chunkCount = min(chunkCount * Self.chunkCounts.growth, Self.chunkCounts.last)
  }
}
