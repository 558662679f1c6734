import CPeers
import Files
import Foundation

/// A peer failed, or the journal did not do the work, so there is no figure.
struct PeerFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

extension PeerFailure: FileFailure {
  init(_ error: FileError) { description = "\(error.path): \(error.message)" }
}

func check(_ isDone: Bool) throws(PeerFailure) {
  if !isDone { throw PeerFailure(unsafe String(cString: peer_failure())) }
}

/// An object of the C interface. The handle never changes and lives as long as the object, so it may be used
/// on any thread that the C functions allow.
@safe
final class Peer: @unchecked Sendable {
  let handle: OpaquePointer

  @safe init(_ handle: OpaquePointer?) throws {
    guard let handle = unsafe handle else { throw PeerFailure(unsafe String(cString: peer_failure())) }
    unsafe self.handle = handle
  }

  deinit { unsafe peer_free(handle) }
}

/// The keys and values that a journal wrote, which the peers then write too.
struct WrittenEntries {
  private let entries: Peer

  init(ofJournalAt url: URL) throws {
    entries = try Peer(unsafe peer_entries(url.appending(path: "entries").path))
  }

  var count: Int { unsafe peer_entries_count(entries.handle) }

  /// The mean size of a key and its value.
  var averageByteCount: Int {
    count == 0 ? 0 : Int(unsafe peer_entries_byte_count(entries.handle)) / count
  }

  func levelDB(at url: URL) throws -> Peer { try Peer(unsafe peer_leveldb(url.path, entries.handle)) }

  /// Puts all entries, each synced, and returns the seconds.
  func put(at url: URL, callers: Int) throws -> Double {
    let database = try levelDB(at: url)
    return try timedThreads(callers, count: count) { try check(unsafe peer_leveldb_put(database.handle, $0)) }
  }

  /// Inserts the first `count` entries into SQLite, each in its own transaction, and returns the seconds.
  /// - Parameter connections: 1 if all callers share it, or as many as callers.
  func insert(_ count: Int, at url: URL, callers: Int, connections: Int) throws -> Double {
    let databases = try (0..<connections).map { _ in try Peer(unsafe peer_sqlite(url.path)) }
    return try timedThreads(callers, count: count) { [entries] index in
      let database = databases[index % callers % connections]
      try check(unsafe peer_sqlite_insert(database.handle, entries.handle, index))
    }
  }
}

/// A table of the sample's items in SQLite.
struct SQLiteItems: Sendable {
  private let database: Peer

  init(_ items: some Sequence<(id: Int, sample: Sample)>, indexes: [String] = [], at url: URL) throws {
    database = try Peer(unsafe peer_sqlite(url.path))
    // Large enough for the whole database, because the journal's state is in memory too.
    try run("PRAGMA cache_size=-2000000; BEGIN")
    for (id, sample) in items {
      try check(
        unsafe peer_sqlite_add(
          database.handle, Int64(id), sample.name, sample.note, Int64(sample.count), sample.price,
          sample.seen.timeIntervalSinceReferenceDate))
    }
    try run("COMMIT")
    for column in indexes { try run("CREATE INDEX by_\(column) ON items(\(column))") }
    try run("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")
  }

  private func run(_ text: String) throws { try check(unsafe peer_sqlite_run(database.handle, text)) }

  func update(_ id: Int, count: Int) throws {
    try check(unsafe peer_sqlite_update(database.handle, Int64(id), Int64(count)))
  }

  func ask(_ question: Question, _ rows: inout Int) throws {
    switch question {
    case .equal(let count): try check(unsafe peer_sqlite_equal(database.handle, Int64(count), &rows))
    case .first(let price): try check(unsafe peer_sqlite_first(database.handle, price, &rows))
    case .scan(let note): try check(unsafe peer_sqlite_scan(database.handle, note, &rows))
    }
  }
}
