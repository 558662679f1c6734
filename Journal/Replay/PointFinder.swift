/// Resolves the selectors that need no state to revisions of a log.
struct PointFinder {
  let log: any EntryLog
  let format: JournalFormat
  /// The newest revision of the log.
  let newest: Revision

  /// The revision of a selector other than a tag or an entity.
  func revision(at selector: RevisionSelector) throws -> Revision {
    switch selector.form {
    case .start: return format.head.revision
    case .revision(let revision): return try existing(revision)
    case .revisionOrYear(let number, let year):
      let atYear = try newestRevision(notAfter: year) ?? 0
      // A year before the first entry or in the future can't be meant.
      let isYear = atYear > 0 && year <= .now
      if number > newest, isYear { return atYear }
      if isYear, number != atYear, number > 0 {
        throw JournalError(
          .invalidSelector,
          "\(number) could be the revision or the year; write r\(number) for the revision, or \(number)-01-01 "
            + "for the year's first moment, which is revision \(atYear)")
      }
      return try existing(number)
    case .head(let back):
      guard (0...newest).contains(back) else {
        throw JournalError(
          .notFound, "HEAD~\(back) is outside of the journal; it has \(newest) entries")
      }
      return try existing(newest - back)
    case .date(let date):
      if let revision = try newestRevision(notAfter: date) { return revision }
      throw format.base?.pruned("the state of \(date) can't be made any more")
        ?? JournalError(.notFound, "there is no entry before \(date)")
    case .tag(let name), .entity(let name, _): throw RevisionSelector.unknown(name)
    }
  }

  /// The revision, if the journal has it.
  /// - Throws: ``JournalError`` with code `notFound`, or `pruned`.
  func existing(_ revision: Revision) throws(JournalError) -> Revision {
    guard (0...newest).contains(revision) else {
      throw JournalError(.notFound, "there is no revision \(revision); the newest one is \(newest)")
    }
    if let base = format.base, revision < base.head.revision {
      throw base.pruned("revision \(revision) does not exist any more")
    }
    return revision
  }

  /// The newest revision at a date; nil for a date before a pruned history's base. Dates never decrease from entry to
  /// entry, so the log is its own index of dates: O(log n) reads.
  func newestRevision(notAfter date: Timestamp) throws -> Revision? {
    if let base = format.base, date < base.head.timestamp { return nil }
    var (low, high) = (format.head.revision, newest)
    while low < high {
      let middle = low + (high - low + 1) / 2
      if try log.read(middle, { entry throws(JournalError) in try entry.date() }) <= date {
        low = middle
      } else {
        high = middle - 1
      }
    }
    return low
  }
}
