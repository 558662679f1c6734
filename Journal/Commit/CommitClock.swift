import Foundation

/// The two dates of a commit: the one that orders entries, and the one that the clock or the caller gave.
struct CommitClock {
  private static let day: Int64 = 86_400_000_000
  private static let year: Int64 = 31_556_952_000_000

  /// The date that orders entries: never earlier than the previous entry's date.
  let date: Timestamp
  let clockDate: Timestamp
  let warning: ClockWarning?

  /// - Parameters:
  ///   - given: the caller's date; nil to use `now`.
  ///   - head: the previous entry.
  ///   - lastWrite: when the journal's files were last written, by the clock. Called only if `now` is used and is more
  ///     than a year after the previous entry's date.
  init(
    _ given: Timestamp?, after head: Head, lastWrite: () -> Timestamp? = { nil }, now: Timestamp = .now
  ) {
    let clockDate = given ?? now
    // The empty journal has no date.
    let previous = head.revision == 0 ? nil : head.timestamp
    date = max(clockDate, previous ?? clockDate)
    self.clockDate = clockDate
    // Both dates have years of four digits, so the difference can't overflow.
    let behind = date.microseconds - clockDate.microseconds
    var (base, limit) = given == nil ? (previous ?? now, Self.year) : (now, Self.day)
    // After an import, the newest entry may be old although the clock is right, so the last write counts too.
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
