public import Foundation

/// What came of a commit.
public struct Commit<Value> {
  /// What the body returned.
  public let value: Value
  /// The revision of the entry; the newest one when the body changed nothing.
  public let revision: Revision
  /// Whether the body changed nothing, so that there is no entry.
  public let isEmpty: Bool
  /// The date of the entry, never before that of the one before it.
  public let date: Date
  /// What the clock said, or the caller; the entry keeps it too.
  public let clockDate: Date
  /// What is odd about the clock; nil when nothing is.
  public let clockWarning: ClockWarning?
}

/// What is odd about the clock at a commit, for the app to tell or to write down. The commit is made all the same,
/// and the entry keeps what the clock said.
public enum ClockWarning: Hashable, Sendable, CustomStringConvertible {
  /// The clock is so many seconds behind the date of the entry before: it was set back, or was ahead before. The
  /// entry has the date of the one before it.
  case behind(seconds: TimeInterval)
  /// The date is so many seconds ahead: more than a day of the clock, when the caller gave it, or more than a year
  /// of the newest entry. No later entry will have an earlier date.
  case ahead(seconds: TimeInterval)

  /// A sentence for a person.
  public var description: String {
    switch self {
    case .behind(let seconds):
      "the clock is \(Self.text(seconds)) behind the date of the entry before: one of the two is wrong"
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

/// What must still be so for a commit to be made.
public enum Expectation: Hashable, Sendable {
  /// The newest revision of the whole journal.
  case journal(at: Revision)
  /// The newest revision of one entity, deletions included; 0: it never was.
  case entity(EntityKey, at: Revision)
}
