import Dispatch
import Files
import Foundation
import JournalMaintenance
import Locks

@testable import Journaling

/// A log of one file for each entry, for the tests: what a log needs beyond the two protocols.
///
/// The folder has `LOG` (the journal's id), `MARK` (the newest acknowledged entry), and an entry in each file whose name
/// has 20 digits. Files are never changed in place, so hard links are safe. An append writes the files of its entries,
/// flushes them, flushes the folder, and replaces MARK; then it returns. So whatever is after the mark was never
/// acknowledged: of that, opening takes the whole entries that follow, and the rest is the torn tail.
struct FolderStorage: SalvageableStorage {
  var isTransient: Bool { false }

  func create(in place: LogPlace) throws(JournalError) {
    let files = EntryFiles(folder: try place.entries(), journal: place.journal)
    try files.folder.write(EntryFiles.logName, files.sealed([]))
    try files.writeMark(place.head.revision, place.head.digest)
    try files.folder.flush()
  }

  func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    try FolderLog(access, place)
  }

  func mark(in folder: JournalFolder, of journal: JournalID) throws(JournalError) -> LogMark? {
    try EntryFiles(folder: folder.openEntries(), journal: journal).mark()
  }

  func remains(in folder: JournalFolder) throws(JournalError) -> any LogRemains { try FolderRemains(folder) }
}

/// The files of a log. Each has the SHA-256 of what follows it, and the id of the journal.
private struct EntryFiles: Sendable {
  static let logName = "LOG"
  static let markName = "MARK"
  static let headerByteCount = 48

  let folder: Files.Folder<JournalError>
  let journal: JournalID

  static func name(_ revision: Revision) -> String {
    let digits = String(revision)
    return String(repeating: "0", count: 20 - digits.count) + digits
  }

  /// The revisions of all files of entries, in order.
  static func revisions(in folder: Files.Folder<JournalError>) throws(JournalError) -> [Revision] {
    try folder.names().filter { $0.utf8.count == 20 && $0.utf8.allSatisfy { (48...57).contains($0) } }
      .compactMap { Revision($0) }
  }

  func sealed(_ body: [UInt8]) -> [UInt8] {
    let rest = journal.bytes + body
    return SHA256Hash.digest(rest).bytes + rest
  }

  /// The journal and the body of a file.
  /// - Throws: ``JournalError``: `damaged` if it is missing or altered.
  static func contents(
    _ name: String, in folder: Files.Folder<JournalError>, revision: Revision? = nil
  ) throws(JournalError) -> (journal: JournalID, body: ArraySlice<UInt8>) {
    let damage: JournalError
    do throws(JournalError) {
      let bytes = try folder.file(name, .reading).contents(limit: 1 << 30)
      if bytes.count >= headerByteCount, SHA256Hash.digest(Array(bytes[32...])).bytes == Array(bytes[..<32]),
        let journal = JournalID(bytes: bytes[32..<48])
      {
        return (journal, bytes[48...])
      }
      damage = JournalError(
        .damaged, "a file of the log is altered", revision: revision, path: folder.path(of: name))
    } catch {
      guard [.notFound, .notAJournal, .damaged].contains(error.code) else { throw error }
      throw JournalError(.damaged, error.message, revision: revision, path: error.path, cause: error)
    }
    throw damage
  }

  func contents(_ name: String, revision: Revision? = nil) throws(JournalError) -> ArraySlice<UInt8> {
    let (found, body) = try Self.contents(name, in: folder, revision: revision)
    guard found == journal else {
      throw JournalError(
        .damaged, "the log is that of another journal", revision: revision, path: folder.path(of: name))
    }
    return body
  }

  private func numbered(_ revision: Revision, _ digest: ContentDigest) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: revision >> (56 - 8 * $0)) } + digest.bytes
  }

  private func parse(
    _ body: ArraySlice<UInt8>, _ name: String
  ) throws(JournalError) -> (Revision, ContentDigest, ArraySlice<UInt8>) {
    guard body.count >= 40, let digest = ContentDigest(bytes: Array(body.dropFirst(8).prefix(32))) else {
      throw JournalError(.damaged, "a file of the log is too short", path: folder.path(of: name))
    }
    return (body.prefix(8).reduce(0) { $0 << 8 | Int($1) }, digest, body.dropFirst(40))
  }

  func mark() throws(JournalError) -> LogMark {
    let (revision, digest, rest) = try parse(contents(Self.markName), Self.markName)
    guard rest.isEmpty else {
      throw JournalError(.damaged, "the mark is too long", path: folder.path(of: Self.markName))
    }
    return LogMark(revision: revision, digest: digest, path: folder.path(of: Self.markName))
  }

  /// Replaces the mark. It is durable after the folder is flushed.
  func writeMark(_ revision: Revision, _ digest: ContentDigest) throws(JournalError) {
    try folder.write(Self.markName, sealed(numbered(revision, digest)))
  }

  func entry(_ revision: Revision) throws(JournalError) -> SealedEntry {
    let name = Self.name(revision)
    let (found, digest, bytes) = try parse(contents(name, revision: revision), name)
    guard found == revision else {
      throw JournalError(
        .damaged, "the file has another entry", revision: revision, path: folder.path(of: name))
    }
    return SealedEntry(revision: revision, bytes: Array(bytes), digest: digest)
  }

  /// Writes the files of new entries, then flushes them, so that all have been written if a flush fails.
  func write(_ entries: [SealedEntry]) throws(JournalError) {
    for entry in entries {
      let file = try folder.file(Self.name(entry.revision), .creating)
      let bytes = sealed(numbered(entry.revision, entry.digest) + entry.bytes)
      try unsafe bytes.span.bytes.withUnsafeBytes { bytes throws(JournalError) in
        try unsafe file.write(bytes, at: 0)
      }
    }
    for entry in entries { try folder.file(Self.name(entry.revision), .updating).flush() }
  }

  /// Writes a whole entry again: a process that was killed may have written it without flushing it.
  func rewrite(_ entry: SealedEntry) throws(JournalError) {
    try folder.write(Self.name(entry.revision), sealed(numbered(entry.revision, entry.digest) + entry.bytes))
  }
}

private final class FolderLog: EntryLog {
  private struct Writer: Sendable {
    var acceptsAppends = false
    var poison: JournalError?
    /// What opening ignored.
    var tail: [Revision]
  }

  let limits = LogLimits(appendByteCount: 64 << 20, spareByteCount: 64 << 20)
  let hasTornTail: Bool
  private let access: LogAccess
  private let files: EntryFiles
  private let first: Revision
  private let markAtOpening: LogMark
  private let newest: NewestRevision
  private let calls = OpenCalls()
  private let writer: Lock<Writer>

  init(_ access: LogAccess, _ place: LogPlace) throws(JournalError) {
    let files: EntryFiles
    do throws(JournalError) {
      files = EntryFiles(folder: try place.entries(), journal: place.journal)
    } catch {
      guard [.notFound, .notAJournal].contains(error.code) else { throw error }
      throw JournalError(.damaged, "there is no log", path: error.path, cause: error)
    }
    let isOnlyOne = try Self.lock(files.folder, for: access)
    guard access != .write || isOnlyOne else {
      throw JournalError(.locked, "the log is open for writing", path: files.folder.path)
    }
    let found: (mark: LogMark, last: Revision, tail: [Revision])
    do throws(JournalError) {
      found = try Self.takeStock(of: files, after: place.head.revision, isOnlyOne: isOnlyOne)
    } catch {
      if isOnlyOne { files.folder.unlock() }
      throw error
    }
    if access != .write, isOnlyOne { files.folder.unlock() }
    self.access = access
    self.files = files
    first = place.firstRevision
    markAtOpening = found.mark
    hasTornTail = !found.tail.isEmpty
    writer = Lock(Writer(tail: found.tail))
    newest = NewestRevision(found.last)
  }

  /// The mark, the newest entry, and the revisions of the torn tail.
  private static func takeStock(
    of files: EntryFiles, after base: Revision, isOnlyOne: Bool
  ) throws(JournalError) -> (mark: LogMark, last: Revision, tail: [Revision]) {
    guard try files.contents(EntryFiles.logName).isEmpty else {
      throw JournalError(
        .damaged, "the file is too long", path: files.folder.path(of: EntryFiles.logName))
    }
    let mark = try files.mark()
    guard mark.revision >= base else {
      throw JournalError(.damaged, "the mark is that of an older log", path: mark.path)
    }
    var last = base
    let revisions = try EntryFiles.revisions(in: files.folder)
    for revision in revisions.prefix(while: { $0 <= mark.revision }) {
      guard revision == last + 1 else { throw JournalError.missing(last + 1) }
      last = revision
    }
    guard last == mark.revision else { throw JournalError.missing(last + 1) }
    // While another process writes, what is after the mark may not be durable.
    guard isOnlyOne else { return (mark, last, []) }
    for revision in revisions.drop(while: { $0 <= mark.revision }) {
      guard revision == last + 1 else { break }
      do throws(JournalError) {
        _ = try files.entry(revision)
      } catch {
        guard error.code == .damaged else { throw error }
        break
      }
      last = revision
    }
    return (mark, last, revisions.filter { $0 > last })
  }

  /// Takes the lock, for a reader only to see whether there is a writer, which then waits.
  private static func lock(
    _ folder: Files.Folder<JournalError>, for access: LogAccess
  ) throws(JournalError) -> Bool {
    for _ in 0..<100 {
      if try folder.lock(exclusive: access == .write) { return true }
      guard access == .write else { return false }
      usleep(1_000)
    }
    return false
  }

  /// Calls `body` while the log can't be closed.
  private func during<Result>(_ body: () throws(JournalError) -> Result) throws(JournalError) -> Result {
    guard calls.enter() else { throw .closed(path: files.folder.path) }
    defer { calls.leave() }
    return try body()
  }

  func acknowledged() throws(JournalError) -> LogMark? {
    try during { () throws(JournalError) in
      let shown = newest.revision
      let mark = try files.mark()
      return mark.revision > shown && access != .write ? markAtOpening : mark
    }
  }

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    try during { () throws(JournalError) in
      let (low, high) = (max(range.lowerBound, first), min(range.upperBound, newest.revision))
      guard low <= high else { return }
      for step in 0...high - low {
        let revision = newestFirst ? high - step : low + step
        let entry = try files.entry(revision)
        let goesOn = try unsafe entry.bytes.span.bytes.withUnsafeBytes { bytes throws(JournalError) in
          try unsafe body(revision, bytes)
        }
        guard goesOn else { return }
      }
    }
  }

  func newestRevision(after revision: Revision, waitingAtMost time: Duration) throws(JournalError) -> Revision
  {
    try during { () throws(JournalError) in
      let end = ContinuousClock.now + time
      while true {
        if access == .follow { newest.raise(to: try files.mark().revision) }
        let rest = ContinuousClock.now.duration(to: end)
        let pause = access == .follow ? min(rest, .milliseconds(5)) : rest
        guard let found = newest.wait(after: revision, atMost: max(pause, .zero)) else {
          throw .closed(path: files.folder.path)
        }
        if found > revision || ContinuousClock.now >= end { return found }
      }
    }
  }

  func beginWriting() throws(JournalError) {
    try during { () throws(JournalError) in
      guard access == .write else { throw .logIsReadOnly(path: files.folder.path) }
      try writer.withLock { writer throws(JournalError) in
        for revision in writer.tail { try files.folder.removeFile(EntryFiles.name(revision)) }
        // What was removed must not come back next to new entries.
        if !writer.tail.isEmpty { try files.folder.flush() }
        writer.tail = []
        let last = newest.revision
        if last > markAtOpening.revision {
          var digest = markAtOpening.digest
          for revision in markAtOpening.revision + 1...last {
            let entry = try files.entry(revision)
            try files.rewrite(entry)
            digest = entry.digest
          }
          try files.folder.flush()
          try files.writeMark(last, digest)
          try files.folder.flush()
        }
        writer.acceptsAppends = true
      }
    }
  }

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    guard calls.enter() else { throw .refused(.closed(path: files.folder.path)) }
    defer { calls.leave() }
    try writer.withLock { writer throws(AppendFailure) in
      guard writer.acceptsAppends else { throw .refused(.logIsReadOnly(path: files.folder.path)) }
      if let poison = writer.poison {
        throw .refused(
          JournalError(.poisoned, "an earlier append failed", path: files.folder.path, cause: poison))
      }
      guard revision == newest.revision else { throw .conflict(newest: newest.revision) }
      guard let last = entries.last else { return }
      do throws(JournalError) {
        try files.write(entries)
        try files.folder.flush()
        try files.writeMark(last.revision, last.digest)
        try files.folder.flush()
      } catch {
        if error.code == .outOfResources, withdraw(entries, after: revision) { throw .refused(error) }
        writer.poison = error
        throw .unknown(error)
      }
      newest.raise(to: last.revision)
    }
  }

  /// Removes what a failed append has written, unless the mark names it already.
  /// - Returns: whether it is certain that nothing is left.
  private func withdraw(_ entries: [SealedEntry], after revision: Revision) -> Bool {
    do throws(JournalError) {
      guard try files.mark().revision == revision else { return false }
      for entry in entries { try files.folder.removeFile(EntryFiles.name(entry.revision)) }
      try files.folder.flush()
      return true
    } catch {
      return false
    }
  }

  func byteCount() throws(JournalError) -> Int {
    try during { () throws(JournalError) in
      var count = 0
      for revision in try EntryFiles.revisions(in: files.folder) {
        count += try files.folder.status(of: EntryFiles.name(revision))?.byteCount ?? 0
      }
      return count
    }
  }

  func close() throws(JournalError) {
    guard calls.close() else { return }
    newest.close()
    calls.wait()
    files.folder.unlock()
  }
}

/// What is left of a log.
private struct FolderRemains: LogRemains {
  let journal: JournalID?
  let problems: [JournalError]
  private let folder: Files.Folder<JournalError>?

  init(_ place: JournalFolder) throws(JournalError) {
    var problems: [JournalError] = []
    var journal: JournalID?
    var folder: Files.Folder<JournalError>?
    do throws(JournalError) {
      let entries = try place.openEntries()
      folder = entries
      journal = try EntryFiles.contents(EntryFiles.logName, in: entries).journal
    } catch {
      guard [.notFound, .notAJournal, .damaged].contains(error.code) else { throw error }
      problems.append(error)
    }
    (self.folder, self.journal, self.problems) = (folder, journal, problems)
  }

  func candidates(_ revision: Revision) throws(JournalError) -> [[UInt8]] {
    guard let folder else { return [] }
    do throws(JournalError) {
      let found = try EntryFiles.contents(EntryFiles.name(revision), in: folder).journal
      return [try EntryFiles(folder: folder, journal: found).entry(revision).bytes]
    } catch {
      guard error.code == .damaged else { throw error }
      return []
    }
  }

  func lastRevision() throws(JournalError) -> Revision {
    guard let folder else { return 0 }
    return try EntryFiles.revisions(in: folder).last ?? 0
  }
}
