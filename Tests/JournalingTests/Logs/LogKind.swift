import Files
import Foundation
import InMemoryJournals
import JournalMaintenance
import TestSupport

@testable import Journaling

/// A kind of log, and how tests use it.
///
/// To test a new log, write its `LogStorage` and its `EntryLog`, whose comments state all requirements, add a line to
/// ``all``, and run `LogContract` and `AnyLogTests`.
///
/// A log needs its own tests for what these can't cause: a power loss, and, unless its entries are in files of the folder
/// `entries`, damage and writes and flushes that fail. The entries of `LogContract` are just bytes. `AnyLogTests` has
/// whole journals, whose digests the engine checks.
struct LogKind: Sendable, CustomStringConvertible {
  /// The name in the tests' output.
  let description: String
  /// Whether the log is in files of the folder `entries`. Such a log has a mark, stores the bytes of an entry in one
  /// piece, and has remains (``SalvageableStorage/remains(in:)``).
  let hasFiles: Bool
  /// Whether it decodes an entry to raise its mark. Then it can't do that with the entries of `LogContract`.
  let decodesEntries: Bool
  /// Makes the storage of one journal.
  let makeStorage: @Sendable () throws -> any LogStorage

  init(
    description: String, hasFiles: Bool = true, decodesEntries: Bool = false,
    makeStorage: @escaping @Sendable () throws -> any LogStorage
  ) {
    self.description = description
    self.hasFiles = hasFiles
    self.decodesEntries = decodesEntries
    self.makeStorage = makeStorage
  }

  static let all = [
    LogKind(description: "LevelDB", decodesEntries: true) { LevelDBStorage() },
    LogKind(description: "memory", hasFiles: false) { MemoryStorage() },
    LogKind(description: "a file for each entry") { FolderStorage() },
  ]
}

/// A place with an empty log.
struct LogSite {
  let storage: any LogStorage
  let place: LogPlace

  func open(_ access: LogAccess) throws(JournalError) -> any EntryLog { try storage.open(access, in: place) }

  func remains() throws(JournalError) -> any LogRemains { try storage.readRemains(in: place.folder) }

  func mark() throws(JournalError) -> LogMark? { try storage.mark(in: place.folder, of: place.journal) }

  /// Calls `body` with a log that accepts entries, and closes the log.
  func write<Result>(_ body: (any EntryLog) throws -> Result) throws -> Result {
    try use(.write) { log in
      try log.beginWriting()
      return try body(log)
    }
  }

  /// Calls `body` with an open log, and closes it.
  func use<Result>(_ access: LogAccess, _ body: (any EntryLog) throws -> Result) throws -> Result {
    let log = try open(access)
    do {
      let result = try body(log)
      try log.close()
      return result
    } catch {
      try? log.close()
      throw error
    }
  }

  /// The same place, but with the id of another journal.
  func ofAnotherJournal() -> LogPlace {
    LogPlace(
      place.folder, JournalFormat(id: JournalID(), schema: place.format.schema), options: place.options)
  }

  /// A copy of the journal's folder as it is now, with the log still open, as a killed process leaves it.
  func copy(_ name: String) throws -> LogSite {
    let path = place.folder.path
    let url = URL(filePath: path).deletingLastPathComponent().appending(path: "\(name).journal")
    try FileManager.default.copyItem(atPath: path, toPath: url.path)
    let copy = try JournalFolder(url, hook: nil)
    return LogSite(
      storage: storage, place: LogPlace(copy, try copy.readFormat(), options: place.options))
  }

  /// The files of the log, by name.
  func files() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
      files[name] = try Data(contentsOf: url(of: name))
    }
    return files
  }

  func url(of name: String) -> URL { URL(filePath: place.path).appending(path: name) }
}

/// Calls `body` with the site of a new log.
func withLog<Result>(_ kind: LogKind, hook: FileHook? = nil, _ body: (LogSite) throws -> Result) throws
  -> Result
{
  try withTemporaryFolder { folder in
    var options = JournalOptions()
    options.fileHook = hook
    options.logStorage = try kind.makeStorage()
    let url = folder.url.appending(path: "Log.journal")
    let format = JournalFormat(schema: try ModelSchema(of: Ledger.self))
    try JournalFolder.create(at: url, format: format, options: options) { _ in }
    let made = try JournalFolder(url, hook: hook)
    return try body(
      LogSite(storage: options.logStorage, place: LogPlace(made, made.readFormat(), options: options)))
  }
}

/// An entry for tests. To a log, the bytes have no meaning.
func entry(_ revision: Revision, byteCount: Int = 100) -> SealedEntry {
  var bytes = Array("entry \(revision) ".utf8)
  let end = bytes.count + byteCount
  let piece = (0..<251).map { UInt8(truncatingIfNeeded: revision &* 31 &+ $0) }
  while bytes.count < end { bytes += piece.prefix(end - bytes.count) }
  return SealedEntry(revision: revision, bytes: bytes, digest: SHA256Hash.digest(bytes))
}

extension EntryLog {
  /// The entries of a range, in the order in which the log gives them.
  func entries(
    _ range: ClosedRange<Revision>, newestFirst: Bool = false, atMost limit: Int = .max
  ) throws(JournalError) -> [(revision: Revision, bytes: [UInt8])] {
    var found: [(revision: Revision, bytes: [UInt8])] = []
    try unsafe read(range, newestFirst: newestFirst) { revision, bytes throws(JournalError) in
      unsafe found.append((revision, Array(bytes)))
      return found.count < limit
    }
    return found
  }

  func revisions(
    _ range: ClosedRange<Revision>, newestFirst: Bool = false, atMost limit: Int = .max
  ) throws(JournalError) -> [Revision] {
    try entries(range, newestFirst: newestFirst, atMost: limit).map(\.revision)
  }

  /// Stores the entries of a range, as one append.
  func append(_ range: ClosedRange<Revision>) throws(AppendFailure) {
    try append(range.map { entry($0) }, after: range.lowerBound - 1)
  }

  /// Stores the entries of a range.
  /// - Returns: the failure, or nil if they were stored.
  func failure(of range: ClosedRange<Revision>) -> AppendFailure? {
    do throws(AppendFailure) {
      try append(range)
      return nil
    } catch {
      return error
    }
  }
}
