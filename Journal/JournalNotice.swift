/// One thing that a journal did or found on its own, told to ``JournalOptions/log``.
///
/// ```swift
/// let options = JournalOptions { notice in logger.log("\(notice)") }
/// ```
public struct JournalNotice: Sendable, CustomStringConvertible {
  /// How much a notice matters.
  public enum Level: String, Sendable, CaseIterable {
    /// What is to be expected, such as a snapshot that was taken.
    case info
    /// What cost time or refused a commit and lost nothing, such as a damaged snapshot or a slow drive.
    case warning
    /// What somebody must look at: damage in the log, or a journal that takes no more commits.
    case error
  }

  /// How much it matters.
  public let level: Level
  /// A sentence for a person.
  public let message: String
  /// The revision that it is about.
  public let revision: Revision?
  /// The error behind it.
  public let cause: JournalError?
  /// What is odd about the clock, when it is about that.
  public let clockWarning: ClockWarning?

  /// The level and the sentence.
  public var description: String { "\(level): \(message)" }
}

extension JournalOptions {
  /// Tells the app's log, if it has given one.
  func note(
    _ level: JournalNotice.Level, _ message: @autoclosure () -> String, revision: Revision? = nil,
    cause: JournalError? = nil, clockWarning: ClockWarning? = nil
  ) {
    guard let log else { return }
    let reason = cause.map { ": \($0)" } ?? ""
    log(
      JournalNotice(
        level: level, message: message() + reason, revision: revision ?? cause?.revision, cause: cause,
        clockWarning: clockWarning))
  }
}
