package import Journaling
package import SharedJournals

/// Stores logs in a PostgreSQL database. The rows of a log have its journal's id. Nothing is stored in the journal's
/// folder.
package struct PostgresStorage: SharedLogStorage {
  let server: ServerAddress
  private let acceptsUnsafeSettings: Bool

  /// - Parameter address: a libpq connection string without a password.
  /// - Throws: ``JournalError`` with code `wrongUse` if the address is invalid or has a password.
  package init(_ address: String, acceptsUnsafeSettings: Bool = false) throws(JournalError) {
    server = try ServerAddress(address)
    self.acceptsUnsafeSettings = acceptsUnsafeSettings
  }

  package var retryTime = Duration.seconds(20)
  package var address: String { server.description }
  /// The limit of an append: entries take several times their size in messages and in the server's memory.
  package var appendByteCount: Int { 128 << 20 }

  package func journals() throws(JournalError) -> [JournalID] {
    try open().translating { connection in
      let rows = try connection.run("SELECT journal FROM journal_logs ORDER BY journal")
      if rows.count == 0, let obstacle = connection.obstacle {
        throw JournalError(.permission, "this role sees no journal in \(address): \(obstacle)")
      }
      return (0..<rows.count).compactMap { JournalID(bytes: rows.bytes($0, 0)) }
    }
  }

  package func format(of journal: JournalID) throws(JournalError) -> [UInt8] {
    try open().translating { connection in
      let rows = try connection.run(Schema.format, [.uuid(journal.bytes)])
      guard rows.count == 1 else {
        throw JournalError(
          .notFound, "there is no journal \(journal) in \(address)\(connection.reason)")
      }
      return rows.bytes(0, 0)
    }
  }

  /// Creates the row of a journal, and missing tables.
  package func begin(_ journal: JournalID) throws(JournalError) {
    try changing { connection, _ in
      try Self.makeTables(connection)
      try connection.run(Schema.newLog, [.uuid(journal.bytes), .bytes([])])
    }
  }

  package func finish(_ journal: JournalID, format: [UInt8]) throws(JournalError) {
    // The node that shares the journal has a connection already.
    try changing(isFirst: false) { connection, settings in
      try connection.run(
        Schema.finishLog, [.uuid(journal.bytes), .bytes(format), settings.session(of: connection)])
    }
  }

  package func connect(to journal: JournalID) throws(JournalError) -> any SharedLog {
    let (connection, settings) = try connect()
    return try connection.translating { try ServerLog($0, self, of: journal, settings) }
  }

  private func open(isFirst: Bool = true) throws(JournalError) -> Connection {
    do throws(ServerFailure) { return try server.connect(isFirst: isFirst) } catch {
      throw error.journalError
    }
  }

  /// Connects, and checks that the server does not lose confirmed commits.
  func connect(isFirst: Bool = true) throws(JournalError) -> (Connection, ServerSettings) {
    try open(isFirst: isFirst).translating { connection in
      let settings = try ServerSettings(of: connection)
      try settings.check(accepting: acceptsUnsafeSettings)
      // The session must not follow later changes of the server's settings.
      try connection.run("SET synchronous_commit = \(settings.sessionSynchronousCommit)")
      return (connection, settings)
    }
  }

  /// Calls `body` to change the tables. If the server waits for a standby to confirm the change, an error says so.
  private func changing(
    isFirst: Bool = true, _ body: (Connection, ServerSettings) throws -> Void
  ) throws(JournalError) {
    let (connection, settings) = try connect(isFirst: isFirst)
    try connection.translating { connection in
      do { try body(connection, settings) } catch let error as ServerFailure {
        guard error.kind == .lost, let warning = settings.durability.warning else { throw error }
        throw JournalError(.unreachable, "the server did not confirm the change; \(warning)")
      }
    }
  }

  /// Creates only missing tables, so that a role without the privilege to create tables can use existing
  /// ones. Nothing is created if an existing table is unsuitable.
  private static func makeTables(_ connection: Connection) throws {
    for table in try Schema.tables.filter({ try !exists($0, connection) }) {
      do throws(ServerFailure) {
        try connection.run("\(table.definition)")
      } catch {
        // Another node may have created the table at the same time.
        guard ["23505", "42P07"].contains(error.state) else { throw error }
      }
    }
  }

  private static func exists(_ table: Schema.Table, _ connection: Connection) throws -> Bool {
    do throws(ServerFailure) {
      try connection.run("\(table.check)")
      return true
    } catch {
      if error.state == "42P01" { return false }
      // The table has another column, type or key, or is not a table.
      guard ["42703", "42804", "42P10", "42809"].contains(error.state) else { throw error }
      throw JournalError(
        .alreadyExists,
        "the database has another table \(table.name), which can't store journals; use another database or schema, or "
          + "have an administrator rename or correct that table: \(error.message)")
    }
  }
}
