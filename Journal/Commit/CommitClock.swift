import Foundation

/// The two dates of a commit: the one that orders entries, and what the clock or the caller said.
struct CommitClock {
  private static let day: Int64 = 86_400_000_000
  private static let year: Int64 = 31_556_952_000_000

  /// Never before that of the entry before.
  let date: Timestamp
  let clockDate: Timestamp
  let warning: ClockWarning?

  /// - Parameters:
  ///   - given: what the caller says; the clock's date when nil.
  ///   - head: the entry before.
  init(_ given: Timestamp?, after head: Head, now: Timestamp = .now) {
    let clockDate = given ?? now
    // The empty journal has no date.
    let previous = head.revision == 0 ? nil : head.timestamp
    date = max(clockDate, previous ?? clockDate)
    self.clockDate = clockDate
    // Both are of years with four digits, so no difference overflows.
    let behind = date.microseconds - clockDate.microseconds
    let (base, limit) = given == nil ? (previous ?? now, Self.year) : (now, Self.day)
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
