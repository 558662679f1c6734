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

  /// How much the notice matters.
  public let level: Level
  /// A sentence for a person.
  public let message: String
  /// The revision concerned; nil if there is none.
  public let revision: Revision?
  /// The underlying error; nil if there is none.
  public let cause: JournalError?
  /// The warning about the clock; nil if the notice is about something else.
  public let clockWarning: ClockWarning?

  /// The state of the shared log; nil if the notice is about something else.
  package let sharedLog: SharedLogState?

  package enum SharedLogState: Sendable {
    /// Commits wait, for example because no synchronous standby is connected.
    case waits
    /// This node can't follow the log.
    case isAway
    /// This node follows the log again.
    case isBack
  }

  /// The level and the message.
  public var description: String { "\(level): \(message)" }
}

extension JournalOptions {
  /// Passes a notice to ``log``, if the app has set it.
  package func note(
    _ level: JournalNotice.Level, _ message: @autoclosure () -> String, revision: Revision? = nil,
    cause: JournalError? = nil, clockWarning: ClockWarning? = nil,
    sharedLog: JournalNotice.SharedLogState? = nil
  ) {
    guard let log else { return }
    log(
      JournalNotice(
        level: level, message: JournalError(.io, message(), cause: cause).description,
        revision: revision ?? cause?.revision, cause: cause,
        clockWarning: clockWarning, sharedLog: sharedLog))
  }
}
