import Journaling

/// Ensures that a connection has a session to itself.
///
/// A pooler can give each transaction another session of the server, and a load balancer can send each
/// statement to another server. The settings of other clients would then decide whether commits are durable.
/// So a session is marked with a random number, and each append demands the mark and the checked settings
/// (``Schema/isOwn(_:)``).
extension ServerAddress {
  /// Connects, and makes the settings of the session.
  /// - Parameter isFirst: whether the node has no other connection. If so, and behind a pooler, a second connection is
  ///   opened to find out whether the session is shared.
  /// - Throws: ``ServerFailure`` if the connection does not have a session to itself. Nothing was written.
  func connect(isFirst: Bool = true) throws(ServerFailure) -> Connection {
    let connection = try open()
    let server = try Self.makeSettings(connection)
    guard try Self.isBehindPooler(connection, at: server) else { return connection }
    if isFirst { try checkIsOwn(connection) }
    // Removes what other clients have left in the session.
    try connection.run("DISCARD ALL")
    _ = try Self.makeSettings(connection)
    // A pooler that prepares a statement in several sessions gives it another name.
    guard try connection.run(Self.ownStatement).integer(0, 0) == 1 else {
      throw ServerFailure.sharedSession
    }
    return connection
  }

  private static let ownStatement = Connection.Statement(
    name: "own", text: "SELECT count(*) FROM pg_prepared_statements WHERE name = 'own'")

  /// Changes the settings of the session that the server knows. The server would log an error for any other setting.
  /// - Returns: a text that identifies the server.
  private static func makeSettings(_ connection: Connection) throws(ServerFailure) -> String {
    do throws(ServerFailure) { return try make(settings, connection) } catch {
      // Servers on Windows, and PostgreSQL 14 on macOS, can't check connections, and refuse this setting.
      guard error.state == "22023" else { throw error }
      return try make(settings.filter { $0.name != "client_connection_check_interval" }, connection)
    }
  }

  private static func make(
    _ settings: [(name: String, value: String)], _ connection: Connection
  ) throws(ServerFailure) -> String {
    let values = settings.map { "('\($0.name)', '\($0.value)')" }.joined(separator: ", ")
    return try connection.run(
      """
      SELECT \(server), set_config('\(Schema.marker)', '\(connection.marker)', false),
        (SELECT count(set_config(known.name, wanted.value, false))
        FROM (VALUES \(values)) AS wanted (name, value) JOIN pg_settings AS known ON known.name = wanted.name)
      """
    ).text(0, 0)
  }

  private static let server = "CAST(pg_postmaster_start_time() AS text)"

  /// Whether a pooler is the client of the session, and may use it for other connections too.
  private static func isBehindPooler(
    _ connection: Connection, at server: String
  ) throws(ServerFailure) -> Bool {
    let rows = try connection.run(
      "SELECT \(Self.server), pg_backend_pid(), \(Schema.markerValue)")
    guard rows.text(0, 0) == server else { throw ServerFailure.balanced }
    guard rows.text(0, 2) == connection.marker else { throw ServerFailure.sharedSession }
    return rows.integer(0, 1) != connection.processID
  }

  /// Throws if another connection gets the session while this one does not use it.
  private func checkIsOwn(_ connection: Connection) throws(ServerFailure) {
    var found: [String] = []
    do throws(ServerFailure) {
      let rival = try open()
      for _ in 0..<4 { found.append(try Self.marker(rival)) }
    } catch {
      throw ServerFailure(
        .refused, state: "53300",
        "the pooler has no second session for this role and database, and a node needs three: raise its limit "
          + "(PgBouncer: default_pool_size): \(error.message)")
    }
    guard !found.contains(connection.marker), try Self.marker(connection) == connection.marker else {
      throw ServerFailure.sharedSession
    }
  }

  private static func marker(_ connection: Connection) throws(ServerFailure) -> String {
    try connection.run("SELECT \(Schema.markerValue)").text(0, 0)
  }

  private static let settings: [(name: String, value: String)] = [
    // The server's own time limits are off, because this module limits the time of each statement. If a limit of the
    // server were exceeded, it would report a commit as done that no standby has confirmed.
    ("statement_timeout", "0"), ("lock_timeout", "0"), ("idle_session_timeout", "0"),
    ("transaction_timeout", "0"),
    // The level at which the server reports that it did not wait for the standby.
    ("client_min_messages", Schema.messageLevel),
    // With a stricter level, transactions would fail instead of waiting for each other.
    ("default_transaction_isolation", "read committed"),
    // All reads are by primary key. Without statistics, the server would read a piece by a bitmap scan and
    // sort it.
    ("enable_bitmapscan", "off"),
    // A node that is paused during its turn must not block the others.
    ("idle_in_transaction_session_timeout", "5000"),
    // With this, a session that waits for a lock ends soon after its node has given up. Otherwise such sessions would
    // use up the server's connections while a standby is missing. From PostgreSQL 14 on.
    ("client_connection_check_interval", "5000"),
    // The server ends the session of a machine that has disappeared, and releases its lock, within half a
    // minute.
    ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "20000"),
    // A role may have other values. With `exit_on_error`, a refused statement would end the session; without
    // `row_security`, statements would fail under policies that hide nothing.
    ("exit_on_error", "off"), ("row_security", "on"),
    // A session that a pooler has used before may have another encoding.
    ("client_encoding", "UTF8"),
  ]
}
