import CPeers
import Foundation

/// A peer failed, so there is no figure to compare with.
struct PeerFailure: Error, CustomStringConvertible {
  let description: String
}

/// Calls a function of the C interface, and throws the error that it reports.
/// - Throws: ``PeerFailure``
@safe
func callPeer(_ body: (UnsafeMutablePointer<peer_error>) -> Bool) throws(PeerFailure) {
  var error = peer_error()
  guard unsafe !body(&error) else { return }
  let message = unsafe withUnsafeBytes(of: error.message) { bytes in
    unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }
  throw PeerFailure(description: "A peer failed: \(message).")
}

/// The keys and values that a journal wrote, which the peers then write too.
///
/// Safe to use: it owns its handle, which lives as long as it does and never leaves this file.
@safe
final class WrittenEntries {
  fileprivate let handle: OpaquePointer

  /// Reads the entries of a closed journal, which must not be opened again afterwards, because LevelDB rewrites the
  /// folder when it opens it.
  init(ofJournalAt url: URL) throws {
    var handle: OpaquePointer?
    try callPeer { unsafe peer_entries_read(url.appending(path: "entries").path, &handle, $0) }
    guard let handle = unsafe handle else { throw PeerFailure(description: "No entries were read.") }
    unsafe self.handle = handle
  }

  deinit { unsafe peer_entries_free(handle) }

  var count: Int { unsafe peer_entries_count(handle) }

  /// The average bytes of an entry, including its key.
  var averageByteCount: Int {
    count == 0 ? 0 : Int(unsafe peer_entries_byte_count(handle)) / count
  }
}

/// LevelDB from C++, with default options.
enum LevelDBPeer {
  static var version: String { unsafe String(cString: peer_leveldb_version()) }

  /// Writes each entry with a synced `Put` into a new database, and returns the seconds.
  static func put(_ entries: WrittenEntries, count: Int, callers: Int, in folder: URL) throws -> Double {
    var seconds = 0.0
    try callPeer { error in
      unsafe peer_leveldb_put(folder.path, entries.handle, count, callers, &seconds, error)
    }
    return seconds
  }

  /// Writes each entry as a synced batch, with its bytes split among `pieces` keys, into a new database, and returns
  /// the seconds.
  static func writeBatches(
    _ entries: WrittenEntries, count: Int, pieces: Int, in folder: URL
  ) throws -> Double {
    var seconds = 0.0
    try callPeer { error in
      unsafe peer_leveldb_write_batches(folder.path, entries.handle, count, pieces, &seconds, error)
    }
    return seconds
  }
}

/// A copy of a journal's entries, open in plain LevelDB for scans.
///
/// Safe to use: it owns its handle, which lives as long as it does and never leaves this file.
@safe
final class LevelDBScan {
  private let handle: OpaquePointer

  init(_ folder: URL) throws {
    var handle: OpaquePointer?
    try callPeer { unsafe peer_log_open(folder.path, &handle, $0) }
    guard let handle = unsafe handle else { throw PeerFailure(description: "LevelDB did not open.") }
    unsafe self.handle = handle
  }

  deinit { unsafe peer_log_close(handle) }

  /// Iterates over all entries and verifies their checksums.
  func run() throws -> (count: Int, byteCount: Int, seconds: Double) {
    var count = 0
    var byteCount: UInt64 = 0
    var seconds = 0.0
    try callPeer { unsafe peer_log_scan(handle, &count, &byteCount, &seconds, $0) }
    return (count, Int(byteCount), seconds)
  }
}

/// SQLite in WAL mode with synchronous=FULL, one row in each transaction.
enum SQLitePeer {
  static var version: String { unsafe String(cString: peer_sqlite_version()) }

  static func insert(
    _ entries: WrittenEntries, count: Int, callers: Int, sharing: peer_sqlite_sharing, in folder: URL
  ) throws -> Double {
    var seconds = 0.0
    try callPeer { error in
      unsafe peer_sqlite_insert(folder.path, entries.handle, count, callers, sharing, &seconds, error)
    }
    return seconds
  }
}

/// A table of items in SQLite that are updated at random, each update in its own transaction.
///
/// Safe to use: it owns its handle, which lives as long as it does and never leaves this file.
@safe
final class SQLiteUpdates {
  private let handle: OpaquePointer

  init(itemCount: Int, in folder: URL) throws {
    var handle: OpaquePointer?
    try callPeer { unsafe peer_updates_create(folder.path, itemCount, &handle, $0) }
    guard let handle = unsafe handle else { throw PeerFailure(description: "SQLite did not open.") }
    unsafe self.handle = handle
  }

  deinit { unsafe peer_updates_free(handle) }

  /// Updates random items, and returns the seconds.
  func run(_ count: Int, callers: Int, seed: UInt64) throws -> Double {
    var seconds = 0.0
    try callPeer { unsafe peer_updates_run(handle, count, callers, seed, &seconds, $0) }
    return seconds
  }
}

/// A table of the sample's items in SQLite, with the same indexes as ``Sample`` declares.
///
/// Safe to use: it owns its handle, which lives as long as it does and never leaves this file.
@safe
final class SQLiteItems {
  private let handle: OpaquePointer

  init(_ items: some Sequence<(id: Int, sample: Sample)>, in folder: URL) throws {
    var handle: OpaquePointer?
    try callPeer { unsafe peer_items_create(folder.path, &handle, $0) }
    guard let handle = unsafe handle else { throw PeerFailure(description: "SQLite did not open.") }
    unsafe self.handle = handle
    for (id, sample) in items {
      try callPeer { error in
        unsafe peer_items_add(
          handle, Int64(id), sample.name, sample.note, Int64(sample.count), sample.price,
          sample.seen.timeIntervalSinceReferenceDate, error)
      }
    }
    try callPeer { unsafe peer_items_index(handle, $0) }
  }

  deinit { unsafe peer_items_free(handle) }

  /// Reads the items of a count. Like the two functions below, it adds the number of rows that it has read to `rows`.
  func read(count: Int, _ rows: inout Int) throws {
    try callPeer { unsafe peer_items_equal(handle, Int64(count), &rows, $0) }
  }

  func readFirst(from price: Double, _ rows: inout Int) throws {
    try callPeer { unsafe peer_items_first(handle, price, &rows, $0) }
  }

  func scan(from note: String, _ rows: inout Int) throws {
    try callPeer { unsafe peer_items_scan(handle, note, &rows, $0) }
  }
}

/// PostgreSQL from C++ with libpq.
enum PostgresPeer {
  static var version: String { unsafe String(cString: peer_postgres_version()) }

  /// Inserts the rows of all entries again, in the same batches, into a new table.
  static func insert(at address: String) throws -> (batches: Int, seconds: Double) {
    var (batches, seconds) = (0, 0.0)
    try callPeer { unsafe peer_postgres_insert(address, &batches, &seconds, $0) }
    return (batches, seconds)
  }

  /// Reads the rows of all entries with COPY, and returns the seconds.
  static func copy(at address: String) throws -> Double {
    var (count, seconds) = (0, 0.0)
    try callPeer { unsafe peer_postgres_copy(address, &count, &seconds, $0) }
    return seconds
  }
}

/// Plain files.
enum FilesPeer {
  /// Writes and flushes files that differ in their first 8 bytes, and returns the seconds.
  static func write(
    _ bytes: Data, count: Int, firstStamp: UInt64, flushFolderEach: Bool, in folder: URL
  ) throws -> Double {
    var seconds = 0.0
    try callPeer { error in
      unsafe bytes.withUnsafeBytes { buffer in
        unsafe peer_files_write(
          folder.path, buffer.bindMemory(to: UInt8.self).baseAddress, buffer.count, count, firstStamp,
          flushFolderEach, &seconds, error)
      }
    }
    return seconds
  }

  /// The median time of flushing a small write, in seconds.
  static func flushTime(in folder: URL) throws -> Double {
    var seconds = 0.0
    try callPeer { unsafe peer_flush_time(folder.path, 200, &seconds, $0) }
    return seconds
  }

  /// Returns when the file system has nothing left to write.
  static func settle(_ folder: URL) throws {
    try callPeer { unsafe peer_settle(folder.path, $0) }
  }
}
