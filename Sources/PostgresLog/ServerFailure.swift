import Journaling

/// The failure of a statement.
struct ServerFailure: Error, Sendable {
  /// Whether the requested change was made.
  enum Kind: Sendable {
    /// The server has refused the statement, so the change was not made.
    case refused
    /// The connection was lost, so the change may have been made.
    case lost
  }

  let kind: Kind
  /// The SQLSTATE. Empty if the server has not answered.
  let state: String
  /// The reason, without passwords: libpq and servers never repeat one.
  let message: String

  init(_ kind: Kind, state: String = "", _ message: String) {
    self.kind = kind
    self.state = state
    // Servers answer in several lines. The first has the reason.
    self.message = message.split(separator: "\n").first.map(String.init) ?? "no reason was given"
  }

  /// Whether the server has ended the transaction because of another one, so that it may succeed if it is repeated.
  var isTransient: Bool { state == "40001" || state == "40P01" }

  /// The error for callers of a log.
  var journalError: JournalError {
    switch state {
    case "42501":
      JournalError(
        .permission, "the server's role lacks a privilege; grant it, or use another role: \(message)")
    case "25006":
      JournalError(
        .unreachable,
        "the server is read-only: it is a standby, or the role's transactions are read-only; name the primary: "
          + "\(message)"
      )
    case "42P01":
      JournalError(.notFound, "there are no journals in this database; share one first: \(message)")
    case _ where isTransient:
      JournalError(
        .outOfResources,
        "other transactions on the server kept this one from being done; try again: \(message)")
    // 57014: an administrator has cancelled the statement.
    case _ where state.hasPrefix("53"), "57014":
      JournalError(.outOfResources, "the server could not run this now; try again: \(message)")
    default:
      switch kind {
      case .lost: JournalError(.unreachable, "the server can't be reached; try again when it can: \(message)")
      case .refused: JournalError(.io, "the server refused: \(message)")
      }
    }
  }
}
