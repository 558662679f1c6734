import LevelDB

extension Database {
  /// Calls `body` with each existing entry of a range, in order or in reverse, until it returns false.
  /// - Parameter next: the first entry; afterwards the entry after the last one that was passed, even if this throws.
  /// - Returns: whether the last call of `body` returned true.
  /// - Throws: `DatabaseError`, or what `body` throws.
  func readEntries(
    _ range: ClosedRange<Revision>, newestFirst: Bool, next: inout Revision,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws -> Bool {
    if range.count == 1 {
      // A cursor reads a table of each level; a lookup reads only the one that can have the key.
      guard let value = try value(for: LogKey.entry(range.lowerBound)) else { return true }
      next = newestFirst ? range.lowerBound - 1 : range.lowerBound + 1
      return try unsafe value.withUnsafeBytes { try unsafe body(range.lowerBound, $0) }
    }
    var cursor = try cursor()
    var isAtEntry =
      newestFirst
      ? try cursor.seekToLast(notAfter: LogKey.entry(range.upperBound))
      : try cursor.seek(to: LogKey.entry(range.lowerBound))
    while isAtEntry {
      var isWanted = false
      let goesOn = try cursor.withEntry { key, value in
        guard let revision = LogKey.revision(key), range.contains(revision) else { return false }
        isWanted = true
        // LevelDB skips what it can't read.
        if revision != next { try cursor.check() }
        next = newestFirst ? revision - 1 : revision + 1
        return try unsafe value.withUnsafeBytes { try unsafe body(revision, $0) }
      }
      guard goesOn else {
        if isWanted { return false }
        break
      }
      // What comes after the range, and may be unreadable, is not asked for.
      if !range.contains(next) { return true }
      isAtEntry = newestFirst ? try cursor.previous() : try cursor.next()
    }
    try cursor.check()
    return true
  }
}

extension Cursor {
  /// Moves to the last entry whose key is not after `key`.
  mutating func seekToLast(notAfter key: [UInt8]) throws(DatabaseError) -> Bool {
    guard try seek(to: key) else { return try seekToLast() }
    let isThere =
      (try? withEntry { found, _ in unsafe found.withUnsafeBytes { unsafe $0.elementsEqual(key) } }) ?? false
    return try isThere ? true : previous()
  }
}
