import Dispatch
import LevelDB
import Locks

/// The log in LevelDB: the entry of a revision under the letter `e` and the revision, big-endian, so that the
/// order of keys is time; what the journal is under the letter `m`.
///
/// Each key is written once, and nothing is overwritten or deleted.
final class LevelDBLog: EntryLog {
  /// How the database is opened. Neither changes anything on disk.
  enum Access {
    /// For writing, once ``beginWriting()`` was called.
    case readWrite
    /// To read only.
    case readOnly
  }

  private let database: Database
  /// Entered by each call; closing waits until all have left.
  private let calls = DispatchGroup()
  private let isClosed = Lock(false)
  /// Up to so many bytes.
  private static let keptByteCount = 1 << 20
  /// Kept for its memory; `append` is called by one thread at a time.
  private let batch = Lock(WriteBatch())

  private init(_ database: Database) { self.database = database }

  /// Makes the database of a new journal.
  static func create(in folder: JournalFolder, id: JournalID) throws(JournalError) {
    try translating {
      let database = try Database(path: folder.entries, access: .existingOrNew, hook: folder.hook)
      var batch = WriteBatch()
      batch.put(Key.journal, id.bytes)
      try database.write(&batch)
      try database.close()
    }
  }

  /// Opens the database of a journal as it is on disk, and changes nothing there.
  ///
  /// A write that a power loss has torn at the end of LevelDB's own log was never acknowledged and is left out.
  /// - Throws: ``JournalError`` with code `damaged` when LevelDB finds fault, when an entry before the newest one is
  ///   in no table, or when the database is another journal's.
  /// - Complexity: O(n) in the number of tables, and in the bytes of LevelDB's log, which its write buffer bounds.
  static func open(
    in folder: JournalFolder, id: JournalID, _ access: Access, options: Database.Options
  ) throws(JournalError) -> LevelDBLog {
    try translating {
      var options = options
      options.opensUpToDamage = true
      do {
        let database = try Database(
          path: folder.entries, access: access == .readWrite ? .prepared : .readOnly, options: options,
          hook: folder.hook)
        let log = LevelDBLog(database)
        try log.checkRevisions()
        guard let found = try database.value(for: Key.journal) else {
          throw JournalError(
            .damaged, "the log does not say which journal it belongs to; put the journal back from a backup",
            revision: 1, path: folder.entries)
        }
        guard found == id.bytes else {
          throw JournalError(
            .damaged, "the log belongs to another journal; put this journal's own back from a backup",
            revision: 1, path: folder.entries)
        }
        return log
      } catch let error as DatabaseError {
        // Without a way into the database, nothing from the first entry on can be trusted.
        throw JournalError(error, revision: 1)
      }
    }
  }

  /// Fails unless the tables account for every revision from 1 to the newest one.
  private func checkRevisions() throws {
    var ranges: [ClosedRange<Revision>] = []
    for range in try database.keyRanges() {
      guard let first = unsafe Key.revision(range.first.span.bytes),
        let last = unsafe Key.revision(range.last.span.bytes), first <= last
      else { continue }
      ranges.append(first...last)
    }
    var expected = 1
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      guard range.lowerBound <= expected else { break }
      expected = max(expected, range.upperBound + 1)
    }
    if let damage = database.damage { throw JournalError(damage, revision: expected) }
    if ranges.contains(where: { $0.lowerBound > expected }) { throw JournalError.missing(expected) }
  }

  /// Whether a write that a power loss has torn was left out; it was never acknowledged.
  var hasTornTail: Bool { database.hasTornTail }

  /// Lets LevelDB change its folder, and entries be appended.
  ///
  /// To be called when what was read has been found whole: LevelDB then removes the log that it has made a table of.
  /// - Throws: ``JournalError``; the folder is as it was, and the log can only be closed.
  func beginWriting() throws(JournalError) {
    try using { try database.beginWriting() }
  }

  func append(_ entries: [SealedEntry]) throws(JournalError) {
    do throws(JournalError) {
      try using {
        try batch.withLock { batch in
          batch.clear()
          for entry in entries { batch.put(Key.entry(entry.revision), entry.bytes) }
          // The memory of a large batch is not kept.
          defer { if batch.byteCount > Self.keptByteCount { batch = WriteBatch() } }
          try database.write(&batch)
        }
      }
    } catch {
      // LevelDB may have written a part before it ran short.
      throw error.afterAWrite
    }
  }

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    var next = newestFirst ? range.upperBound : range.lowerBound
    try using {
      do {
        if range.count == 1 {
          // A cursor looks into a table of each level; a lookup into the one that can have the key.
          guard let value = try database.value(for: Key.entry(range.lowerBound)) else { return }
          _ = try unsafe value.withUnsafeBytes { try unsafe body(range.lowerBound, $0) }
          return
        }
        var cursor = try database.cursor()
        var isAtEntry =
          newestFirst
          ? try cursor.seekToLast(notAfter: Key.entry(range.upperBound))
          : try cursor.seek(to: Key.entry(range.lowerBound))
        while isAtEntry {
          let goesOn = try cursor.withEntry { key, value in
            guard let revision = Key.revision(key), range.contains(revision) else { return false }
            next = newestFirst ? revision - 1 : revision + 1
            return try unsafe value.withUnsafeBytes { try unsafe body(revision, $0) }
          }
          guard goesOn else { break }
          isAtEntry = newestFirst ? try cursor.previous() : try cursor.next()
        }
        try cursor.check()
      } catch let error as DatabaseError where error.code == .corruption {
        throw JournalError(error, revision: next)
      }
    }
  }

  func newestRevision() throws(JournalError) -> Revision {
    try using {
      var cursor = try database.cursor()
      guard try cursor.seekToLast(notAfter: Key.entry(.max)) else { return 0 }
      return try cursor.withEntry { key, _ in Key.revision(key) ?? 0 }
    }
  }

  func close() throws(JournalError) {
    isClosed.withLock { $0 = true }
    calls.wait()
    try Self.translating { try database.close() }
  }

  private func using<Result>(_ body: () throws -> Result) throws(JournalError) -> Result {
    let isOpen = isClosed.withLock { isClosed in
      if !isClosed { calls.enter() }
      return !isClosed
    }
    guard isOpen else { throw JournalError(.closed, "the journal has been closed", path: database.path) }
    defer { calls.leave() }
    return try Self.translating(body)
  }

  /// The one place where LevelDB's errors become the journal's.
  private static func translating<Result>(_ body: () throws -> Result) throws(JournalError) -> Result {
    do {
      return try body()
    } catch let error as JournalError {
      throw error
    } catch let error as DatabaseError {
      throw JournalError(error)
    } catch {
      throw JournalError(.io, "the log failed in an unexpected way", cause: error)
    }
  }
}

/// The keys of the log.
private enum Key {
  static let journal: [UInt8] = [UInt8(ascii: "m")]
  static let entryTag = UInt8(ascii: "e")

  static func entry(_ revision: Revision) -> [UInt8] {
    var key = [entryTag]
    key.reserveCapacity(9)
    key.append(bigEndian: UInt64(revision))
    return key
  }

  /// The revision of an entry's key, nil for any other key.
  static func revision(_ key: RawSpan) -> Revision? {
    guard key.byteCount == 9 else { return nil }
    return unsafe key.withUnsafeBytes { bytes in
      guard unsafe bytes[0] == entryTag else { return nil }
      let number = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
      return Revision(exactly: number)
    }
  }
}

extension Cursor {
  /// Moves to the last entry whose key is not after `key`.
  fileprivate mutating func seekToLast(notAfter key: [UInt8]) throws(DatabaseError) -> Bool {
    guard try seek(to: key) else { return try seekToLast() }
    let isThere =
      (try? withEntry { found, _ in unsafe found.withUnsafeBytes { unsafe $0.elementsEqual(key) } }) ?? false
    return try isThere ? true : previous()
  }
}

extension JournalError {
  /// - Parameter revision: the first that is missing or altered, where the error does not know it itself.
  init(_ error: DatabaseError, revision: Revision? = nil) {
    switch error.code {
    case .closed: self.init(.closed, "the journal has been closed", path: error.path)
    case .readOnly: self.init(.readOnly, "the journal was opened for reading only", path: error.path)
    case .poisoned: self.init(.poisoned, "an earlier write failed; open the journal again", path: error.path)
    case .busy: self.init(.locked, error.message, path: error.path)
    case .corruption, .notFound:
      self.init(
        .damaged, "the log is damaged; put the journal back from a backup: \(error.message)",
        revision: error.key.flatMap { unsafe Key.revision($0.span.bytes) } ?? revision, path: error.path)
    case .outOfMemory:
      self.init(
        .outOfResources, "there is not enough memory; free some and try again: \(error.message)",
        path: error.path)
    default:
      if let number = error.osError {
        self.init(systemError: number, error.message, path: error.path)
      } else {
        self.init(.io, error.message, path: error.path)
      }
    }
  }
}
