import Foundation

/// The two dates of a commit: the one that orders entries, and the one that the clock or the caller gave.
struct CommitClock {
  private static let day: Int64 = 86_400_000_000
  private static let year: Int64 = 31_556_952_000_000

  /// Never earlier than that of the previous entry.
  let date: Timestamp
  let clockDate: Timestamp
  let warning: ClockWarning?

  /// - Parameters:
  ///   - given: the caller's date; by default the clock's.
  ///   - head: the previous entry.
  ///   - lastWrite: when the journal's files were written last, by the clock. It is asked for only if the date is far
  ///     ahead of the previous entry.
  init(
    _ given: Timestamp?, after head: Head, lastWrite: () -> Timestamp? = { nil }, now: Timestamp = .now
  ) {
    let clockDate = given ?? now
    // The empty journal has no date.
    let previous = head.revision == 0 ? nil : head.timestamp
    date = max(clockDate, previous ?? clockDate)
    self.clockDate = clockDate
    // Both have years of four digits, so the difference can't overflow.
    let behind = date.microseconds - clockDate.microseconds
    var (base, limit) = given == nil ? (previous ?? now, Self.year) : (now, Self.day)
    // After an import, the newest entry is old, but the clock is as it was.
    if given == nil, clockDate.microseconds - base.microseconds > limit, let written = lastWrite() {
      base = max(base, written)
    }
    let ahead = clockDate.microseconds - base.microseconds
    if behind > 1_000_000 {
      warning = .behind(seconds: Double(behind) / 1_000_000)
    } else if ahead > limit {
      warning = .ahead(seconds: Double(ahead) / 1_000_000)
    } else {
      warning = nil
    }
  }
}
