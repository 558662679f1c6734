/// An open log: the ordered entries of one journal, and everything that the engine asks of what keeps them.
///
/// A ``LogStorage`` makes it. A log keeps bytes under the revisions 1, 2, 3, … and gives them no meaning. Entries are
/// never changed and never removed. All calls may be made from many threads at once, but the engine makes no second
/// `append` before the first has returned.
///
/// The tests of every log are in `Tests/JournalingTests/Logs/LogContract.swift`; how to hold another one against them says
/// `LogKind.swift` there, and `PlainFileLog.swift` is one in 300 lines.
package protocol EntryLog: Sendable {
  /// How much it takes at a time. Constant while it is open.
  var limits: LogLimits { get }

  /// Whether opening left out the torn end of a write that was never acknowledged. The engine tells the app's log.
  /// Constant while it is open.
  var hasTornTail: Bool { get }

  /// The newest entry that was acknowledged, as a mark kept apart from the entries says; nil for a log that can't lose
  /// its newest entries without noticing. It is read again at each call.
  ///
  /// The mark may lag behind the entries, and never be ahead of them; while there is none, it is nil, or has revision 0
  /// and the digest that the first entry follows. The engine asks when it opens and when it verifies: if the entry of the
  /// mark is missing or is another one, the journal is damaged.
  /// - Throws: ``JournalError`` with code `damaged` if the mark is missing or unreadable, or another journal's.
  func acknowledged() throws(JournalError) -> LogMark?

  /// Calls `body` with each stored entry whose revision is in the range, in order or in reverse, until it
  /// answers false. The bytes are valid during the call.
  ///
  /// Gaps are not its business: it gives what is there, and nothing that is not durable yet. It may give entries that are
  /// appended meanwhile. `body` may make any call but `close`, which waits for it.
  /// - Throws: ``JournalError``: `damaged` with the revision if the bytes of an entry are known to be altered, or
  ///   `closed`; or what `body` throws, unchanged.
  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError)

  /// The highest revision that is stored and durable, 0 when there is none: at once when it is above `revision`, else
  /// as soon as it is, or what it is when `time` is over.
  ///
  /// This is how a reader learns of new entries. With access `follow` they are those of any writer; with `write`, what
  /// this log has appended; with `read`, none come.
  /// - Throws: ``JournalError`` with code `closed` if the log is closed, or is being closed meanwhile.
  func newestRevision(after revision: Revision, waitingAtMost time: Duration) throws(JournalError) -> Revision

  /// Lets entries be appended. The engine calls it once, on a log that was opened with access `write`, when it has
  /// read and checked what opening checks. Until then, nothing that is kept may be changed: what looks damaged must stay
  /// as it is. A torn end that opening has left out is removed now, so that no part of it stays behind a shorter entry.
  /// - Throws: ``JournalError``; what is kept is as it was, and the log can only be closed.
  func beginWriting() throws(JournalError)

  /// Stores entries, if the newest stored one has the revision `revision`, and returns when they are durable.
  ///
  /// The entries are in order and without gaps, the first has the number `revision + 1`, there is at least one, and
  /// together they have no more bytes than ``LogLimits/appendByteCount``.
  /// - Throws: ``AppendFailure``, which says what is known of the entries, and what the engine does.
  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure)

  /// About how many bytes the entries take where they are kept.
  /// - Throws: ``JournalError`` if that can't be found out.
  func byteCount() throws(JournalError) -> Int

  /// Waits for calls in progress, makes the mark of ``acknowledged()`` durable, and ends the use of the log. Waiting
  /// for new entries ends at once. Every later call throws `closed`, as ``AppendFailure/refused(_:)`` in `append`;
  /// closing again does nothing.
  /// - Throws: ``JournalError`` if something could not be made durable; the log is closed all the same.
  func close() throws(JournalError)
}

/// An entry as it is written: its bytes in the log, and the digest that seals it.
package struct SealedEntry: Sendable {
  package let revision: Revision
  package let bytes: [UInt8]
  /// The digest of the entry, from which that of the next one follows. A log need not keep it: it can be computed
  /// from the bytes.
  package let digest: ContentDigest

  package init(revision: Revision, bytes: [UInt8], digest: ContentDigest) {
    self.revision = revision
    self.bytes = bytes
    self.digest = digest
  }
}

/// An entry by its number and digest.
package struct LogMark: Hashable, Sendable {
  package let revision: Revision
  package let digest: ContentDigest
  /// The file that says so; nil if it is no file.
  package let path: String?

  package init(revision: Revision, digest: ContentDigest, path: String? = nil) {
    self.revision = revision
    self.digest = digest
    self.path = path
  }
}

/// How much a log takes at a time.
package struct LogLimits: Sendable {
  /// How many bytes the entries of one append may have together. The engine refuses a larger entry with `tooLarge`
  /// before it gets here, and makes its batches smaller.
  package let appendByteCount: Int
  /// How many bytes on the disk of the journal's folder the log must find free now and then, for commits to go on.
  /// Snapshots leave as much. 0 for a log that is kept elsewhere.
  package let spareByteCount: Int

  package init(appendByteCount: Int, spareByteCount: Int) {
    self.appendByteCount = appendByteCount
    self.spareByteCount = spareByteCount
  }
}

/// Why an append did not go well, by what is known of its entries.
package enum AppendFailure: Error, Sendable {
  /// Nothing was stored: the newest entry has another revision than was named, because somebody else has appended.
  /// The engine fails the commits of the batch with `conflict`, and takes no more until the journal is opened again.
  case conflict(newest: Revision)
  /// Nothing was stored, for the reason given.
  ///
  /// With the code `outOfResources` the next append may succeed: the engine fails the commits of the batch with that
  /// code, and those that rest on it, and the next commit starts from what is durable. With any other code no
  /// append will succeed: the engine fails the commits with `poisoned`, and takes no more.
  case refused(JournalError)
  /// It is not known what was stored: none of the entries, the first few, or all, each whole. The engine fails the
  /// commits of the batch with `outcomeUnknown`, and appends nothing more; opening the log again tells.
  case unknown(JournalError)

  /// What went wrong, without what follows from it.
  var cause: JournalError {
    switch self {
    case .conflict(let newest):
      JournalError(
        .conflict, "somebody else has appended to the log, which now ends with entry \(newest)",
        revision: newest)
    case .refused(let error), .unknown(let error): error
    }
  }
}

extension EntryLog {
  /// The highest revision that is stored and durable, 0 when there is none.
  func newestRevision() throws(JournalError) -> Revision {
    try newestRevision(after: 0, waitingAtMost: .zero)
  }

  /// Stores entries of another log, which have been numbered there.
  /// - Throws: ``JournalError`` for whatever went wrong.
  func store(_ entries: [SealedEntry]) throws(JournalError) {
    guard let first = entries.first else { return }
    do throws(AppendFailure) {
      try append(entries, after: first.revision - 1)
    } catch {
      throw error.cause
    }
  }

  /// Lends the bytes of one entry to `body`.
  /// - Throws: ``JournalError`` with code `damaged` if it is not there.
  func read<Result>(
    _ revision: Revision, _ body: (EntryDecoder) throws(JournalError) -> Result
  ) throws(JournalError) -> Result {
    var result: Result?
    try unsafe read(revision...revision, newestFirst: false) { _, bytes throws(JournalError) in
      result = try body(unsafe EntryDecoder(bytes, revision: revision))
      return false
    }
    guard let result else { throw JournalError.missing(revision) }
    return result
  }

  /// Lends all entries of a range to `body`, in order, and fails at the first that is missing.
  func readAll(
    _ range: ClosedRange<Revision>, _ body: (EntryDecoder) throws(JournalError) -> Void
  ) throws(JournalError) {
    var expected = range.lowerBound
    try unsafe read(range, newestFirst: false) { revision, bytes throws(JournalError) in
      guard revision == expected else { throw JournalError.missing(expected) }
      try body(unsafe EntryDecoder(bytes, revision: revision))
      expected += 1
      return true
    }
    guard expected > range.upperBound else { throw JournalError.missing(expected) }
  }
}

extension JournalError {
  static func missing(_ revision: Revision) -> JournalError {
    JournalError(
      .damaged, "an entry is missing from the log; put the journal back from a backup", revision: revision)
  }
}
