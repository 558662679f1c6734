internal import CLevelDB
package import Files

/// An ordered map from bytes to bytes in one folder, stored by LevelDB. **Start here.**
///
/// 1. It is safe to use from any thread, but no other call may be in progress while it is closed. Writes are applied one
///    after the other.
/// 2. After a write has failed, no other write is accepted: the outcome of the failed one is unknown until the database
///    is opened again. Reading still works. A write that was `refused` has stored nothing, and may be tried again.
/// 3. Opening for reading changes nothing on disk, not even what LevelDB usually rewrites at opening. Opening
///    for writing does the same first, then writes LevelDB's changes to disk.
/// 4. No byte of a record or a table on disk is ever overwritten, and nothing is removed that may be the only copy of
///    an entry.
/// 5. `close()` or deinitialization closes it. A call after that is an error.
@safe
package final class Database: Sendable {
  /// How opening may change the disk.
  package enum Access: Sendable {
    /// Change nothing, and refuse writes. LevelDB's new files, about the size of the log, are in memory. No
    /// lock is taken: the caller must exclude writers.
    case readOnly
    /// Change nothing, while another process may be writing. The database then lacks LevelDB's log, which `readLogs`
    /// reads, and tables that the writer has replaced since; see `hasChanged`.
    case inUse
    /// Open an existing database for writing.
    case existing
    /// Open an existing database for writing, without changes before `beginWriting()`.
    case prepared
    /// Open an existing database, or create a new one.
    case existingOrNew
  }

  /// The options of LevelDB. The defaults were measured with entries of 300 bytes.
  package struct Options: Sendable {
    /// Whether a database with a damaged log is opened up to the damage, read-only; `damage` then has the place.
    /// Otherwise it is refused.
    package var opensUpToDamage = false
    /// The bytes of entries in memory that become a table. Opening after a crash reads up to that many.
    package var writeBufferByteCount = 8 << 20
    /// The bytes of a block, the unit of reading. With 16 KiB a scan is an eighth faster, and a lookup takes
    /// more than twice as long.
    package var blockByteCount = 4 << 10
    /// The bytes after which a compaction begins another table.
    package var tableByteCount = 8 << 20
    /// A log up to this size is copied and reused when the database is opened again, which takes a few
    /// milliseconds at most. A larger one becomes a table. Tables with ascending keys are never merged, so if
    /// each log became a table, there would be a small table for each opening.
    package var keptLogByteCount = 1 << 20
    /// For tests: false as if the system had no thread.
    package var asksForThread = true

    package init() {}
  }

  /// The path of the folder at the time of the opening; for messages.
  package let path: String

  // Safe to share: LevelDB is safe to use from any thread, and the handle is valid until `deinit`.
  private nonisolated(unsafe) let handle: OpaquePointer
  // Must outlive `handle`, which calls it.
  private let hooks: HookBox

  /// Opens the database in an open folder: all files are opened relative to it, even if it is moved and replaced. Its
  /// hooks see each change and each read.
  ///
  /// - Throws: `notFound` if there is no database and `access` does not create one; `busy` if it is open for writing
  ///   elsewhere; `damaged` if the folder has only parts of a database, or anything but plain files, or if a file that
  ///   would be replaced has an entry that is nowhere else; `io`, `outOfResources`. The folder is then unchanged.
  /// - Complexity: O(*n*) in the size of the log, which is bounded by the write buffer.
  package init<Failure>(
    in folder: Folder<Failure>, access: Access, options: Options = Options()
  ) throws(DatabaseError) {
    defer { withExtendedLifetime(folder) {} }
    hooks = HookBox(folder.hook, folder.readHook)
    var settings = unsafe cldb_options()
    unsafe settings.read_only = access == .readOnly || access == .inUse
    unsafe settings.in_use = access == .inUse
    unsafe settings.create_if_missing = access == .existingOrNew
    unsafe settings.write_buffer_size = max(0, options.writeBufferByteCount)
    unsafe settings.block_size = max(0, options.blockByteCount)
    unsafe settings.table_size = max(0, options.tableByteCount)
    unsafe settings.kept_log_size = max(0, options.keptLogByteCount)
    unsafe settings.without_thread = !options.asksForThread
    if folder.hook != nil || folder.readHook != nil {
      unsafe settings.hook = unsafe HookBox.call
      unsafe settings.hook_context = unsafe hooks.context
    }
    var status = cldb_status()
    guard let handle = unsafe cldb_open(folder.path, folder.descriptor, &settings, &status) else {
      throw DatabaseError(status, path: folder.path)
    }
    path = folder.path
    unsafe self.handle = unsafe handle
    if !options.opensUpToDamage, let damage { throw damage }
    switch access {
    case .readOnly, .inUse, .prepared: break
    case .existing, .existingOrNew: try beginWriting()
    }
  }

  deinit { unsafe cldb_free(handle) }

  /// Writes to disk what LevelDB has changed in memory when it opened, and enables writing.
  ///
  /// - Parameter first: The first key that is needed.
  /// - Throws: `damaged` if the log is damaged, or if a file that would be removed has an entry that is needed and nowhere
  ///   else; `busy`; `io`, `outOfResources`. The folder is then unchanged, except for the removal of useless files, and the
  ///   database can only be closed.
  package func beginWriting(needing first: [UInt8] = []) throws(DatabaseError) {
    try unsafe call(path: path) { status in
      unsafe first.withUnsafeBytes { unsafe cldb_begin_writing(handle, $0.baseAddress, $0.count, status) }
    }
  }

  /// Whether a file of a database can have this name.
  package static func isFileName(_ name: String) -> Bool { unsafe cldb_is_file_name(name) }

  /// Whether a torn tail of the log or of the manifest was ignored. A torn tail was never confirmed.
  package var hasTornTail: Bool { unsafe cldb_has_torn_tail(handle) }

  /// Where the log is damaged; nil if it is intact. See `Options.opensUpToDamage`.
  package var damage: DatabaseError? {
    var status = cldb_status()
    return unsafe cldb_damage(handle, &status) ? nil : DatabaseError(status, path: path)
  }

  /// The first and the last key of each table and of the log, as of opening, with separate ranges for keys
  /// that begin with different bytes.
  ///
  /// - Complexity: O(*n*) in the number of tables; most are not read.
  package func keyRanges() throws(DatabaseError) -> [(first: [UInt8], last: [UInt8])] {
    var ranges: [(first: [UInt8], last: [UInt8])] = []
    try unsafe call(path: path) { receiver, context, status in
      unsafe cldb_key_ranges(handle, receiver, context, status)
    } receiver: { first, last in
      ranges.append(unsafe (Array(first), Array(last)))
      return CLDB_NEXT
    }
    return ranges
  }

  /// Calls `receive` with each new key and value of LevelDB's log since the last call, in the order of writing. For one
  /// thread at a time, and for a database opened as in use.
  ///
  /// Incomplete writes are ignored. So is a log that was started after the opening: opening again finds it.
  /// - Complexity: O(*n*) in the new bytes.
  package func readLogs(_ receive: (_ key: [UInt8], _ value: [UInt8]) -> Void) throws(DatabaseError) {
    try unsafe call(path: path) { receiver, context, status in
      unsafe cldb_read_logs(handle, receiver, context, status)
    } receiver: { key, value in
      unsafe receive(Array(key), Array(value))
      return CLDB_NEXT
    }
  }

  /// Whether a writer may have replaced files since the opening. A missing file is then not damage, and unconfirmed
  /// writes that `readLogs` has read may have been replaced by others: opening again finds the contents.
  package var hasChanged: Bool { unsafe cldb_has_changed(handle) }

  /// Closes the database. Closing again does nothing.
  package func close() { unsafe cldb_close(handle) }

  /// Stores entries, all or none.
  ///
  /// - Parameter sync: whether to wait until the drive has confirmed them.
  /// - Throws: `io` or another error if it is unknown whether they are stored; `refused` if nothing was stored because no
  ///   descriptor was free; `poisoned` if nothing was tried, because an earlier write has failed; `readOnly`; `closed`.
  package func write(_ entries: [(key: [UInt8], value: [UInt8])], sync: Bool) throws(DatabaseError) {
    let batch = unsafe cldb_batch_new()
    defer { unsafe cldb_batch_free(batch) }
    for (key, value) in entries {
      unsafe key.withUnsafeBytes { key in
        unsafe value.withUnsafeBytes { value in
          var entry = unsafe cldb_entry(
            key: key.baseAddress, key_size: key.count, value: value.baseAddress, value_size: value.count)
          unsafe cldb_batch_put(batch, &entry)
        }
      }
    }
    try unsafe call(path: path) { status in unsafe cldb_write(handle, batch, sync, status) }
  }

  /// The value of a key, or nil if there is no such key.
  ///
  /// - Throws: `damaged` or `io` if it can't be read.
  /// - Complexity: O(log *n*), and one read of a block.
  package func value(for key: [UInt8]) throws(DatabaseError) -> [UInt8]? {
    var found: [UInt8]?
    try unsafe call(path: path) { receiver, context, status in
      unsafe key.withUnsafeBytes {
        unsafe cldb_get(handle, $0.baseAddress, $0.count, receiver, context, status)
      }
    } receiver: { _, value in
      found = unsafe Array(value)
      return CLDB_NEXT
    }
    return found
  }

  /// What a scan does after an entry.
  package enum ScanAnswer: Sendable {
    case next
    case stop
    /// Pass the same entry again, unless something before it could not be read.
    case check
  }

  /// Calls `body` with the entries from one key through another one, in order or backwards, as of this call.
  ///
  /// Every checksum is verified, and no block is cached. LevelDB skips what it can't read and continues. **If you expected
  /// another entry, answer `check`.**
  /// - Throws: `damaged` or `io` if something could not be read, and `body` did not stop before the end or checked.
  /// - Complexity: O(log *n*), then O(1) for each entry; slower backwards by a constant factor.
  package func scan(
    from first: [UInt8], through last: [UInt8], backwards: Bool = false,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> ScanAnswer
  ) throws(DatabaseError) {
    try unsafe call(path: path) { receiver, context, status in
      unsafe first.withUnsafeBytes { first in
        unsafe last.withUnsafeBytes { last in
          unsafe cldb_scan(
            handle, first.baseAddress, first.count, last.baseAddress, last.count, backwards, receiver,
            context,
            status)
        }
      }
    } receiver: { key, value in
      switch unsafe body(key, value) {
      case .next: CLDB_NEXT
      case .stop: CLDB_STOP
      case .check: CLDB_CHECK
      }
    }
  }
}
