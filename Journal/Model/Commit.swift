public import Foundation

/// The result of a commit.
public struct Commit<Value> {
  /// What the body returned.
  public let value: Value
  /// The revision of the entry, or the newest one if the body changed nothing.
  public let revision: Revision
  /// Whether the body changed nothing, so that there is no entry.
  public let isEmpty: Bool
  /// The date of the entry, never earlier than that of the previous entry.
  public let date: Date
  /// The date that the clock or the caller gave, which the entry also records.
  public let clockDate: Date
  /// A warning about the clock; nil if the date is plausible.
  public let clockWarning: ClockWarning?

  @inlinable
  init(
    value: Value, revision: Revision, isEmpty: Bool, date: Date, clockDate: Date, clockWarning: ClockWarning?
  ) {
    self.value = value
    self.revision = revision
    self.isEmpty = isEmpty
    self.date = date
    self.clockDate = clockDate
    self.clockWarning = clockWarning
  }
}

extension Commit<Void> {
  /// This commit, with what its body returned as the value.
  @inlinable
  func with<Returned>(_ value: Returned?) -> Commit<Returned> {
    guard let value else { preconditionFailure("a body that has succeeded has returned a value") }
    return Commit<Returned>(
      value: value, revision: revision, isEmpty: isEmpty, date: date, clockDate: clockDate,
      clockWarning: clockWarning)
  }
}

/// An implausible date of a commit, for the app to report. The commit succeeds nevertheless, and the entry records the
/// date of the clock.
public enum ClockWarning: Hashable, Sendable, CustomStringConvertible {
  /// The clock is this many seconds behind the date of the previous entry: it was set back, or was ahead when that
  /// entry was made. The new entry gets the date of the previous one.
  case behind(seconds: TimeInterval)
  /// The date is this many seconds ahead. A date that the caller gave is more than a day ahead of the clock; one that
  /// the clock gave is more than a year after both the newest entry and the last write to the journal. Later entries
  /// won't have earlier dates.
  case ahead(seconds: TimeInterval)

  /// The warning in words, to show to people.
  public var description: String {
    switch self {
    case .behind(let seconds):
      "the clock is \(Self.text(seconds)) behind the date of the previous entry: one of the two is wrong"
    case .ahead(let seconds):
      "the date is \(Self.text(seconds)) ahead: if that is wrong, later entries will have it too"
    }
  }

  private static func text(_ seconds: TimeInterval) -> String {
    for (unit, length) in [("year", 31_556_952.0), ("day", 86_400), ("hour", 3_600), ("minute", 60)]
    where seconds >= length {
      let count = Int(seconds / length)
      return count == 1 ? "1 \(unit)" : "\(count) \(unit)s"
    }
    return "\(Int(seconds)) seconds"
  }
}

extension Commit: Sendable where Value: Sendable {}

/// A condition that must still hold when a commit is made.
public enum Expectation: Hashable, Sendable {
  /// The newest revision of the whole journal is this one.
  case journal(at: Revision)
  /// The newest event of the entity, which may be its deletion, has this revision; 0 means that it never existed.
  case entity(EntityKey, at: Revision)
}
