import Journaling

/// The failure of a statement or a connection.
struct ServerFailure: Error, Sendable {
  /// What is known about the requested change.
  enum Kind: Sendable {
    /// The server has refused the statement: the change was not made.
    case refused
    /// The connection was lost: the change may have been made.
    case lost
  }

  let kind: Kind
  /// The SQLSTATE. Empty if the server has not answered.
  let state: String
  /// The reason. libpq and servers never repeat a password.
  let message: String

  init(_ kind: Kind, state: String = "", _ message: String) {
    self.kind = kind
    self.state = state
    // Only the first of several lines has the reason.
    self.message = message.split(separator: "\n").first.map(String.init) ?? "no reason was given"
  }

  /// The failure of an attempt to connect. libpq's message has a line for each host; its indented hints are dropped.
  init(connecting message: String) {
    let lines = message.split(separator: "\n").filter { !$0.hasPrefix("\t") }
    self.init(.lost, lines.joined(separator: "; "))
  }

  /// The failure of a change on a server where transactions are read-only.
  static var readOnly: ServerFailure { ServerFailure(.refused, state: "25006", "") }

  /// The failure of a connection whose session other clients use too.
  static var sharedSession: ServerFailure {
    ServerFailure(.refused, state: "26000", "another connection can get this one's session")
  }

  /// The failure of a connection whose statements reach different servers. This state is not PostgreSQL's.
  static var balanced: ServerFailure { ServerFailure(.refused, state: "balanced", "") }

  /// The failure of a commit for which the server did not wait for its standby. This state is not PostgreSQL's.
  static var unconfirmed: ServerFailure {
    ServerFailure(.lost, state: "unconfirmed", "the server did not wait for its standby")
  }

  /// Whether the server has rolled the transaction back because of another transaction, so that repeating it may
  /// succeed.
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
        "the server allows only reading: it is a standby, perhaps one that a load balancer has chosen, or "
          + "default_transaction_read_only is on for the server, the database or the role; name the primary, or set that "
          + "to off")
    case "42P01":
      JournalError(
        .notFound,
        "this role finds no journals in this database; share one first, or check the role's search_path and its USAGE "
          + "on the schema: \(message)")
    case "3F000":
      JournalError(.notFound, "the role's search_path has no schema for the tables: \(message)")
    // A prepared statement exists already or no longer exists, or the session is not the checked one.
    case "42P05", "26000", "22P02":
      JournalError(
        .unsafeSettings,
        "this node does not have a session of the server to itself, as behind a pooler that pools transactions or "
          + "statements; connect to the server itself, or let the pooler pool sessions (PgBouncer: pool_mode = session): "
          + message)
    case Self.unconfirmed.state: JournalError(.unreachable, message)
    case Self.balanced.state:
      JournalError(
        .unsafeSettings,
        "a load balancer sends the statements of one session to different servers, and a standby may lack what the "
          + "primary has confirmed; connect to the primary itself, or turn load balancing off (Pgpool-II: "
          + "load_balance_mode = off)")
    case _ where isTransient:
      JournalError(
        .outOfResources,
        "other transactions on the server kept this one from being done; try again: \(message)")
    // 57014: an administrator has canceled the statement.
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
