package import Journaling

/// Keeps logs in a PostgreSQL database, each as rows of its journal's id, and nothing in the journal's folder.
package struct PostgresStorage: LogStorage {
  private let address: ServerAddress
  /// Whether a server that does not keep what it confirms will do.
  private let acceptsUnsafeSettings: Bool

  /// - Parameter address: what libpq takes, without a password.
  /// - Throws: ``JournalError`` with code `wrongUse` for what is no address.
  package init(_ address: String, acceptsUnsafeSettings: Bool = false) throws(JournalError) {
    self.address = try ServerAddress(address)
    self.acceptsUnsafeSettings = acceptsUnsafeSettings
  }

  package var isShared: Bool { true }
  package var isTransient: Bool { false }
  package var allowsFollowing: Bool { true }

  /// Makes the log of a journal, and the tables if they are missing.
  package func create(in place: LogPlace) throws(JournalError) {
    try JournalError.translating {
      let connection = try address.connect()
      try checkSettings(connection)
      try Self.makeTables(connection)
      do {
        try connection.run(
          Schema.newLog,
          [.uuid(place.journal.bytes), .bytes(place.formatBytes), .integer(place.firstRevision - 1)],
          within: ServerAddress.patience)
      } catch let error as ServerFailure where error.state == "23505" {
        throw JournalError(.alreadyExists, "the server has a log of this journal already; join that one")
      }
    }
  }

  package func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    try JournalError.translating {
      let connection = try address.connect()
      if access == .write { try checkSettings(connection) }
      return try ServerLog(connection, address, access, of: place.journal)
    }
  }

  private func checkSettings(_ connection: Connection) throws {
    try ServerSettings(of: connection).check(accepting: acceptsUnsafeSettings)
  }

  /// A role that may not make tables can use those that are there.
  private static func makeTables(_ connection: Connection) throws(ServerFailure) {
    for table in Schema.tables {
      do throws(ServerFailure) {
        try connection.run("SELECT 1 FROM \(table.name) WHERE 1 = 0", within: ServerAddress.patience)
      } catch {
        guard error.state == "42P01" else { throw error }
        try connection.run(table.definition, within: ServerAddress.patience)
      }
    }
  }
}

extension JournalError {
  /// The one place where a server's errors become the journal's.
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
