/// Resolves the selectors that need no state to revisions of a log.
struct PointFinder {
  let log: any EntryLog
  let format: JournalFormat
  let newest: Revision

  /// The point that a selector names. Tags and entities are not resolved here.
  private enum Point {
    case revision(Revision)
    case date(Timestamp)
  }

  /// The revision that a selector names, other than a tag or an entity. A date names the newest entry up to that date.
  func revision(at selector: RevisionSelector) throws -> Revision {
    switch try point(selector) {
    case .revision(let revision): return revision
    case .date(let date):
      if let revision = try newestRevision(notAfter: date) { return revision }
      throw format.base?.pruned("the state of \(date) can't be made any more")
        ?? JournalError(.notFound, "there is no entry before \(date)")
    }
  }

  /// The revision or date where a window of entries begins or ends. Unlike ``revision(at:)``, this accepts a date
  /// before the base of a pruned history, because no state is needed; the base is then the border.
  func border(at selector: RevisionSelector) throws -> (revision: Revision, date: Timestamp?) {
    var selector = selector
    if case .revisionOrYear(let number, let year) = selector.form, number > newest,
      let base = format.base, year < base.head.timestamp
    {
      selector = RevisionSelector(form: .date(year))
    }
    switch try point(selector) {
    case .revision(let revision): return (revision, nil)
    case .date(let date): return (try newestRevision { $0 < date } ?? format.head.revision, date)
    }
  }

  private func point(_ selector: RevisionSelector) throws -> Point {
    switch selector.form {
    case .start: return .revision(format.head.revision)
    case .revision(let revision): return .revision(try existing(revision))
    case .revisionOrYear(let number, let year):
      let atYear = try newestRevision(notAfter: year) ?? 0
      if number > newest, Self.isNear(year), try atYear > 0 || hasEntry(in: number, from: year) {
        return .date(year)
      }
      // The year is not meant if it is before the first entry or in the future; then the number is the revision.
      if atYear > 0, year <= .now, number != atYear, number > 0 {
        throw JournalError(
          .invalidSelector,
          "\(number) could be the revision or the year; write r\(number) for the revision, or \(number)-01-01 "
            + "for the year's first moment, which is revision \(atYear)")
      }
      return .revision(try existing(number))
    case .head(let back):
      guard (0...newest).contains(back) else {
        throw JournalError(
          .notFound, "HEAD~\(back) is outside of the journal; it has \(newest) entries")
      }
      return .revision(try existing(newest - back))
    case .date(let date): return .date(date)
    case .noDate:
      throw JournalError(.invalidSelector, "the date is not a number, so it names no point in time")
    case .tag(let name), .entity(let name, _): throw RevisionSelector.unknown(name)
    }
  }

  /// Whether a year is at most a hundred years ahead. A later one is more likely a revision that does not exist.
  private static func isNear(_ year: Timestamp) -> Bool {
    year.microseconds - Timestamp.now.microseconds < 36_525 * 86_400 * 1_000_000
  }

  private func hasEntry(in number: Int, from year: Timestamp) throws -> Bool {
    let isLeap = number % 4 == 0 && (number % 100 != 0 || number % 400 == 0)
    let next = year.microseconds + (isLeap ? 366 : 365) * 86_400 * 1_000_000
    return try (newestRevision(notAfter: Timestamp(microseconds: next - 1)) ?? 0) > 0
  }

  /// Returns the revision if the journal has it.
  /// - Throws: ``JournalError``: `notFound` if the revision does not exist, `pruned` if it is before the base.
  func existing(_ revision: Revision) throws(JournalError) -> Revision {
    guard (0...newest).contains(revision) else {
      throw JournalError(.notFound, "there is no revision \(revision); the newest one is \(newest)")
    }
    if let base = format.base, revision < base.head.revision {
      throw base.pruned("revision \(revision) does not exist any more")
    }
    return revision
  }

  /// The newest revision that is not after a date; nil for a date before a pruned history's base.
  func newestRevision(notAfter date: Timestamp) throws -> Revision? { try newestRevision { $0 <= date } }

  /// The newest revision up to which all dates fulfil a condition; nil if the base of a pruned history does not fulfil
  /// it. Dates never decrease from entry to entry, so the log is its own index of dates: O(log n) reads.
  private func newestRevision(where isIncluded: (Timestamp) -> Bool) throws -> Revision? {
    if let base = format.base, !isIncluded(base.head.timestamp) { return nil }
    return try (format.head.revision + 1..<newest + 1).partitionPoint { revision in
      !isIncluded(try log.read(revision) { entry throws(JournalError) in try entry.date() })
    } - 1
  }
}
