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

  /// The failure of an attempt to connect. libpq has a line for each host, and indents its hints.
  init(connecting message: String) {
    let lines = message.split(separator: "\n").filter { !$0.hasPrefix("\t") }
    self.init(.lost, lines.joined(separator: "; "))
  }

  /// The failure of a change where transactions may only read.
  static var readOnly: ServerFailure { ServerFailure(.refused, state: "25006", "") }

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
        "the server allows only reading: it is a standby, or default_transaction_read_only is on for the server, the "
          + "database or the role; name the primary, or set that to off")
    case "42P01":
      JournalError(
        .notFound,
        "this role finds no journals in this database; share one first, or check the role's search_path and its USAGE "
          + "on the schema: \(message)")
    // A prepared statement exists already, or does not exist any more.
    case "42P05", "26000":
      JournalError(
        .unsafeSettings,
        "the session has changed, as behind a pooler that pools transactions; connect to the server itself, or let the "
          + "pooler pool sessions: \(message)")
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
