package import Journaling

/// Stores logs in a PostgreSQL database. The rows of a log have its journal's id. Nothing is stored in the journal's
/// folder.
package struct PostgresStorage: LogStorage, SharedLogStorage {
  let server: ServerAddress
  /// Whether to accept a server that may lose what it confirms.
  private let acceptsUnsafeSettings: Bool

  /// - Parameter address: a libpq connection string without a password.
  /// - Throws: ``JournalError`` with code `wrongUse` if the address is invalid or has a password.
  package init(_ address: String, acceptsUnsafeSettings: Bool = false) throws(JournalError) {
    server = try ServerAddress(address)
    self.acceptsUnsafeSettings = acceptsUnsafeSettings
  }

  package var retryTime = Duration.seconds(20)
  package var address: String { server.description }
  /// An entry takes several times its size in a message and in the server's memory.
  package var appendByteCount: Int { 128 << 20 }

  package var isShared: Bool { true }
  package var isTransient: Bool { false }
  package var allowsFollowing: Bool { true }

  /// Creates the log of a journal, and the tables if they are missing.
  package func create(in place: LogPlace) throws(JournalError) {
    try changing { connection, _ in
      try Self.makeTables(connection)
      do {
        try connection.run(
          Schema.newLog,
          [.uuid(place.journal.bytes), .bytes(place.formatBytes), .integer(place.firstRevision - 1)],
          within: ServerAddress.patience)
      } catch let error as ServerFailure where error.state == "23505" {
        throw JournalError(.alreadyExists, "the server already has a log of this journal; join that one")
      }
    }
  }

  package func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    try open(access, of: place.journal, before: place.firstRevision)
  }

  private func open(
    _ access: LogAccess, of journal: JournalID, before first: Revision
  ) throws(JournalError) -> ServerLog {
    try JournalError.translating {
      let (connection, settings) = try connect(access)
      return try ServerLog(connection, self, access, of: journal, after: first - 1, settings)
    }
  }

  /// Connects. For writing, it checks that the server keeps what it confirms.
  func connect(_ access: LogAccess, isFirst: Bool = true) throws -> (Connection, ServerSettings) {
    let connection = try server.connect(isFirst: isFirst)
    let settings = try ServerSettings(of: connection)
    if access == .write { try use(settings, on: connection) }
    return (connection, settings)
  }

  // MARK: Sharing

  package func journals() throws(JournalError) -> [JournalID] {
    try JournalError.translating {
      let connection = try server.connect()
      let rows = try connection.explaining { () throws(ServerFailure) in
        try connection.run(
          "SELECT journal FROM journal_logs ORDER BY journal", within: ServerAddress.patience)
      }
      if rows.count == 0, let obstacle = connection.obstacle {
        throw JournalError(.permission, "this role sees no journal in \(address): \(obstacle)")
      }
      return (0..<rows.count).compactMap { JournalID(bytes: rows.bytes($0, 0)) }
    }
  }

  package func begin(_ journal: JournalID) throws(JournalError) {
    try changing { connection, _ in
      try Self.makeTables(connection)
      try connection.run(
        Schema.newLogIfMissing, [.uuid(journal.bytes), .bytes([])], within: ServerAddress.patience)
    }
  }

  package func finish(_ journal: JournalID, format: [UInt8]) throws(JournalError) {
    // The node that shares has a connection already.
    try changing(isFirst: false) { connection, settings in
      try connection.run(
        Schema.finishLog, [.uuid(journal.bytes), .bytes(format), settings.session(of: connection)],
        within: ServerAddress.patience)
    }
  }

  package func format(of journal: JournalID) throws(JournalError) -> [UInt8] {
    try JournalError.translating {
      let connection = try server.connect()
      let rows = try connection.explaining { () throws(ServerFailure) in
        try connection.run(Schema.format, [.uuid(journal.bytes)], within: ServerAddress.patience)
      }
      guard rows.count == 1 else {
        throw JournalError(
          .notFound, "there is no journal \(journal) in \(address)\(connection.reason)")
      }
      return rows.bytes(0, 0)
    }
  }

  package func connect(to journal: JournalID) throws(JournalError) -> any SharedLog {
    try open(.write, of: journal, before: 1)
  }

  /// Changes the tables. If the server waits for a standby before it confirms that, the error says so.
  private func changing(isFirst: Bool = true, _ body: (Connection, ServerSettings) throws -> Void)
    throws(JournalError)
  {
    try JournalError.translating {
      let (connection, settings) = try connect(.write, isFirst: isFirst)
      do { try body(connection, settings) } catch let error as ServerFailure {
        guard error.kind == .lost, let warning = settings.durability.warning else {
          throw connection.explained(error)
        }
        throw JournalError(.unreachable, "the server did not confirm the change; \(warning)")
      }
    }
  }

  /// Fails if a server must not be written to with these settings.
  private func use(_ settings: ServerSettings, on connection: Connection) throws {
    try settings.check(accepting: acceptsUnsafeSettings)
    // Without this, the session would follow later changes of the server's settings.
    if let value = settings.sessionSynchronousCommit {
      try connection.run("SET synchronous_commit = \(value)", within: ServerAddress.patience)
    }
  }

  /// Creates only the missing tables, so that a role that may not create tables can use existing ones. Nothing is created
  /// if one of those is unsuitable.
  private static func makeTables(_ connection: Connection) throws {
    for table in try Schema.tables.filter({ try !exists($0, connection) }) {
      do throws(ServerFailure) {
        try connection.run(table.definition, within: ServerAddress.patience)
      } catch {
        // Another node may have created it at the same time.
        guard ["23505", "42P07"].contains(error.state) else { throw error }
      }
    }
  }

  private static func exists(_ table: Schema.Table, _ connection: Connection) throws -> Bool {
    do throws(ServerFailure) {
      try connection.run(table.check, within: ServerAddress.patience)
      return true
    } catch {
      if error.state == "42P01" { return false }
      // Another column, another type of a column, no such key, and not a table.
      guard ["42703", "42804", "42P10", "42809"].contains(error.state) else { throw error }
      throw JournalError(
        .alreadyExists,
        "the database has another table \(table.name), which can't store journals; use another database or schema, or "
          + "have an administrator rename or correct that table: \(error.message)")
    }
  }
}

extension JournalError {
  /// The only place that converts a server's errors to the journal's.
  static func translating<Result>(_ body: () throws -> Result) throws(JournalError) -> Result {
    do {
      return try body()
    } catch let error as JournalError {
      throw error
    } catch let error as ServerFailure {
      throw error.journalError
    } catch {
      throw JournalError(.io, "the server's log failed in an unexpected way", cause: error)
    }
  }
}
