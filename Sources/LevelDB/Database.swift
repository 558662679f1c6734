internal import CLevelDB
package import Files

/// An ordered map from bytes to bytes in one folder, kept by LevelDB. **Start here.**
///
/// 1. It is safe to use from many threads. Writes are applied one after the other.
/// 2. After a write has failed, no other write is accepted: the outcome of the failed one is unknown until
///    the database is opened again. Reading goes on.
/// 3. Opening for reading changes nothing on disk, not even what LevelDB usually rewrites at opening. Opening for
///    writing has two steps, and the first is the same: what LevelDB rewrites is put on disk by the second.
/// 4. Nothing on disk is ever written over, and nothing is removed that may be the only copy of an entry.
/// 5. It is closed by `close()`, or when it goes. A call after that is an error.
@safe
package final class Database: Sendable {
  /// What opening may do to the disk.
  package enum Access: Sendable {
    /// Nothing at all. New files of LevelDB are held in memory (about the size of the log), and writes are
    /// refused. No lock is taken: another one must keep writers away.
    case readOnly
    /// The same while another process may be writing. What is in LevelDB's log is then not part of the database, but
    /// given by `readLogs`; and a table that the writer has replaced since is missing, see `hasChanged`.
    case inUse
    /// Open what is there, for writing.
    case existing
    /// The same, but change nothing before `beginWriting()`.
    case prepared
    /// Make a new database, and refuse one that is there.
    case new
    /// Open what is there, or make a new one where there is none.
    case existingOrNew
  }

  /// How LevelDB works. The defaults were chosen by measuring with entries of 300 bytes.
  package struct Options: Sendable {
    /// Whether a database whose log is damaged is opened with what stands before the damage; `damage` then says
    /// where that is, and nothing can be written. Else it is refused.
    package var opensUpToDamage = false
    /// The bytes that are held in memory, besides the log, before they become a table. Opening after a
    /// crash reads as much.
    package var writeBufferByteCount = 8 << 20
    /// The bytes that are read and checked as one. With 16 KiB a scan is an eighth faster, and a
    /// lookup takes more than twice as long.
    package var blockByteCount = 4 << 10
    /// The bytes after which a compaction begins another table.
    package var tableByteCount = 8 << 20
    /// A log up to this size goes on growing when the database is opened again: it is copied, at a cost of a few
    /// milliseconds at most. A larger one becomes a table. Were each log made a table, there would be as many small
    /// tables as there were openings, since tables whose keys ascend are never merged.
    package var keptLogByteCount = 1 << 20
    /// For tests: sees each read, and can make it fail or fall short.
    package var readHook: ReadHook?
    /// For tests: whether the system is asked for a thread.
    package var asksForThread = true

    package init() {}
  }

  /// Where the folder of the database was when it was opened; for messages.
  package let path: String

  // Unsafe by its type only: everything that is done with it is guarded by a lock on the other side, and
  // it stays valid until `deinit`.
  private nonisolated(unsafe) let handle: OpaquePointer
  // Called through `handle`, so it must not go before it.
  private let hook: FileHookBox?
  private let readHook: ReadHookBox?

  /// Opens the database in a folder.
  ///
  /// - Parameter hook: for tests; sees each change to the disk, and can make it fail.
  /// - Throws: `notFound` if there is none and none is to be made; `wrongUse` if there is one and a new
  ///   one is to be made; `busy` if it is open for writing elsewhere; `damaged` if the folder holds
  ///   parts of a database only, or anything but plain files, or if a file that would be replaced holds an entry
  ///   that is nowhere else; `io`, `outOfResources`. The folder is then as it was.
  /// - Complexity: O(*n*) in the size of the log, which is bounded by the write buffer.
  package convenience init(
    path: String, access: Access, options: Options = Options(), hook: FileHook? = nil
  ) throws(DatabaseError) {
    try self.init(path: path, folder: Int32(CLDB_BY_PATH), access: access, options: options, hook: hook)
  }

  /// The same for a folder that is open: all files are reached through it, also when it is moved and another one is put
  /// in its place. Its hooks see each change and each read.
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

  /// Puts on disk what LevelDB has changed in memory when it opened, and lets writes begin.
  ///
  /// - Throws: `damaged` if the log is damaged, or if a file that would go holds an entry that is nowhere else;
  ///   `busy`; `io`, `outOfResources`. The folder is then as it was, and the database can only be closed.
  package func beginWriting() throws(DatabaseError) {
    try unsafe DatabaseError.check(path: path) { status in unsafe cldb_begin_writing(handle, status) }
  }

  /// Whether a write that a power loss has torn was left out when the log was read. It was never confirmed.
  package var hasTornTail: Bool { unsafe cldb_has_torn_tail(handle) }

  /// Where the log is damaged; nil if it is whole. See `Options.opensUpToDamage`.
  package var damage: DatabaseError? {
    var status = cldb_status()
    return unsafe cldb_damage(handle, &status) ? nil : DatabaseError(status, path: path)
  }

  /// The first and the last key of each table and of the log, as of opening, for each first byte that their keys have.
  ///
  /// - Complexity: O(*n*) in the number of tables; of most no byte is read.
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

  /// Calls `receive` with each key and value that LevelDB's log has gained since the last call, in the order in which
  /// they were written. For one thread at a time, and for a database opened as one in use.
  ///
  /// What is being written at the moment, or was begun and never finished, is left out. So is a log that was begun
  /// after opening: opening anew finds it.
  /// - Complexity: O(*n*) in the bytes that are new.
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

  /// Whether a writer may have removed files since opening because it has others in their place. A file that is
  /// missing is no damage then: opening anew finds what it held.
  package var hasChanged: Bool { unsafe cldb_has_changed(handle) }

  /// Whether it was opened for writing since. What `readLogs` has given of a write that was never confirmed may then be
  /// gone, and another one have its place: opening anew finds that.
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
  ///   - batch: what to store. It is left as it is.
  ///   - sync: whether to wait until the drive has confirmed it.
  /// - Throws: `io` or another error if it is unknown whether the batch is stored; `poisoned` if
  ///   nothing was tried, because an earlier write has failed; `readOnly`; `closed`.
  package func write(_ batch: inout WriteBatch, sync: Bool = true) throws(DatabaseError) {
    let batch = unsafe batch.handle
    try unsafe DatabaseError.check(path: path) { status in
      unsafe cldb_write(handle, batch, sync, status)
    }
  }

  /// Lends the value of a key to `body`.
  ///
  /// - Returns: what `body` returns, or nil if there is no such key.
  /// - Throws: `damaged` or `io` if it can't be known or read, else what `body` throws.
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
  /// - Throws: `damaged` or `io` if it can't be known or read.
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

  /// A cursor over the entries of this moment, at none of them yet.
  package func cursor() throws(DatabaseError) -> Cursor {
    var status = cldb_status()
    guard let cursor = unsafe cldb_iterator_new(handle, &status) else {
      throw DatabaseError(status, path: path)
    }
    return unsafe Cursor(self, handle: cursor)
  }

  /// One of LevelDB's own figures as a text, such as `leveldb.stats` or `leveldb.num-files-at-level0`; nil
  /// if it knows none of that name.
  package func property(_ name: String) throws(DatabaseError) -> String? {
    var text: String?
    try unsafe lend { receive, context, status in
      unsafe cldb_property(handle, name, receive, context, status)
    } to: { bytes in
      text = unsafe String(decoding: bytes, as: UTF8.self)
    }
    return text
  }

  /// About how many bytes the tables hold for the keys from `first` on and before `limit`. What is still in
  /// the log is not counted.
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

  /// Makes a call of the C face that hands bytes to a receiver, and has them handed to a closure.
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
