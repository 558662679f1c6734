import Files
import Foundation
import LevelDB
import Locks

/// The log in LevelDB. The key of an entry is the letter `e` and its revision, big-endian, so that keys are in the
/// order of time. The key `m` has the journal's identity. HEAD marks the newest acknowledged entry.
///
/// 1. Each key is written once, and never overwritten or deleted.
/// 2. An append returns after LevelDB has flushed it and HEAD is marked. HEAD itself is flushed about every second, or
///    with each append.
/// 3. An append fails if someone has removed or replaced the file that it was written to, or its folder. Otherwise its
///    entries would be acknowledged, but missing at the next opening.
///
/// Safe to use from any thread.
final class LevelDBLog: EntryLog {
  private let database: Database
  private let place: LogPlace
  /// The folder that the database is in.
  private let entries: FileIdentity
  private let calls = OpenCalls()
  /// The file HEAD; nil until writing begins.
  private let headFile = Lock<HeadFile?>(nil)
  /// Flushes HEAD about every second.
  private let flusher = Worker()
  private let newest: NewestRevision

  let limits: LogLimits

  private init(
    _ database: Database, _ place: LogPlace, _ entries: FileIdentity, _ options: Database.Options,
    newest: Revision
  ) {
    self.database = database
    self.place = place
    self.entries = entries
    self.newest = NewestRevision(newest)
    limits = Self.limits(options)
  }

  static func limits(_ options: Database.Options) -> LogLimits {
    LogLimits(
      // LevelDB counts the bytes of a batch in 32 bits.
      appendByteCount: 1 << 30,
      // Twice the space that LevelDB needs to write its buffer.
      spareByteCount: 2 * options.writeBufferByteCount)
  }

  // Ends the flusher's thread, which would otherwise wait forever.
  deinit { flusher.close() }

  static func create(in place: LogPlace) throws(JournalError) {
    try HeadFile.create(place.folder, place.format)
    try JournalError.translatingLevelDB {
      let database = try Database(in: try place.entries(), access: .existingOrNew)
      try database.write([(LogKey.journal, place.journal.bytes)], sync: true)
      database.close()
      // The key becomes a table of its own. If a table with entries had it, the table's range of keys would overlap all
      // later tables, and LevelDB would merge them.
      var options = Database.Options()
      options.keptLogByteCount = 0
      try Database(in: try place.entries(), access: .existing, options: options).close()
    }
  }

  /// Opens the database of a journal without changing anything on disk, as `Database.ofLog` describes.
  static func open(
    in place: LogPlace, _ access: Database.Access, options: Database.Options
  ) throws(JournalError) -> LevelDBLog {
    let (database, newest) = try Database.ofLog(in: place, access, options: options)
    return LevelDBLog(database, place, try place.entries().status().identity, options, newest: newest)
  }

  var hasTornTail: Bool { database.hasTornTail }

  func acknowledged() throws(JournalError) -> LogMark? {
    try using { try HeadFile.read(place.folder, id: place.journal) }
  }

  /// Lets LevelDB change its folder. It then removes a log whose entries are in a table.
  func beginWriting() throws(JournalError) {
    try using {
      // A backup of hard links may share LOCK, so LevelDB must make a new one. It replaces all other files.
      let entries = try place.entries()
      if let lock = try entries.status(of: "LOCK"), lock.linkCount > 1 { try entries.removeFile("LOCK") }
      System.ignoreFileSizeSignal()
      // An erasure or a pruning replaces the folder. If a program has put back an older file, it may have entries
      // before the base.
      let first = LogKey.entry(place.firstRevision)
      do throws(DatabaseError) { try database.beginWriting(needing: first) } catch {
        guard error.osError == ENOSPC else { throw error }
        throw try lackOfRoom()
      }
      let headFile = try HeadFile(place.folder, id: place.journal)
      let revision = newest.revision
      // After a crash, HEAD may not have the newest entry yet.
      if revision > headFile.found.revision {
        let digest = try read(revision) { entry throws(JournalError) in
          try entry.digest(journal: place.journal)
        }
        try headFile.prepare()
        try headFile.mark(LogMark(revision: revision, digest: digest))
      }
      self.headFile.withLock { $0 = headFile }
    }
  }

  /// The error for a disk that is too full to begin writing. It can have megabytes left, because LevelDB's logs are
  /// written to a table before they are removed.
  private func lackOfRoom() throws(JournalError) -> JournalError {
    let entries = try place.entries()
    var byteCount = 0
    for name in try entries.names() where name.hasSuffix(".log") {
      byteCount += try entries.status(of: name)?.byteCount ?? 0
    }
    // If more is free, a quota is exhausted.
    let left = try entries.freeByteCount().map {
      $0 < byteCount ? ", and the disk has \($0) left" : ", and the disk or your quota has no more"
    }
    return JournalError(
      .io,
      "there is no room to open the journal for writing, which writes its newest entries again: about \(byteCount) "
        + "bytes must be free\(left ?? ""); free some space, or open it for reading only",
      path: place.path)
  }

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    guard let last = entries.last else { return }
    guard let headFile = headFile.withLock({ $0 }) else {
      throw .refused(.logIsReadOnly(path: place.path))
    }
    guard newest.revision == revision else { throw .conflict(newest: newest.revision) }
    guard calls.enter() else { throw .refused(closed) }
    defer { calls.leave() }
    // After a failed flush of HEAD, the next opening could not detect a missing entry.
    do throws(JournalError) { try headFile.check() } catch {
      // Trying again does not help, whatever the cause was.
      throw .refused(
        JournalError(
          .poisoned,
          "HEAD could not be flushed, so the journal takes no more commits; close it and open it again",
          path: error.path, cause: error))
    }
    do throws(JournalError) {
      try checkFolder()
      try headFile.prepare()
    } catch { throw .refused(error) }
    let refusal: DatabaseError?
    do throws(JournalError) {
      refusal = try write(entries)
      if refusal == nil {
        try checkFolder()
        try mark(LogMark(revision: last.revision, digest: last.digest), headFile)
      }
    } catch {
      // With these codes, LevelDB has not tried to write.
      throw error.code == .poisoned || error.code == .closed ? .refused(error) : .unknown(error)
    }
    if let refusal { throw .refused(JournalError(refusal)) }
    newest.raise(to: last.revision)
  }

  /// Fails if `entries` was removed or replaced by another folder. LevelDB itself checks the file in it.
  private func checkFolder() throws(JournalError) {
    guard try place.folder.root.status(of: "entries")?.identity != entries else { return }
    throw JournalError(
      .damaged, "the folder of the log was removed or replaced while the journal was open; restore it",
      path: place.path)
  }

  /// - Returns: the shortage that kept LevelDB from beginning to write; nil if everything is written.
  private func write(_ entries: [SealedEntry]) throws(JournalError) -> DatabaseError? {
    do throws(DatabaseError) {
      try database.write(entries.map { (LogKey.entry($0.revision), $0.bytes) }, sync: true)
      return nil
    } catch {
      guard error.code == .refused else { throw JournalError(error) }
      return error
    }
  }

  // MARK: HEAD

  private func mark(_ mark: LogMark, _ headFile: HeadFile) throws(JournalError) {
    try headFile.mark(mark)
    // If no thread can flush HEAD later, it is flushed now.
    if place.options.flushesHeadAtEveryCommit || !flusher.runLater({ [weak self] in self?.flushHead() }) {
      try headFile.flush()
    }
  }

  private func flushHead() {
    guard let headFile = headFile.withLock({ $0 }) else { return }
    do throws(JournalError) { try headFile.flush() } catch {
      place.options.note(.warning, "HEAD could not be flushed; the next commit is refused", cause: error)
    }
  }

  // MARK: Reading

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    var next = newestFirst ? range.upperBound : range.lowerBound
    try using {
      do {
        _ = try unsafe database.readEntries(range, newestFirst: newestFirst, next: &next, body)
      } catch {
        throw JournalError(ofLevelDB: error, revision: next)
      }
    }
  }

  func newestRevision(
    after revision: Revision, waitingAtMost time: Duration
  ) throws(JournalError) -> Revision {
    guard let found = newest.wait(after: revision, atMost: time) else { throw closed }
    return found
  }

  func byteCount() throws(JournalError) -> Int { try using { try place.folder.byteCountOfEntries() } }

  // MARK: Closing

  func close() throws(JournalError) {
    guard calls.close() else { return }
    newest.close()
    calls.wait()
    flusher.close()
    var failure: JournalError?
    if let headFile = headFile.withLock({ $0 }) {
      do throws(JournalError) { try headFile.flush() } catch { failure = error }
    }
    database.close()
    if let failure { throw failure }
  }

  private var closed: JournalError {
    .closed(path: database.path)
  }

  private func using<Result>(_ body: () throws -> Result) throws(JournalError) -> Result {
    guard calls.enter() else { throw closed }
    defer { calls.leave() }
    return try JournalError.translatingLevelDB(body)
  }
}

extension JournalError {
  package static func translatingLevelDB<Result>(_ body: () throws -> Result) throws(JournalError) -> Result {
    do { return try body() } catch { throw JournalError(ofLevelDB: error) }
  }

  /// - Parameter revision: the first missing or altered revision, used if the error has none.
  init(ofLevelDB error: any Error, revision: Revision? = nil) {
    switch error {
    case let error as JournalError: self = error
    case let error as DatabaseError: self.init(error, revision: revision)
    default: self.init(.io, "the log failed in an unexpected way", cause: error)
    }
  }

  /// - Parameter revision: the first missing or altered revision, used if the error has none.
  init(_ error: DatabaseError, revision: Revision? = nil) {
    switch error.code {
    case .closed: self = .closed(path: error.path)
    case .readOnly: self.init(.readOnly, "the journal was opened for reading only", path: error.path)
    case .poisoned:
      self.init(
        .poisoned, "an earlier write failed; close the journal and open it again", path: error.path,
        cause: JournalError(.io, error.message, path: error.path))
    case .busy: self.init(.locked, error.message, path: error.path)
    case .damaged, .notFound:
      self.init(
        .damaged, "the log is damaged; restore the journal from a backup: \(error.message)",
        revision: error.key.flatMap { unsafe LogKey.revision($0.span.bytes) } ?? revision, path: error.path)
    case .outOfResources:
      self.init(
        .outOfResources, "there is not enough memory; free some and try again: \(error.message)",
        path: error.path)
    default:
      if let number = error.osError {
        self.init(FileError(number, error.message, path: error.path))
      } else {
        self.init(.io, error.message, path: error.path)
      }
    }
  }
}
