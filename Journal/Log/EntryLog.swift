/// The ordered log that a journal stands on: all that the engine needs of a storage.
///
/// ``LevelDBLog`` is the embedded one. A log keeps bytes under revisions and gives them no meaning. It must be
/// safe to use from many threads, except that `append` is called by one at a time.
protocol EntryLog: Sendable {
  /// Stores entries that follow the newest one, all or none, and returns when they are durable.
  /// - Throws: ``JournalError`` with code `outOfResources` when nothing was stored and the next append may succeed;
  ///   with any other code it is unknown whether they are stored, and nothing may be appended to this log again.
  func append(_ entries: [SealedEntry]) throws(JournalError)

  /// Calls `body` with each stored entry whose revision is in the range, in order or in reverse, until it
  /// answers false. The bytes are valid during the call.
  ///
  /// Gaps are not its business: it gives what is there.
  /// - Throws: ``JournalError`` with code `damaged` when something can't be read, or what `body` throws.
  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError)

  /// The highest revision that is stored, 0 when there is none.
  func newestRevision() throws(JournalError) -> Revision

  /// Ends the use of the log, after calls in progress.
  func close() throws(JournalError)
}

extension EntryLog {
  /// Lends the bytes of one entry to `body`.
  /// - Throws: ``JournalError`` with code `damaged` when it is not there.
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
