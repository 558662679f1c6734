import LevelDB

package enum LogKey {
  package static let journal: [UInt8] = [UInt8(ascii: "m")]
  static let entryTag = UInt8(ascii: "e")

  package static func entry(_ revision: Revision) -> [UInt8] {
    var key = [entryTag]
    key.reserveCapacity(9)
    key.append(bigEndian: UInt64(revision))
    return key
  }

  /// The revision of an entry's key, nil for any other key.
  package static func revision(_ key: RawSpan) -> Revision? {
    guard key.byteCount == 9 else { return nil }
    return unsafe key.withUnsafeBytes { bytes in
      guard unsafe bytes[0] == entryTag else { return nil }
      let number = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
      return Revision(exactly: number).flatMap { $0 < NumberLimit.revision ? $0 : nil }
    }
  }
}

extension Database {
  /// Opens the database of a log and finds its newest entry. Nothing on disk changes until `beginWriting`.
  ///
  /// A torn tail of LevelDB's log was never acknowledged and is ignored.
  /// - Throws: ``JournalError`` with code `damaged` if LevelDB reports damage, if an entry before the newest one is in
  ///   no file, or if the database is another journal's.
  /// - Complexity: O(n) in the number of tables, and in the bytes of LevelDB's log, which its write buffer bounds.
  static func ofLog(
    in place: LogPlace, _ access: Access, options: Options
  ) throws(JournalError) -> (Database, newest: Revision) {
    var options = options
    options.opensUpToDamage = true
    do {
      let database = try Database(in: try place.entries(), access: access, options: options)
      let first = place.format.head.revision + 1
      let accounted = try database.newestRevisionInTables(from: first)
      try place.checkJournal(try database.value(for: LogKey.journal))
      return (database, try database.newestRevision(from: first, atLeast: accounted))
    } catch {
      // If the database can't be opened, no entry can be trusted, so revision 1 is reported.
      throw JournalError(ofLevelDB: error, revision: 1)
    }
  }

  /// The newest entry; `first - 1` if there is none.
  /// - Throws: ``JournalError`` with code `damaged` if the newest entry is before `accounted`. LevelDB skips what it
  ///   can't read, and the revision of a skipped entry would be written again.
  private func newestRevision(from first: Revision, atLeast accounted: Revision) throws(JournalError)
    -> Revision
  {
    var (newest, isChecked) = (first - 1, false)
    do throws(DatabaseError) {
      try unsafe scan(from: LogKey.entry(first), through: LogKey.entry(.max), backwards: true) { key, _ in
        guard let revision = unsafe LogKey.revision(key.bytes) else { return .next }
        newest = revision
        if newest >= accounted || isChecked { return .stop }
        isChecked = true
        return .check
      }
    } catch { throw JournalError(error, revision: newest + 1) }
    guard newest >= accounted else { throw JournalError.missing(newest + 1) }
    return newest
  }

  /// The newest entry in a table or, unless the database is in use, in a log; `first - 1` if there is none.
  /// - Throws: ``JournalError`` with code `damaged` unless these files account for every revision up to that entry.
  func newestRevisionInTables(from first: Revision) throws -> Revision {
    var ranges: [ClosedRange<Revision>] = []
    for range in try keyRanges() {
      guard let first = unsafe LogKey.revision(range.first.span.bytes),
        let last = unsafe LogKey.revision(range.last.span.bytes), first <= last
      else { continue }
      ranges.append(first...last)
    }
    var expected = first
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      guard range.lowerBound <= expected else { break }
      expected = max(expected, range.upperBound + 1)
    }
    if let damage { throw JournalError(damage, revision: expected) }
    if ranges.contains(where: { $0.lowerBound > expected }) { throw JournalError.missing(expected) }
    return expected - 1
  }
}

extension LogPlace {
  /// Fails unless a log belongs to this journal.
  /// - Parameter found: the value under ``LogKey/journal``.
  func checkJournal(_ found: [UInt8]?) throws(JournalError) {
    guard let found else {
      throw JournalError(
        .damaged,
        "the first record of the log, the journal's id, is missing; restore the journal from a backup",
        revision: 1, path: path)
    }
    guard found == journal.bytes else {
      throw JournalError(
        .damaged, "the log belongs to another journal; restore this journal's own from a backup",
        revision: 1, path: path)
    }
  }
}
