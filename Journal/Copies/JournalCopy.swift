import Foundation

/// Writes entries of another log. All copies of journals use it.
///
/// The caller checks entries before it appends them, and makes the blobs that they name durable. So the copy is a sound
/// journal at every moment.
package final class JournalCopy {
  package let folder: JournalFolder
  let journal: JournalID
  package let log: any EntryLog
  private let first: Head
  package private(set) var head: Head
  /// The newest entry that was read back.
  private var proven: Head
  package private(set) var entryByteCount = 0

  package var entryCount: Int { head.revision - first.revision }

  /// Begins appending to an open log.
  /// - Parameters:
  ///   - place: the place of the log, whose folder the caller has locked and checked.
  ///   - head: the newest entry of the log.
  package init(_ log: any EntryLog, in place: LogPlace, head: Head) throws(JournalError) {
    folder = place.folder
    journal = place.journal
    self.log = log
    self.head = head
    first = head
    proven = head
    try log.beginWriting()
  }

  /// Opens the empty log of a new journal, calls `body` with it, and closes it.
  package static func fill(_ place: LogPlace, _ body: (JournalCopy) throws -> Void) throws {
    let copy = try JournalCopy(making: place)
    do { try body(copy) } catch {
      try? copy.close()
      throw error
    }
    try copy.close()
  }

  package convenience init(making place: LogPlace) throws(JournalError) {
    let log = try place.options.logStorage.open(.write, in: place)
    do throws(JournalError) {
      try self.init(log, in: place, head: place.format.head)
    } catch {
      try? log.close()
      throw error
    }
  }

  /// Appends checked entries.
  /// - Parameter head: the last of these entries.
  package func append(_ piece: [SealedEntry], head: Head) throws(JournalError) {
    let byteCount = piece.reduce(0) { $0 + $1.bytes.count }
    // Twice the bytes: in LevelDB's log, and later in a table.
    try folder.root.require(2 * byteCount, for: "entries")
    try log.store(piece)
    self.head = head
    entryByteCount += byteCount
  }

  /// Reads back the entries that were appended since the last call.
  /// - Throws: ``JournalError`` with code `damaged` if the entries read differ from those written.
  package func prove(_ observer: CopyObserver) throws {
    var reader = EntryReader(log, journal: journal, after: proven)
    while try reader.next(through: head.revision) != nil {
      try Task.checkCancellation()
      try observer(CopyProgress(phase: .proving, done: reader.head.revision, all: head.revision))
    }
    guard reader.head == head else {
      throw JournalError(
        .damaged, "the copy reads back differently from what was written; use another drive",
        revision: head.revision, path: folder.path)
    }
    proven = head
  }

  /// Makes HEAD durable and closes the log. Must always be called.
  package func close() throws(JournalError) { try log.close() }
}

extension JournalCopy {
  /// Appends a new entry to the copy, which records a change of the history, or begins a history with some events.
  /// - Parameter schema: the schema of the checkpoint and the events.
  package func append(
    _ annotation: EntryAnnotation, _ checkpoint: Checkpoint?, _ schema: ModelSchema,
    events: [JournalEvent] = []
  ) throws(JournalError) {
    let last = head
    let now = Timestamp(Date()) ?? last.timestamp
    let header = EntryHeader(
      date: max(now, last.timestamp), clockDate: now, schemaVersion: schema.version,
      previousDigest: last.digest, checkpointRevision: checkpoint?.revision)
    var salts = RandomBytes()
    let sealed = try EntryCoding.seal(
      header, annotation, events: events, stateDigest: checkpoint?.stateDigest, revision: last.revision + 1,
      journal: journal, salts: &salts, logLimit: log.limits.appendByteCount)
    try append([sealed], head: Head(revision: sealed.revision, timestamp: header.date, digest: sealed.digest))
  }
}
