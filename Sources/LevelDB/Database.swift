internal import CLevelDB
package import Files

/// An ordered map from bytes to bytes in one folder, stored by LevelDB. **Start here.**
///
/// 1. It is safe to use from any thread. Writes are applied one after the other.
/// 2. After a write has failed, no other write is accepted: the outcome of the failed one is unknown until the database
///    is opened again. Reading still works. A write that was `refused` has stored nothing, and may be tried again.
/// 3. Opening for reading changes nothing on disk, not even what LevelDB usually rewrites at opening. Opening for
///    writing has two steps: the first is the same, and the second writes LevelDB's changes to disk.
/// 4. No byte of a record or a table on disk is ever overwritten, and nothing is removed that may be the only copy of
///    an entry.
/// 5. `close()` or deinitialization closes it. A call after that is an error.
@safe
package final class Database: Sendable {
  /// How opening may change the disk.
  package enum Access: Sendable {
    /// Change nothing. New files of LevelDB are held in memory (about the size of the log), and writes are refused. No
    /// lock is taken: the caller must exclude writers.
    case readOnly
    /// Change nothing, while another process may be writing. The database then lacks LevelDB's log, which `readLogs`
    /// reads, and tables that the writer has replaced since; see `hasChanged`.
    case inUse
    /// Open an existing database for writing.
    case existing
    /// The same, but without changes before `beginWriting()`.
    case prepared
    /// Create a new database; fail if there is one.
    case new
    /// Open an existing database, or create a new one.
    case existingOrNew
  }

  /// The options of LevelDB. The defaults were measured with entries of 300 bytes.
  package struct Options: Sendable {
    /// Whether a database with a damaged log is opened up to the damage, read-only; `damage` then has the place.
    /// Otherwise it is refused.
    package var opensUpToDamage = false
    /// The bytes that are held in memory, in addition to the log, before they become a table. Opening after a crash
    /// reads up to that many.
    package var writeBufferByteCount = 8 << 20
    /// The bytes of a block, which is read and checked as one. With 16 KiB a scan is an eighth faster, and a lookup
    /// takes more than twice as long.
    package var blockByteCount = 4 << 10
    /// The bytes after which a compaction begins another table.
    package var tableByteCount = 8 << 20
    /// A log up to this size is reused when the database is opened again: it is copied, which takes a few milliseconds
    /// at most. A larger one becomes a table. If each log became a table, there would be a small table for each
    /// opening, because tables with ascending keys are never merged.
    package var keptLogByteCount = 1 << 20
    /// For tests: sees each read, and can make it fail or fall short.
    package var readHook: ReadHook?
    /// For tests: whether the system is asked for a thread.
    package var asksForThread = true

    package init() {}
  }

  /// The path of the folder at the time of the opening; for messages.
  package let path: String

  // Unsafe only by its type: the C++ side guards it with a lock, and it stays valid until `deinit`.
  private nonisolated(unsafe) let handle: OpaquePointer
  // Called through `handle`, so it must outlive it.
  private let hook: FileHookBox?
  private let readHook: ReadHookBox?

  /// Opens the database in a folder.
  ///
  /// - Parameter hook: for tests; sees each change to the disk, and can make it fail.
  /// - Throws: `notFound` if there is no database and `access` does not create one; `wrongUse` if there is one and
  ///   `access` is to create a new one; `busy` if it is open for writing elsewhere; `damaged` if the folder has only
  ///   parts of a database, or anything but plain files, or if a file that would be replaced has an entry that is
  ///   nowhere else; `io`, `outOfResources`. The folder is then unchanged.
  /// - Complexity: O(*n*) in the size of the log, which is bounded by the write buffer.
  package convenience init(
    path: String, access: Access, options: Options = Options(), hook: FileHook? = nil
  ) throws(DatabaseError) {
    try self.init(path: path, folder: Int32(CLDB_BY_PATH), access: access, options: options, hook: hook)
  }

  /// Opens the database in an open folder: all files are opened relative to it, even if it is moved and replaced. Its
  /// hooks see each change and each read.
  package convenience init<Failure>(
    in folder: Folder<Failure>, access: Access, options: Options = Options()
  ) throws(DatabaseError) {
    defer { withExtendedLifetime(folder) {} }
    var options = options
    if options.readHook == nil { options.readHook = folder.readHook }
    try self.init(
      path: folder.path, folder: folder.descriptor, access: access, options: options, hook: folder.hook)
  }

  private init(
    path: String, folder: Int32, access: Access, options: Options, hook: FileHook?
  ) throws(DatabaseError) {
    let box = hook.map(FileHookBox.init)
    var settings = unsafe cldb_options()
    unsafe settings.read_only = access == .readOnly || access == .inUse
    unsafe settings.in_use = access == .inUse
    unsafe settings.create_if_missing = access == .new || access == .existingOrNew
    unsafe settings.error_if_exists = access == .new
    unsafe settings.up_to_damage = options.opensUpToDamage
    unsafe settings.write_buffer_size = max(0, options.writeBufferByteCount)
    unsafe settings.block_size = max(0, options.blockByteCount)
    unsafe settings.table_size = max(0, options.tableByteCount)
    unsafe settings.kept_log_size = max(0, options.keptLogByteCount)
    if let box {
      unsafe settings.hook = unsafe FileHookBox.call
      unsafe settings.hook_context = unsafe box.context
    }
    unsafe settings.without_thread = !options.asksForThread
    let readBox = options.readHook.map(ReadHookBox.init)
    if let readBox {
      unsafe settings.read_hook = unsafe ReadHookBox.call
      unsafe settings.read_hook_context = unsafe readBox.context
    }
    var status = cldb_status()
    guard let handle = unsafe cldb_open(path, folder, &settings, &status) else {
      throw DatabaseError(status, path: path)
    }
    self.path = path
    unsafe self.handle = unsafe handle
    self.hook = box
    self.readHook = readBox
    switch access {
    case .readOnly, .inUse, .prepared: break
    case .existing, .new, .existingOrNew: try beginWriting()
    }
  }

  deinit { unsafe cldb_free(handle) }

  /// Writes to disk what LevelDB has changed in memory when it opened, and enables writing.
  ///
  /// - Throws: `damaged` if the log is damaged, or if a file that would be removed has an entry that is nowhere else;
  ///   `busy`; `io`, `outOfResources`. The folder is then unchanged, and the database can only be closed.
  package func beginWriting() throws(DatabaseError) {
    try unsafe DatabaseError.check(path: path) { status in unsafe cldb_begin_writing(handle, status) }
  }

  /// Whether a torn tail of the log was ignored. It was never confirmed.
  package var hasTornTail: Bool { unsafe cldb_has_torn_tail(handle) }

  /// Where the log is damaged; nil if it is intact. See `Options.opensUpToDamage`.
  package var damage: DatabaseError? {
    var status = cldb_status()
    return unsafe cldb_damage(handle, &status) ? nil : DatabaseError(status, path: path)
  }

  /// The first and the last key of each table and of the log, as of opening. Keys that begin with different bytes have
  /// separate ranges.
  ///
  /// - Complexity: O(*n*) in the number of tables; most are not read.
  package func keyRanges() throws(DatabaseError) -> [(first: [UInt8], last: [UInt8])] {
    final class Ranges { var ranges: [(first: [UInt8], last: [UInt8])] = [] }
    let result = Ranges()
    try unsafe DatabaseError.check(path: path) { status in
      unsafe cldb_key_ranges(
        handle,
        { context, range in
          let result = unsafe Unmanaged<Ranges>.fromOpaque(context).takeUnretainedValue()
          let range = unsafe range.pointee
          result.ranges.append(
            (
              unsafe Array(UnsafeRawBufferPointer(start: range.first, count: range.first_size)),
              unsafe Array(UnsafeRawBufferPointer(start: range.last, count: range.last_size))
            ))
        }, Unmanaged.passUnretained(result).toOpaque(), status)
    }
    return result.ranges
  }

  /// Calls `receive` with each new key and value of LevelDB's log since the last call, in the order of writing. For one
  /// thread at a time, and for a database opened as in use.
  ///
  /// Incomplete writes are ignored. So is a log that was started after the opening: opening again finds it.
  /// - Complexity: O(*n*) in the new bytes.
  package func readLogs(_ receive: (_ key: [UInt8], _ value: [UInt8]) -> Void) throws(DatabaseError) {
    typealias Receiver = ([UInt8], [UInt8]) -> Void
    var status = cldb_status()
    let isDone = withoutActuallyEscaping(receive) { receive in
      var receive = receive
      return unsafe withUnsafeMutablePointer(to: &receive) { context in
        unsafe cldb_read_logs(
          handle,
          { context, entry in
            let receive = unsafe context.assumingMemoryBound(to: Receiver.self).pointee
            let entry = unsafe entry.pointee
            receive(
              unsafe Array(UnsafeRawBufferPointer(start: entry.key, count: entry.key_size)),
              unsafe Array(UnsafeRawBufferPointer(start: entry.value, count: entry.value_size)))
          }, context, &status)
      }
    }
    guard isDone else { throw DatabaseError(status, path: path) }
  }

  /// Whether a writer may have replaced files since the opening. A missing file is then not damage: opening again finds
  /// its contents.
  package var hasChanged: Bool { unsafe cldb_has_changed(handle) }

  /// Whether it was opened for writing since. Unconfirmed writes that `readLogs` has read may then have been replaced
  /// by others: opening again finds these.
  package var wasReopened: Bool { unsafe cldb_was_reopened(handle) }

  /// Waits for calls that are in progress and closes the database. Closing again does nothing.
  ///
  /// - Throws: `busy` while there are cursors; the database stays open.
  package func close() throws(DatabaseError) {
    try unsafe DatabaseError.check(path: path) { status in unsafe cldb_close(handle, status) }
  }

  /// Stores the entries of a batch, all or none.
  ///
  /// - Parameters:
  ///   - batch: the batch, which is not changed.
  ///   - sync: whether to wait until the drive has confirmed it.
  /// - Throws: `io` or another error if it is unknown whether the batch is stored; `refused` if nothing was stored
  ///   because no descriptor was free; `poisoned` if nothing was tried, because an earlier write has failed;
  ///   `readOnly`; `closed`.
  package func write(_ batch: inout WriteBatch, sync: Bool) throws(DatabaseError) {
    let batch = unsafe batch.handle
    try unsafe DatabaseError.check(path: path) { status in
      unsafe cldb_write(handle, batch, sync, status)
    }
  }

  /// Calls `body` with the value of a key.
  ///
  /// - Returns: what `body` returns, or nil if there is no such key.
  /// - Throws: `damaged` or `io` if it can't be read, otherwise what `body` throws.
  /// - Complexity: O(log *n*), and one read of a block.
  package func withValue<Result>(
    for key: RawSpan, _ body: (_ value: RawSpan) throws -> Result
  ) throws -> Result? {
    var result: Swift.Result<Result, any Error>?
    try unsafe lendValue(for: key) { value in
      result = Swift.Result { try unsafe body(value.bytes) }
    }
    return try result?.get()
  }

  /// A copy of the value of a key, or nil if there is no such key.
  ///
  /// - Throws: `damaged` or `io` if it can't be read.
  /// - Complexity: O(log *n*), and one read of a block.
  package func value(for key: RawSpan) throws(DatabaseError) -> [UInt8]? {
    var copy: [UInt8]?
    try unsafe lendValue(for: key) { value in copy = unsafe Array(value) }
    return copy
  }

  /// A copy of the value of a key, or nil if there is no such key.
  package func value(for key: [UInt8]) throws(DatabaseError) -> [UInt8]? {
    try unsafe value(for: key.span.bytes)
  }

  /// A cursor over the current entries. It is at no entry until it is moved.
  package func cursor() throws(DatabaseError) -> Cursor {
    var status = cldb_status()
    guard let cursor = unsafe cldb_iterator_new(handle, &status) else {
      throw DatabaseError(status, path: path)
    }
    return unsafe Cursor(self, handle: cursor)
  }

  /// A property of LevelDB as a text, such as `leveldb.stats` or `leveldb.num-files-at-level0`; nil if it is unknown.
  package func property(_ name: String) throws(DatabaseError) -> String? {
    var text: String?
    try unsafe lend { receive, context, status in
      unsafe cldb_property(handle, name, receive, context, status)
    } to: { bytes in
      text = unsafe String(decoding: bytes, as: UTF8.self)
    }
    return text
  }

  /// About how many bytes the tables have for the keys from `first` up to, but not including, `limit`. The log is not
  /// counted.
  package func approximateByteCount(from first: [UInt8], to limit: [UInt8]) throws(DatabaseError) -> UInt64 {
    var count: UInt64 = 0
    try unsafe DatabaseError.check(path: path) { status in
      unsafe first.withUnsafeBytes { first in
        unsafe limit.withUnsafeBytes { limit in
          unsafe cldb_approximate_size(
            handle, first.baseAddress, first.count, limit.baseAddress, limit.count, &count, status)
        }
      }
    }
    return count
  }

  private func lendValue(
    for key: RawSpan, to receiver: (UnsafeRawBufferPointer) -> Void
  ) throws(DatabaseError) {
    try unsafe lend { receive, context, status in
      unsafe key.withUnsafeBytes { key in
        unsafe cldb_get(handle, key.baseAddress, key.count, receive, context, status)
      }
    } to: { value in
      unsafe receiver(value)
    }
  }

  /// Calls a C function that passes bytes to a receiver, and passes them to a closure.
  private func lend(
    _ call: (cldb_receiver, UnsafeMutableRawPointer, UnsafeMutablePointer<cldb_status>) -> Bool,
    to receiver: (UnsafeRawBufferPointer) -> Void
  ) throws(DatabaseError) {
    typealias Receiver = (UnsafeRawBufferPointer) -> Void
    var status = cldb_status()
    let isDone = unsafe withoutActuallyEscaping(receiver) { receiver in
      var receiver = unsafe receiver
      return unsafe withUnsafeMutablePointer(to: &receiver) { context in
        unsafe call(
          { context, bytes, count in
            let receiver = unsafe context.assumingMemoryBound(to: Receiver.self).pointee
            unsafe receiver(UnsafeRawBufferPointer(start: bytes, count: count))
          }, context, &status)
      }
    }
    guard isDone else { throw DatabaseError(status, path: path) }
  }
}
