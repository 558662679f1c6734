internal import CLibLevelDB

/// Another program that opens a database of LevelDB: it uses LevelDB as it is, which moves the log into a table and, unless
/// it is told otherwise, compresses with Snappy.
package struct PlainLevelDB: Sendable, CustomStringConvertible {
  /// Whether blocks are compressed.
  package var compresses = true
  package var blockByteCount = 4 << 10
  package var restartInterval: Int32 = 16
  /// Whether tables get a Bloom filter.
  package var hasFilter = false
  /// Whether all tables are merged.
  package var compacts = false

  package init(
    compresses: Bool = true, blockByteCount: Int = 4 << 10, restartInterval: Int32 = 16,
    hasFilter: Bool = false,
    compacts: Bool = false
  ) {
    self.compresses = compresses
    self.blockByteCount = blockByteCount
    self.restartInterval = restartInterval
    self.hasFilter = hasFilter
    self.compacts = compacts
  }

  /// The programs that tests try.
  package static let all = [
    PlainLevelDB(), PlainLevelDB(compacts: true),
    PlainLevelDB(blockByteCount: 64 << 10, restartInterval: 1, hasFilter: true, compacts: true),
    PlainLevelDB(blockByteCount: 1 << 10, restartInterval: 128),
    PlainLevelDB(compresses: false, blockByteCount: 1 << 20, hasFilter: true, compacts: true),
  ]

  package var description: String {
    "Snappy: \(compresses), blocks: \(blockByteCount), restarts: \(restartInterval), filter: \(hasFilter), "
      + "merges: \(compacts)"
  }

  /// Opens a database, reads it, and closes it.
  /// - Returns: the number of keys.
  package func look(at path: String) throws -> Int {
    let options = unsafe leveldb_options_create()
    defer { unsafe leveldb_options_destroy(options) }
    let filter = unsafe leveldb_filterpolicy_create_bloom(10)
    defer { unsafe leveldb_filterpolicy_destroy(filter) }
    unsafe leveldb_options_set_compression(options, compresses ? 1 : 0)
    unsafe leveldb_options_set_block_size(options, blockByteCount)
    unsafe leveldb_options_set_block_restart_interval(options, restartInterval)
    if hasFilter { unsafe leveldb_options_set_filter_policy(options, filter) }
    var error: UnsafeMutablePointer<CChar>?
    guard let database = unsafe leveldb_open(options, path, &error) else {
      defer { unsafe leveldb_free(error) }
      throw Failure(message: unsafe error.map { unsafe String(cString: $0) } ?? "")
    }
    defer { unsafe leveldb_close(database) }
    if compacts { unsafe leveldb_compact_range(database, nil, 0, nil, 0) }
    let reading = unsafe leveldb_readoptions_create()
    defer { unsafe leveldb_readoptions_destroy(reading) }
    let iterator = unsafe leveldb_create_iterator(database, reading)
    defer { unsafe leveldb_iter_destroy(iterator) }
    var count = 0
    unsafe leveldb_iter_seek_to_first(iterator)
    while unsafe leveldb_iter_valid(iterator) != 0 {
      count += 1
      unsafe leveldb_iter_next(iterator)
    }
    return count
  }

  package struct Failure: Error { package let message: String }
}
