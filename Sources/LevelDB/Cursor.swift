internal import CLevelDB

/// Iterates over the entries of a database in the order of their keys, in both directions.
///
/// A cursor sees the database as of its creation. It verifies every checksum, and caches no block. LevelDB skips what
/// it can't read and continues, so each move that finds no further entry checks whether something was skipped, and then
/// throws. **If you stop earlier, or arrive at another entry than you expected, call `check()`.**
///
/// It is used by one thread at a time, and keeps its database from being closed.
@safe
package struct Cursor: ~Copyable {
  private let database: Database
  private let handle: OpaquePointer

  // Both borrowed from LevelDB until the next move; nil without an entry.
  @usableFromInline var key: UnsafeRawBufferPointer?
  @usableFromInline var value: UnsafeRawBufferPointer?

  init(_ database: Database, handle: OpaquePointer) {
    self.database = database
    unsafe self.handle = unsafe handle
  }

  deinit { unsafe cldb_iterator_free(handle) }

  /// Moves to the first entry whose key is `key` or comes after it.
  ///
  /// - Returns: whether there is one.
  /// - Throws: `damaged` or `io` if something could not be read.
  /// - Complexity: O(log *n*).
  package mutating func seek(to key: RawSpan) throws(DatabaseError) -> Bool {
    var entry = unsafe cldb_entry()
    let found = unsafe key.withUnsafeBytes { key in
      unsafe cldb_iterator_seek(handle, key.baseAddress, key.count, &entry)
    }
    return try unsafe arrive(found, at: entry)
  }

  /// Moves to the first entry whose key is `key` or comes after it.
  package mutating func seek(to key: [UInt8]) throws(DatabaseError) -> Bool {
    try unsafe seek(to: key.span.bytes)
  }

  /// Moves to the first entry.
  ///
  /// - Returns: whether there is one.
  /// - Throws: `damaged` or `io` if something could not be read.
  package mutating func seekToFirst() throws(DatabaseError) -> Bool {
    var entry = unsafe cldb_entry()
    let found = unsafe cldb_iterator_seek_first(handle, &entry)
    return try unsafe arrive(found, at: entry)
  }

  /// Moves to the last entry.
  ///
  /// - Returns: whether there is one.
  /// - Throws: `damaged` or `io` if something could not be read.
  package mutating func seekToLast() throws(DatabaseError) -> Bool {
    var entry = unsafe cldb_entry()
    let found = unsafe cldb_iterator_seek_last(handle, &entry)
    return try unsafe arrive(found, at: entry)
  }

  /// Moves to the next entry. Without a current entry, there is no next one.
  ///
  /// - Returns: whether there is one.
  /// - Throws: `damaged` or `io` if something on the way here could not be read.
  /// - Complexity: O(1), amortized.
  package mutating func next() throws(DatabaseError) -> Bool {
    var entry = unsafe cldb_entry()
    let found = unsafe cldb_iterator_next(handle, &entry)
    return try unsafe arrive(found, at: entry)
  }

  /// Moves to the previous entry. Without a current entry, there is no previous one.
  ///
  /// - Returns: whether there is one.
  /// - Throws: `damaged` or `io` if something on the way here could not be read.
  /// - Complexity: O(1), amortized; slower than `next()` by a constant factor.
  package mutating func previous() throws(DatabaseError) -> Bool {
    var entry = unsafe cldb_entry()
    let found = unsafe cldb_iterator_previous(handle, &entry)
    return try unsafe arrive(found, at: entry)
  }

  /// Throws if anything that the cursor passed could not be read and was skipped.
  package func check() throws(DatabaseError) {
    try unsafe DatabaseError.check(path: database.path) { status in
      unsafe cldb_iterator_status(handle, status)
    }
  }

  /// Whether the cursor is at an entry.
  package var isAtEntry: Bool { unsafe key != nil }

  /// Calls `body` with the key and the value of the current entry, without a copy.
  ///
  /// - Throws: `wrongUse` if there is none, otherwise what `body` throws.
  @inlinable
  package borrowing func withEntry<Result>(
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Result
  ) throws -> Result {
    guard let key = unsafe key, let value = unsafe value else { throw noEntry }
    return unsafe try body(key.bytes, value.bytes)
  }

  @usableFromInline
  var noEntry: DatabaseError {
    DatabaseError(.wrongUse, "the cursor is not at an entry", path: database.path)
  }

  private mutating func arrive(_ found: Bool, at entry: cldb_entry) throws(DatabaseError) -> Bool {
    guard found else {
      unsafe key = nil
      unsafe value = nil
      try check()
      return false
    }
    unsafe key = unsafe UnsafeRawBufferPointer(start: entry.key, count: entry.key_size)
    unsafe value = unsafe UnsafeRawBufferPointer(start: entry.value, count: entry.value_size)
    return true
  }
}
