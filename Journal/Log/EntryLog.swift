/// Entries that can be read in order: an open log, or a log that several nodes share.
package protocol EntrySource: Sendable {
  /// Calls `body` with each stored entry whose revision is in the range, in order, until `body` returns false. The
  /// bytes are valid during the call.
  func read(
    _ range: ClosedRange<Revision>,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError)

  /// The highest durable revision. If it is not above `revision`, the call first waits until it is, but at most for
  /// `time`.
  func newestRevision(after revision: Revision, waitingAtMost time: Duration) throws(JournalError) -> Revision
}

/// An open log: the ordered entries of one journal, and everything that the engine requires of a log.
///
/// A ``LogStorage`` opens it. A log stores bytes under consecutive revisions, from ``LogPlace/firstRevision`` on, and
/// does not interpret them. Entries never change and are never removed. All calls may be made from many threads at
/// once, but the engine makes no second `append` before the first has returned.
///
/// A log makes errors with `JournalError(code, message, revision:, path:)`, and with `.closed(path:)` and
/// `.logIsReadOnly(path:)`. ``OpenCalls`` counts the calls in progress for ``close()``, and ``NewestRevision`` is what
/// ``newestRevision(after:waitingAtMost:)`` waits for. A log that needs a thread gets it from `Threads`, and waits with
/// `TimedSemaphore`, whose timeouts do not change when the clock is set.
///
/// `Tests/JournalingTests/Logs/LogContract.swift` tests every log. `LogKind.swift` there shows how to add one, and
/// `FolderLog.swift` is a small log.
package protocol EntryLog: EntrySource {
  /// The limits of the log. Constant while it is open.
  var limits: LogLimits { get }

  /// Whether opening ignored a torn tail that was never acknowledged. The engine reports it through
  /// ``JournalOptions/log``. While another process is writing, an entry that is not whole yet is no torn tail. Constant
  /// while the log is open.
  var hasTornTail: Bool { get }

  /// The newest acknowledged entry, by a mark that is stored apart from the entries; nil if the storage itself reports
  /// the loss of its newest entries.
  ///
  /// Each call reads the stored mark, so that verification finds damage in it. If another process has appended entries
  /// that this log does not show yet, the stored mark may be newer than all shown entries. The call then returns an
  /// older mark, such as that of the opening. After an append, the mark is that of its last entry; after a crash it may
  /// lag behind the entries, until ``beginWriting()`` raises it. Before the first entry, it is nil, or has the revision
  /// and the digest of ``LogPlace/head``. The engine reads the mark at opening and verification: if the entry of the
  /// mark is missing or different, the journal is damaged.
  /// - Throws: ``JournalError`` with code `damaged` if the mark is missing or unreadable, or another journal's.
  func acknowledged() throws(JournalError) -> LogMark?

  /// Calls `body` with each stored entry whose revision is in the range, in order or in reverse, until `body` returns
  /// false. The bytes are valid during the call.
  ///
  /// A log need not check for gaps. It passes only durable entries, none above
  /// ``newestRevision(after:waitingAtMost:)``, and may include entries that are appended during the call. If another
  /// process was writing when the log was opened for reading, entries after the mark may not be durable, so they are
  /// not passed. If no process was, all whole entries are passed. To find out, a reader may take the log's own lock for
  /// a moment; a writer then tries again for some milliseconds. `body` may make any call, even `append`, except
  /// `close`, which waits for this call.
  /// - Throws: ``JournalError``: `damaged` with the revision if the bytes of an entry are known to be altered, or
  ///   `closed`; or what `body` throws, unchanged.
  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError)

  /// Returns the highest durable revision, or that of ``LogPlace/head`` if there are no entries. If the result would
  /// not be above `revision`, the call first waits for a newer entry, but at most for `time`.
  ///
  /// Readers learn of new entries only from this call. A follower's `read` passes no entry above the highest revision
  /// that this call has returned. With access `follow`, new entries are those of any writer, some milliseconds after
  /// they were stored; with `write`, those that this log has appended. With `read`, no entry is added, so the call waits
  /// for `time`.
  /// - Throws: ``JournalError`` with code `closed` if the log is closed before or during the call.
  func newestRevision(after revision: Revision, waitingAtMost time: Duration) throws(JournalError) -> Revision

  /// Enables appending. The engine calls this once, on a log that was opened with access `write`, after all checks of
  /// opening. Until then, the log must change nothing on disk, to preserve evidence of damage. A torn tail that opening
  /// has ignored is removed now, so that no part of it remains after a shorter entry. If the mark lags behind the
  /// entries, they are made durable, because a killed process may have written them without a flush, and then the mark
  /// is raised. If an earlier flush may have failed, only writing them to another file makes them durable.
  /// - Throws: ``JournalError``, with code `readOnly` if the log was not opened with access `write`; the log is then
  ///   unchanged, and can only be closed.
  func beginWriting() throws(JournalError)

  /// Stores entries, if the newest durable revision is `revision`, and returns when they are durable.
  ///
  /// There is at least one entry. The entries are in order and without gaps from `revision + 1` on, and together have
  /// no more bytes than ``LogLimits/appendByteCount``. After an append with an unknown outcome, a log that is not
  /// shared refuses all others with `poisoned`, and never flushes the same file again: the flush may succeed although
  /// the drive has lost what was written before.
  /// - Throws: ``AppendFailure``, which says whether the entries are stored, and how the engine reacts. Before
  ///   ``beginWriting()``, and without access `write`, this is ``AppendFailure/refused(_:)`` with code `readOnly`.
  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure)

  /// About how many bytes the entries take in storage.
  /// - Throws: ``JournalError`` if the number is unknown.
  func byteCount() throws(JournalError) -> Int

  /// Waits for calls in progress, makes the mark of ``acknowledged()`` durable, and closes the log. Waits for new
  /// entries end at once. Every later call throws `closed`, as ``AppendFailure/refused(_:)`` in `append`; closing again
  /// does nothing.
  /// - Throws: ``JournalError`` if something could not be made durable; the log is closed nevertheless.
  func close() throws(JournalError)
}

/// A sealed entry: its bytes in the log, and its digest.
package struct SealedEntry: Sendable {
  package let revision: Revision
  package let bytes: [UInt8]
  /// The digest of the entry, on which the next entry's digest depends. It is not the SHA-256 of the bytes, but
  /// `EntryDecoder` computes it from them. A log whose mark can lag stores or computes it to raise the mark.
  package let digest: ContentDigest

  package init(revision: Revision, bytes: [UInt8], digest: ContentDigest) {
    self.revision = revision
    self.bytes = bytes
    self.digest = digest
  }
}

/// Identifies an entry by its revision and digest.
package struct LogMark: Hashable, Sendable {
  package let revision: Revision
  package let digest: ContentDigest
  /// The path of the mark's file; nil if the mark is not in a file.
  package let path: String?

  package init(revision: Revision, digest: ContentDigest, path: String? = nil) {
    self.revision = revision
    self.digest = digest
    self.path = path
  }
}

package struct LogLimits: Sendable {
  /// The most bytes of the entries of one append, at least 10 MiB. The engine refuses a larger entry with `tooLarge`,
  /// and never appends a larger batch.
  package let appendByteCount: Int
  /// The free bytes that commits may need on the disk of the journal's folder, at least about those of one append.
  /// Layers and snapshots leave this many bytes free. 0 for a log that is stored elsewhere.
  package let spareByteCount: Int

  package init(appendByteCount: Int, spareByteCount: Int) {
    self.appendByteCount = appendByteCount
    self.spareByteCount = spareByteCount
  }
}

/// Why an append failed, and whether its entries are stored.
package enum AppendFailure: Error, Sendable {
  /// Nothing was stored: the newest entry has another revision, because another writer has appended. The engine fails
  /// the commits of the batch with `conflict`, and takes no more until the journal is opened again. If the log is a
  /// ``MultiWriterLog``, the engine runs the bodies of these commits again instead.
  case conflict(newest: Revision)
  /// Nothing was stored, for the given reason, and no part of the entries appears after a power loss.
  ///
  /// With the code `outOfResources`, the next append may succeed; in a shared log, with every code but `poisoned`. The
  /// engine then fails the commits of the batch, and those that build on it, with that code, and the next commit starts
  /// from the durable state. With any other code, no append will succeed: commits fail with `poisoned`, and the engine
  /// takes no more.
  case refused(JournalError)
  /// None, the first few or all of the entries may be stored. No entry is stored in part. The engine fails the commits
  /// of the batch with `outcomeUnknown`, and appends nothing more; opening the log again shows the outcome. If the log
  /// is shared and the code is `unreachable` or `diverged`, the engine asks for the outcome at the next commit.
  case unknown(JournalError)

  package var cause: JournalError {
    switch self {
    case .conflict(let newest):
      JournalError(
        .conflict, "another writer has appended to the log, which now ends with entry \(newest)",
        revision: newest)
    case .refused(let error), .unknown(let error): error
    }
  }
}

extension EntrySource {
  /// The highest durable revision.
  package func newestRevision() throws(JournalError) -> Revision {
    try newestRevision(after: 0, waitingAtMost: .zero)
  }

  /// Calls `body` with the bytes of one entry.
  /// - Throws: ``JournalError`` with code `damaged` if the entry is missing.
  package func read<Result>(
    _ revision: Revision, _ body: (EntryDecoder) throws(JournalError) -> Result
  ) throws(JournalError) -> Result {
    var result: Result?
    try unsafe read(revision...revision) { _, bytes throws(JournalError) in
      result = try body(unsafe EntryDecoder(bytes, revision: revision))
      return false
    }
    guard let result else { throw JournalError.missing(revision) }
    return result
  }

  /// Calls `body` with all entries of a range, in order, and fails at the first missing one.
  package func readAll(
    _ range: ClosedRange<Revision>, _ body: (EntryDecoder) throws(JournalError) -> Void
  ) throws(JournalError) {
    var expected = range.lowerBound
    try unsafe read(range) { revision, bytes throws(JournalError) in
      guard revision == expected else { throw JournalError.missing(expected) }
      try body(unsafe EntryDecoder(bytes, revision: revision))
      expected += 1
      return true
    }
    guard expected > range.upperBound else { throw JournalError.missing(expected) }
  }
}

extension Range<Revision> {
  /// Calls `body` with each revision's bytes, forward or backward, until `body` returns false or `bytes` returns nil.
  /// - Returns: whether the last call of `body` returned true.
  @discardableResult
  package func readEach(
    newestFirst: Bool, _ bytes: (Revision) throws(JournalError) -> [UInt8]?,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) -> Bool {
    var revision = newestFirst ? upperBound - 1 : lowerBound
    while contains(revision), let bytes = try bytes(revision) {
      guard try unsafe bytes.lend({ bytes throws(JournalError) in try unsafe body(revision, bytes) }) else {
        return false
      }
      revision += newestFirst ? -1 : 1
    }
    return true
  }
}

extension EntryLog {
  package func read(
    _ range: ClosedRange<Revision>,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    try unsafe read(range, newestFirst: false, body)
  }

  /// Stores entries of another log, with their revisions.
  /// - Throws: ``JournalError`` if they can't be stored.
  func store(_ entries: [SealedEntry]) throws(JournalError) {
    guard let first = entries.first else { return }
    do throws(AppendFailure) {
      try append(entries, after: first.revision - 1)
    } catch {
      throw error.cause
    }
  }

  /// Calls `body` with an entry, then with the one whose lower revision `body` returned, until `body` returns nil.
  ///
  /// Entries close to each other are read with one cursor, which takes a fraction of the time of a lookup of each. If
  /// the cursor fails, the fault may be in an entry between two wanted ones, so the wanted entry is looked up by
  /// itself. `body` may therefore get an entry twice.
  func readBack(
    from revision: Revision, _ body: (EntryDecoder) throws(JournalError) -> Revision?
  ) throws(JournalError) {
    var next: Revision? = revision
    var nearCount = 0
    while let wanted = next {
      let usesCursor = nearCount >= Self.cursorCount
      do throws(JournalError) {
        try unsafe read(usesCursor ? 1...wanted : wanted...wanted, newestFirst: true) {
          revision, bytes throws(JournalError) in
          guard let wanted = next, revision <= wanted else { return true }
          guard revision == wanted else { throw JournalError.missing(wanted) }
          next = try body(unsafe EntryDecoder(bytes, revision: revision))
          let isNear = next.map { revision - $0 <= Self.nearDistance } ?? false
          nearCount = isNear ? nearCount + 1 : 0
          return isNear
        }
        if next == wanted { throw JournalError.missing(wanted) }
      } catch {
        guard usesCursor else { throw error }
        nearCount = 0
      }
    }
  }

  /// A cursor passes this many entries in less time than a lookup takes.
  private static var nearDistance: Int { 8 }
  /// This many lookups take about as long as making a cursor.
  private static var cursorCount: Int { 8 }
}

extension JournalError {
  static func missing(_ revision: Revision) -> JournalError {
    JournalError(
      .damaged, "an entry is missing from the log; restore the journal from a backup", revision: revision)
  }
}
