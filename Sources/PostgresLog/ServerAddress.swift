import Journaling

/// Which server and database, and as whom: what libpq calls a connection string, without any password.
///
/// A URL such as `postgresql://app@db.example.org/books?sslmode=verify-full`, words such as `service=books`, or nothing,
/// for what the environment says. Passwords come from a password file, a service file or the environment.
struct ServerAddress: Sendable, CustomStringConvertible {
  /// As it was given.
  let description: String
  private let settings: [(name: String, value: String)]

  /// - Throws: ``JournalError`` with code `wrongUse` for what is no address, and for one with a password in it. The
  ///   message repeats nothing of it.
  init(_ text: String) throws(JournalError) {
    guard !text.utf8.contains(0), let settings = Connection.settings(in: text) else {
      throw JournalError(
        .wrongUse, "this names no PostgreSQL server; write it as postgresql://USER@HOST/DATABASE")
    }
    guard !settings.contains(where: { $0.name.contains("password") }) else {
      throw JournalError(
        .wrongUse,
        "the address has a password in it, which the journal's folder would keep and everybody could read; put it "
          + "into the password file (~/.pgpass) or a service file")
    }
    guard !text.contains("\n") else {
      throw JournalError(.wrongUse, "the address of a server is one line")
    }
    description = text
    self.settings = settings
  }

  /// Connects.
  func connect() throws(ServerFailure) -> Connection {
    // What the address does not say; the last one of a name counts.
    let usual = [
      ("application_name", "journal"),
      ("client_encoding", "UTF8"),
      // A server that has vanished is noticed in half a minute, also by who only listens.
      ("keepalives_idle", "10"),
      ("keepalives_interval", "5"),
      ("keepalives_count", "3"),
      ("tcp_user_timeout", "20000"),
    ]
    let named = Set(settings.map(\.name))
    let connection = try Connection(
      usual.filter { !named.contains($0.0) }.map { (name: $0.0, value: $0.1) } + settings,
      within: Self.patience)
    // Each statement has limits of its own. A time after which the server gives up would have it report as done what
    // no standby has confirmed. Compatible engines that do not know a setting do without.
    for setting in ["statement_timeout", "lock_timeout", "idle_session_timeout"] {
      _ = try? connection.run("SET \(setting) = 0", within: Self.patience)
    }
    // A node that is paused while it has the turn must not stop all others.
    _ = try? connection.run("SET idle_in_transaction_session_timeout = 5000", within: Self.patience)
    try connection.run(
      "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED", within: Self.patience)
    return connection
  }

  /// How long a server may take for an answer that needs no flush.
  static var patience: Duration { .seconds(10) }
}
