package import SHA256

/// Reads the entries of a log in order, a piece at a time, and checks that each follows from the one before it.
///
/// Between two pieces, the log is not in use, so it can be closed, and the caller can stop.
package struct EntryReader {
  /// The bytes of entries after which a piece ends. A single entry can be larger.
  static let pieceByteCount = 4 << 20
  /// A copy flushes once for each piece. Pieces of 4,096 entries made joining a shared journal take a third
  /// longer.
  static let pieceCount = 16_384

  package let log: any EntrySource
  package let journal: JournalID
  /// The newest entry that was read.
  package private(set) var head: Head

  package init(_ log: any EntrySource, journal: JournalID, after head: Head) {
    self.log = log
    self.journal = journal
    self.head = head
  }

  /// Reads the next piece of entries up to `last`; returns nil if none is left.
  /// - Parameter body: called with each entry while its bytes are borrowed.
  /// - Throws: ``JournalError`` with code `damaged` and the first revision whose entry is missing, altered, or does not
  ///   follow from the entry before it.
  package mutating func next(
    through last: Revision, _ body: (EntryDecoder) throws(JournalError) -> Void = { _ in }
  ) throws(JournalError) -> EntryPiece? {
    guard head.revision < last else { return nil }
    var piece = EntryPiece(head: head)
    try unsafe log.read(head.revision + 1...last) { revision, bytes throws(JournalError) in
      guard revision == piece.head.revision + 1 else { return false }
      let entry = unsafe EntryDecoder(bytes, revision: revision)
      try piece.add(entry, of: journal)
      try body(entry)
      return !piece.isFull
    }
    guard !piece.entries.isEmpty else { throw JournalError.missing(head.revision + 1) }
    head = piece.head
    return piece
  }
}

/// Checked entries, each of which follows from the one before it.
package struct EntryPiece: Sendable {
  package private(set) var entries: [SealedEntry] = []
  /// The newest entry of the piece; in an empty piece, the entry before it.
  package private(set) var head: Head
  private var byteCount = 0
  /// The newest version of the model among these entries.
  private(set) var schemaVersion = 0

  package init(head: Head) { self.head = head }

  package var isFull: Bool {
    byteCount >= EntryReader.pieceByteCount || entries.count >= EntryReader.pieceCount
  }

  /// - Throws: ``JournalError`` with code `damaged` if the entry is altered or does not follow.
  package mutating func add(_ entry: EntryDecoder, of journal: JournalID) throws(JournalError) {
    add(try LinkedEntry(entry, after: head, of: journal))
  }

  package mutating func add(_ entry: LinkedEntry) {
    entries.append(entry.sealed)
    head = entry.head
    byteCount += entry.sealed.bytes.count
    schemaVersion = max(schemaVersion, entry.schemaVersion)
  }
}

/// An entry that is proven to follow the entry before it, because it has that entry's digest.
package struct LinkedEntry {
  package var sealed: SealedEntry
  package let head: Head
  /// The version of the model that wrote the entry.
  let schemaVersion: Int

  /// - Throws: ``JournalError`` with code `damaged` if the entry is altered, or does not follow from the one before it.
  init(
    _ entry: EntryDecoder, bytes: [UInt8]? = nil, after head: Head, of journal: JournalID
  ) throws(JournalError) {
    let (header, digest) = try entry.headerAndDigest(journal: journal)
    guard header.previousDigest == head.digest else {
      throw JournalError(
        .damaged, "the entry does not follow from the one before it", revision: entry.revision)
    }
    sealed = SealedEntry(revision: entry.revision, bytes: bytes ?? entry.copyOfBytes, digest: digest)
    self.head = Head(revision: entry.revision, timestamp: header.date, digest: digest)
    schemaVersion = header.schemaVersion
  }

  /// Checks and decodes the entry after `head` from its bytes.
  package init(_ bytes: [UInt8], after head: Head, of journal: JournalID) throws(JournalError) {
    self = try EntryDecoder.decode(bytes, revision: head.revision + 1) { entry throws(JournalError) in
      try LinkedEntry(entry, bytes: bytes, after: head, of: journal)
    }
  }
}

extension EntryDecoder {
  package static func decode<Result>(
    _ bytes: [UInt8], revision: Revision, _ body: (EntryDecoder) throws(JournalError) -> Result
  ) throws(JournalError) -> Result {
    try unsafe bytes.lend { bytes throws(JournalError) in
      try body(unsafe EntryDecoder(bytes, revision: revision))
    }
  }
}

extension [UInt8] {
  /// Calls `body` with the bytes, and throws only the errors of `body`.
  func lend<Result>(
    _ body: (UnsafeRawBufferPointer) throws(JournalError) -> Result
  ) throws(JournalError) -> Result {
    try unsafe span.bytes.withUnsafeBytes { bytes throws(JournalError) in try unsafe body(bytes) }
  }
}

extension SealedEntry {
  /// The digest of the entry before this one.
  /// - Throws: ``JournalError`` with code `damaged` if the bytes are not those of an entry.
  package func previousDigest() throws(JournalError) -> ContentDigest {
    try decode { entry throws(JournalError) in try entry.header().previousDigest }
  }

  package func decode<Result>(
    _ body: (EntryDecoder) throws(JournalError) -> Result
  ) throws(JournalError) -> Result {
    try EntryDecoder.decode(bytes, revision: revision, body)
  }
}
