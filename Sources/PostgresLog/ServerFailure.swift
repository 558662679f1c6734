import Journaling

/// Why a server did not do what it was asked for.
struct ServerFailure: Error, Sendable {
  /// What is known of a change that was asked for.
  enum Kind: Sendable {
    /// The server has answered that it did not make it.
    case refused
    /// The connection is gone, so it may have been made.
    case lost
  }

  let kind: Kind
  /// The five letters by which SQL tells errors apart; empty when the server said nothing.
  let state: String
  /// A sentence for a person, without passwords: libpq and servers never repeat one.
  let message: String

  init(_ kind: Kind, state: String = "", _ message: String) {
    self.kind = kind
    self.state = state
    // Servers answer in several lines, of which the first says what it is.
    self.message = message.split(separator: "\n").first.map(String.init) ?? "no reason was given"
  }

  /// Whether the same statement may succeed at once: another transaction was in the way.
  var isTransient: Bool { state == "40001" || state == "40P01" }

  /// The same for callers of a log.
  var journalError: JournalError {
    switch state {
    case "42501":
      JournalError(
        .permission, "the server's role may not do that; grant it, or use another role: \(message)")
    case "25006":
      JournalError(
        .unreachable,
        "the server only reads: it is a standby, or the role's transactions are read-only; name the primary: \(message)"
      )
    case "42P01":
      JournalError(.notFound, "there are no journals in this database; share one first: \(message)")
    case _ where state.hasPrefix("53"), "40001", "40P01":
      JournalError(.outOfResources, "the server is short of something; try again: \(message)")
    default:
      switch kind {
      case .lost: JournalError(.unreachable, "the server can't be reached; try again when it can: \(message)")
      case .refused: JournalError(.io, "the server refuses: \(message)")
      }
    }
  }
}
