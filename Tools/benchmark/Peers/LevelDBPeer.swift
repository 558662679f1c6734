import CLibLevelDB
import Foundation

/// A LevelDB database with default options, used through its C interface. LevelDB is safe to use from many threads.
@safe
final class LevelDBPeer: @unchecked Sendable {
  typealias Bytes = [CChar]

  private let database: OpaquePointer
  private let synced: OpaquePointer

  /// - Parameter isNew: whether to create the database instead of opening an existing one.
  init(at url: URL, isNew: Bool = true) throws {
    let options = unsafe leveldb_options_create()
    defer { unsafe leveldb_options_destroy(options) }
    unsafe leveldb_options_set_create_if_missing(options, isNew ? 1 : 0)
    unsafe leveldb_options_set_error_if_exists(options, isNew ? 1 : 0)
    unsafe database = try unsafe Self.check { unsafe leveldb_open(options, url.path, &$0) }!
    unsafe synced = unsafe leveldb_writeoptions_create()!
    unsafe leveldb_writeoptions_set_sync(synced, 1)
  }

  deinit {
    unsafe leveldb_writeoptions_destroy(synced)
    unsafe leveldb_close(database)
  }

  private static func check<Result>(_ call: (inout UnsafeMutablePointer<CChar>?) -> Result) throws -> Result {
    var error: UnsafeMutablePointer<CChar>?
    let result = unsafe call(&error)
    guard let error = unsafe error else { return result }
    defer { unsafe leveldb_free(error) }
    throw PeerFailure("LevelDB: \(unsafe String(cString: error))")
  }

  func put(_ entry: (key: Bytes, value: Bytes)) throws {
    let (key, value) = entry
    try unsafe Self.check { unsafe leveldb_put(database, synced, key, key.count, value, value.count, &$0) }
  }

  /// Writes an entry as one synced batch of up to `pieces` keys, among which the bytes are divided equally.
  func write(_ entry: (key: Bytes, value: Bytes), pieces: Int) throws {
    let batch = unsafe leveldb_writebatch_create()
    defer { unsafe leveldb_writebatch_destroy(batch) }
    var key = entry.key + [0, 0]
    let size = (entry.value.count + pieces - 1) / pieces
    unsafe entry.value.withUnsafeBufferPointer { value in
      for (piece, start) in stride(from: 0, to: value.count, by: size).enumerated() {
        key[key.count - 2] = CChar(truncatingIfNeeded: piece >> 8)
        key[key.count - 1] = CChar(truncatingIfNeeded: piece)
        let count = min(size, value.count - start)
        unsafe leveldb_writebatch_put(batch, key, key.count, value.baseAddress! + start, count)
      }
    }
    try unsafe Self.check { unsafe leveldb_write(database, synced, batch, &$0) }
  }

  /// Reads all entries of a journal. Verifies checksums and does not fill the cache, as LevelDB's manual advises for
  /// bulk reads.
  func forEachEntry(_ body: (UnsafeBufferPointer<CChar>, UnsafeBufferPointer<CChar>) -> Void) throws {
    let options = unsafe leveldb_readoptions_create()
    defer { unsafe leveldb_readoptions_destroy(options) }
    unsafe leveldb_readoptions_set_verify_checksums(options, 1)
    unsafe leveldb_readoptions_set_fill_cache(options, 0)
    let iterator = unsafe leveldb_create_iterator(database, options)
    defer { unsafe leveldb_iter_destroy(iterator) }
    // The keys of entries begin with this byte.
    let tag = CChar(UInt8(ascii: "e"))
    unsafe leveldb_iter_seek(iterator, [tag], 1)
    while unsafe leveldb_iter_valid(iterator) != 0 {
      var (keyCount, count) = (0, 0)
      let key = unsafe UnsafeBufferPointer(start: leveldb_iter_key(iterator, &keyCount), count: keyCount)
      guard unsafe key.first == tag else { break }
      let value = unsafe leveldb_iter_value(iterator, &count)
      unsafe body(key, UnsafeBufferPointer(start: value, count: count))
      unsafe leveldb_iter_next(iterator)
    }
    try unsafe Self.check { unsafe leveldb_iter_get_error(iterator, &$0) }
  }
}
