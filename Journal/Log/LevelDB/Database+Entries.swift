import LevelDB

extension Database {
  /// Calls `body` with each existing entry of a range, in order or in reverse, until `body` returns false.
  /// - Parameter next: the entry to begin with; afterwards the one after the last that `body` got, even if this throws.
  /// - Returns: whether the last call of `body` returned true.
  /// - Throws: `DatabaseError`, or what `body` throws.
  func readEntries(
    _ range: ClosedRange<Revision>, newestFirst: Bool, next: inout Revision,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws -> Bool {
    if range.count == 1 {
      // A scan reads a table of each level; a lookup reads only the table that can have the key.
      guard let value = try value(for: LogKey.entry(range.lowerBound)) else { return true }
      next = newestFirst ? range.lowerBound - 1 : range.lowerBound + 1
      return try unsafe value.withUnsafeBytes { try unsafe body(range.lowerBound, $0) }
    }
    var (goesOn, isChecked) = (true, false)
    var failure: JournalError?
    try unsafe scan(
      from: LogKey.entry(range.lowerBound), through: LogKey.entry(range.upperBound), backwards: newestFirst
    ) { key, value in
      guard let revision = unsafe LogKey.revision(key.bytes) else { return .next }
      // LevelDB skips entries that it can't read, so a gap is checked.
      if revision != next, !isChecked {
        isChecked = true
        return .check
      }
      isChecked = false
      next = newestFirst ? revision - 1 : revision + 1
      do throws(JournalError) { goesOn = try unsafe body(revision, value) } catch {
        failure = error
        return .stop
      }
      // The entry after the range may be unreadable, so it is not read.
      return goesOn && range.contains(next) ? .next : .stop
    }
    if let failure { throw failure }
    return goesOn
  }
}
