import Journaling

/// A libpq connection string without a password: server, database and role.
///
/// The text is a URL such as `postgresql://app@db.example.org/books?sslmode=verify-full`, or words such as
/// `service=books`. Passwords come from a password file, a service file or the environment.
struct ServerAddress: Sendable, CustomStringConvertible {
  let description: String
  private let settings: [(name: String, value: String)]

  /// - Throws: ``JournalError`` with code `wrongUse` if the address is invalid or has a secret. The message does not
  ///   repeat the text.
  init(_ text: String) throws(JournalError) {
    guard !text.utf8.contains(0), !text.allSatisfy(\.isWhitespace),
      let settings = Connection.settings(in: text)
    else {
      throw JournalError(
        .wrongUse,
        "this is not the address of a PostgreSQL server; write it as postgresql://USER@HOST/DATABASE")
    }
    // In a URL, a "/" ends the host. So libpq parses a password with a "/" as a port and a part of the database's name,
    // and would repeat both in an error.
    let isCutPassword = settings.contains { setting in
      setting.name == "port" && !setting.value.allSatisfy { "0123456789, ".contains($0) }
        || setting.name == "dbname" && setting.value.contains("@") && text.hasPrefix("postgres")
    }
    guard !isCutPassword else {
      throw JournalError(
        .wrongUse,
        "the address has a port that is not a number, or a database with an @, as if it had a password with a /; put "
          + "passwords into the password file (~/.pgpass) or a service file, and write the name of such a database as "
          + "dbname=…")
    }
    // Later versions of libpq may have secrets that they do not mark as such. Other programs accept, as the name of a
    // database, another address with a password.
    let hasSecret = settings.contains { setting in
      setting.isSecret || setting.name.contains("password")
        || setting.name == "dbname"
          && (setting.value.contains("://") || Connection.settings(in: setting.value)?.isEmpty == false)
    }
    guard !hasSecret else {
      throw JournalError(
        .wrongUse,
        "the address has a password or another secret, which the journal's folder would store in plain text; put it "
          + "into the password file (~/.pgpass) or a service file")
    }
    guard !text.contains("\n") else {
      throw JournalError(.wrongUse, "the address of a server must be one line")
    }
    description = text
    self.settings = settings.map { ($0.name, $0.value) }
  }

  /// Connects without changing the session's settings.
  func open() throws(ServerFailure) -> Connection {
    // Defaults, which the address, the environment and service files replace.
    let usual = [
      ("application_name", "journal"),
      // This limit applies to each host, so that a host that does not answer does not hide the next one.
      ("connect_timeout", "\(Self.patience.components.seconds / 2)"),
      // A server that has disappeared is detected within half a minute, also by listeners.
      ("keepalives_idle", "10"),
      ("keepalives_interval", "5"),
      ("keepalives_count", "3"),
      ("tcp_user_timeout", "20000"),
    ]
    let named = Set(Connection.allSettings(settings).filter { !$0.value.isEmpty }.map(\.name))
    return try Connection([("client_encoding", "UTF8")] + usual.filter { !named.contains($0.0) } + settings)
  }

  /// The time limit for an answer that needs no flush.
  static var patience: Duration { .seconds(10) }
}
