/// Reads the entries of a log in order, a piece at a time, and checks that each follows from the one before it.
///
/// Between two pieces the log is not in use, so it can be closed, and a caller can stop.
struct EntryReader {
  /// About how many bytes of entries are in memory at once; a single entry can be larger.
  static let pieceByteCount = 4 << 20
  private static let pieceCount = 4096

  let log: any EntryLog
  let journal: JournalID
  /// The newest entry that was read.
  private(set) var head: Head

  /// Reads the entries after `head`.
  init(_ log: any EntryLog, journal: JournalID, after head: Head) {
    self.log = log
    self.journal = journal
    self.head = head
  }

  /// The next entries up to `last`; none when there are no more.
  /// - Parameter body: called with each entry while its bytes are borrowed.
  /// - Throws: ``JournalError`` with code `damaged` and the first revision that is missing or altered, or that does not
  ///   follow from the one before it.
  mutating func next(
    through last: Revision, _ body: (EntryDecoder) throws(JournalError) -> Void = { _ in }
  ) throws(JournalError) -> [SealedEntry] {
    guard head.revision < last else { return [] }
    var piece: [SealedEntry] = []
    var byteCount = 0
    var newest = head
    try unsafe log.read(newest.revision + 1...last, newestFirst: false) {
      revision, bytes throws(JournalError) in
      guard revision == newest.revision + 1 else { return false }
      let entry = unsafe EntryDecoder(bytes, revision: revision)
      let header = try entry.header()
      guard header.previousDigest == newest.digest else {
        throw JournalError(
          .damaged, "the entry does not follow from the one before it", revision: revision)
      }
      let digest = try entry.digest(journal: journal)
      try body(entry)
      piece.append(SealedEntry(revision: revision, bytes: entry.copyOfBytes, digest: digest))
      newest = Head(revision: revision, timestamp: header.date, digest: digest)
      byteCount += bytes.count
      return byteCount < Self.pieceByteCount && piece.count < Self.pieceCount
    }
    guard !piece.isEmpty else { throw JournalError.missing(head.revision + 1) }
    head = newest
    return piece
  }
}

extension EntryDecoder {
  /// The events of the entry.
  func allEvents(_ upcast: EventUpcast) throws(JournalError) -> [JournalEvent] {
    var decoder = try events(upcast)
    var events: [JournalEvent] = []
    while let event = try decoder.next() { events.append(event) }
    return events
  }

  /// Decodes an entry from memory.
  static func decode<Result>(
    _ bytes: [UInt8], revision: Revision, _ body: (EntryDecoder) throws(JournalError) -> Result
  ) throws(JournalError) -> Result {
    let result = unsafe bytes.withUnsafeBytes { bytes -> Swift.Result<Result, JournalError> in
      do throws(JournalError) {
        return .success(try body(unsafe EntryDecoder(bytes, revision: revision)))
      } catch { return .failure(error) }
    }
    return try result.get()
  }
}

extension SealedEntry {
  /// Decodes the entry.
  func decode<Result>(
    _ body: (EntryDecoder) throws(JournalError) -> Result
  ) throws(JournalError) -> Result {
    try EntryDecoder.decode(bytes, revision: revision, body)
  }
}
