internal import CLevelDB
package import Files

/// An ordered map from bytes to bytes in one folder, stored by LevelDB. **Start here.**
///
/// 1. A database is safe to use from any thread, but it must not be closed while another call is in progress. Writes
///    are applied one after the other.
/// 2. After a write has failed, no other is accepted: the outcome of the failed write is unknown until the next
///    opening. Reading still works. A write that was `refused` has stored nothing, and may be tried again.
/// 3. Opening for reading changes nothing on disk, not even what LevelDB usually rewrites at opening. Opening for
///    writing begins in the same way, and then writes LevelDB's changes to disk.
/// 4. No byte of a record or a table on disk is ever overwritten, and no file is removed that may have the only copy of
///    an entry.
/// 5. `close()` or deinitialization closes the database. Later reads and writes throw `closed`.
@safe
package final class Database: Sendable {
  /// How opening may change the disk.
  package enum Access: Sendable {
    /// Change nothing, and refuse writes. LevelDB's new files, about the size of the log, are kept in memory. No lock
    /// is taken: the caller must exclude writers.
    case readOnly
    /// Change nothing, while another process may be writing. Reads then lack the entries of LevelDB's log, which
    /// `readLogs` returns, and may fail if the writer has removed tables; see `hasChanged`.
    case inUse
    /// Open an existing database for writing.
    case existing
    /// Open an existing database for writing, but change nothing before `beginWriting()`.
    case prepared
    /// Open an existing database, or create a new one.
    case existingOrNew
  }

  /// The options of LevelDB. The defaults were measured with entries of 300 bytes.
  package struct Options: Sendable {
    /// Whether a database with a damaged log is opened, up to the damage and for reading only; `damage` then has the
    /// place. If false, opening throws.
    package var opensUpToDamage = false
    /// When the entries in memory have this many bytes, they become a table. Opening after a crash reads up to as many.
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
    /// For tests: whether to start a thread. If false, everything works as if the system had refused it.
    package var asksForThread = true

    package init() {}
  }

  /// The path of the folder at the time of the opening; for messages.
  package let path: String

  // Safe to share: LevelDB is safe to use from any thread, and the handle is valid until `deinit`.
  private nonisolated(unsafe) let handle: OpaquePointer
  // Must outlive `handle`, which calls the hooks.
  private let hooks: HookBox

  /// Opens the database in an open folder. All files are opened relative to the folder's descriptor, even if the folder
  /// is moved and replaced. The hooks of the folder see each change and each read.
  ///
  /// - Throws: `notFound` if there is no database and `access` does not create one; `busy` if it is open for writing;
  ///   `damaged` if the folder has only parts of a database, if one of its files is not a plain file, or if a file that
  ///   would be replaced has the only copy of an entry; `io`; `outOfResources`. The folder is then unchanged.
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

  /// Writes to disk what LevelDB changed in memory when it opened, and allows writes.
  ///
  /// - Parameter first: the first key that is needed. Files with the only copies of earlier entries may be removed.
  /// - Throws: `damaged` if the log is damaged, or if a file that would be removed has the only copy of a needed entry;
  ///   `busy`; `io`; `outOfResources`. The folder is then unchanged, except for the removal of useless files, and the
  ///   database can only be closed.
  package func beginWriting(needing first: [UInt8] = []) throws(DatabaseError) {
    try unsafe call(path: path) { status in
      unsafe first.withUnsafeBytes { unsafe cldb_begin_writing(handle, $0.baseAddress, $0.count, status) }
    }
  }

  /// Whether a file of a database can have this name.
  package static func isFileName(_ name: String) -> Bool { unsafe cldb_is_file_name(name) }

  /// Whether a torn tail of the log or of the manifest was ignored: an incomplete write that was never confirmed.
  package var hasTornTail: Bool { unsafe cldb_has_torn_tail(handle) }

  /// The place at which the log is damaged; nil if the log is intact. See `Options.opensUpToDamage`.
  package var damage: DatabaseError? {
    var status = cldb_status()
    return unsafe cldb_damage(handle, &status) ? nil : DatabaseError(status, path: path)
  }

  /// The first and the last key of each table and of the log, as of opening. Keys that begin with different bytes have
  /// separate ranges.
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

  /// Calls `receive` with each key and value that was written to LevelDB's log since the last call, in the order of
  /// writing. Only for a database opened as in use, and for one thread at a time.
  ///
  /// Incomplete writes are ignored, and so is a log that was started after the opening; open again to read that.
  /// - Complexity: O(*n*) in the new bytes.
  package func readLogs(_ receive: (_ key: [UInt8], _ value: [UInt8]) -> Void) throws(DatabaseError) {
    try unsafe call(path: path) { receiver, context, status in
      unsafe cldb_read_logs(handle, receiver, context, status)
    } receiver: { key, value in
      unsafe receive(Array(key), Array(value))
      return CLDB_NEXT
    }
  }

  /// Whether a writer may have replaced files since the opening. If so, a missing file is not damage, and unconfirmed
  /// writes that `readLogs` returned may have been replaced by others: open the database again.
  package var hasChanged: Bool { unsafe cldb_has_changed(handle) }

  /// Closes the database. Closing again does nothing.
  package func close() { unsafe cldb_close(handle) }

  /// Stores entries, all or none.
  ///
  /// - Parameter sync: whether to wait until the drive has confirmed the entries.
  /// - Throws: `io` or another error if it is unknown whether the entries are stored; `refused` if no descriptor was
  ///   free, or `poisoned` if an earlier write failed: nothing was stored; `readOnly`; `closed`.
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
  /// - Throws: `damaged` or `io` if the value can't be read.
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
    /// Fail if something before this entry could not be read; otherwise pass the same entry again.
    case check
  }

  /// Calls `body` with the entries from `first` through `last`, in order or backwards, as of this call.
  ///
  /// Every checksum is verified, and no block is cached. LevelDB skips what it can't read and continues. **If an entry
  /// is not the expected one, answer `check`.**
  /// - Throws: `damaged` or `io` if something could not be read and `body` answered `check` or did not stop the scan.
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
