/// An event in the life of a journal, such as damage that it found, reported to ``JournalOptions/log``.
///
/// ```swift
/// let options = JournalOptions { notice in logger.log("\(notice)") }
/// ```
public struct JournalNotice: Sendable, CustomStringConvertible {
  /// How much a notice matters.
  public enum Level: String, Sendable, CaseIterable {
    /// Normal operation, such as a layer that was written.
    case info
    /// A problem that cost time or refused a commit but lost nothing, such as a damaged layer or a slow drive.
    case warning
    /// A problem that needs attention: damage in the log, or a journal that takes no more commits.
    case error
  }

  /// How much it matters.
  public let level: Level
  /// A sentence for a person.
  public let message: String
  /// The revision concerned.
  public let revision: Revision?
  /// The underlying error.
  public let cause: JournalError?
  /// The warning about the clock, if it is one.
  public let clockWarning: ClockWarning?

  /// The level and the sentence.
  public var description: String { "\(level): \(message)" }
}

extension JournalOptions {
  /// Reports to the app's log, if there is one.
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
