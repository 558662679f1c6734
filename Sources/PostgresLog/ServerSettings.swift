import Journaling

/// The settings that make commits durable, and whether the standbys that commits wait for are connected.
struct ServerSettings: Sendable {
  /// The standbys that are connected to the server.
  private struct Standbys {
    /// How many of them a commit can wait for.
    let synchronousCount: Int
    /// How many of them are shown without their state, because the role lacks `pg_read_all_stats`.
    let hiddenCount: Int
  }

  /// The product and its version, in its own words.
  var version = ""
  /// Nil if the engine does not have the setting. The same applies to the next three.
  var fsync: String?
  var synchronousCommit: String?
  var fullPageWrites: String?
  var standbyNames: String?
  var isStandby = false
  /// Whether transactions may only read.
  private var isReadOnly = false
  /// The journals' tables that a crash empties.
  private var unloggedTables: [String] = []
  /// Nil if the engine does not tell, or if no commit waits for a standby.
  private var standbys: Standbys?

  /// Reads the settings of a server.
  init(of connection: Connection) throws(ServerFailure) {
    version = try connection.run("SELECT version()").text(0, 0)
    fsync = try Self.setting("fsync", connection)
    synchronousCommit = try Self.setting("synchronous_commit", connection)
    fullPageWrites = try Self.setting("full_page_writes", connection)
    standbyNames = try Self.setting("synchronous_standby_names", connection)
    if let rows = try Self.rows(of: "SELECT pg_is_in_recovery()", connection) {
      isStandby = rows.integer(0, 0) != 0
    }
    isReadOnly = try Self.setting("transaction_read_only", connection) == "on"
    unloggedTables = try Self.unloggedTables(of: connection)
    if waitsForStandby, !isStandby { standbys = try Self.standbys(of: connection) }
  }

  /// The rows of a statement; nil if the engine does not know what it asks for, or keeps it from this role.
  /// - Throws: ``ServerFailure`` if the server could not answer this time, which says nothing about its settings.
  private static func rows(of text: Connection.Statement, _ connection: Connection) throws(ServerFailure)
    -> Rows?
  {
    do throws(ServerFailure) { return try connection.run(text) } catch {
      // Shortages, cancellations and shutdowns, and failures of the server's system.
      let isPassing = ["53", "57", "58"].contains { error.state.hasPrefix($0) } || error.isTransient
      guard error.kind == .refused, !isPassing else { throw error }
      return nil
    }
  }

  /// Roles without `pg_read_all_stats` see a row for each standby, whose other columns are null.
  private static func standbys(of connection: Connection) throws(ServerFailure) -> Standbys? {
    let text: Connection.Statement = """
      SELECT count(CASE WHEN sync_state IN ('sync', 'quorum') THEN 1 END), count(*) - count(sync_state)
      FROM pg_stat_replication
      """
    guard let rows = try rows(of: text, connection), rows.count == 1 else { return nil }
    return Standbys(synchronousCount: rows.integer(0, 0), hiddenCount: rows.integer(0, 1))
  }

  /// Empty too if the engine does not tell.
  private static func unloggedTables(of connection: Connection) throws(ServerFailure) -> [String] {
    let tables = Schema.tables.map { "to_regclass('\($0.name)')" }.joined(separator: ", ")
    let text: Connection.Statement = """
      SELECT CAST(relname AS text) FROM pg_class WHERE oid IN (\(tables)) AND relpersistence <> 'p' ORDER BY relname
      """
    guard let rows = try rows(of: text, connection) else { return [] }
    return (0..<rows.count).map { rows.text($0, 0) }
  }

  private static func setting(
    _ name: String, _ connection: Connection
  ) throws(ServerFailure) -> String? {
    guard let rows = try rows(of: "SHOW \(name)", connection), rows.count == 1 else { return nil }
    return rows.text(0, 0)
  }

  private var namesStandby: Bool { !(standbyNames ?? "").isEmpty }

  private var waitsForStandby: Bool {
    namesStandby && !["off", "local"].contains(synchronousCommit)
  }

  /// How many standbys a commit waits for: the number in `FIRST 2 (a, b)`, `ANY 2 (a, b)` or `2 (a, b)`, and 1 for a
  /// list of names.
  private var demandedStandbyCount: Int {
    let number = standbyNames?.firstMatch(of: /^\s*(?:(?:FIRST|ANY)\s+)?([0-9]+)\s*\(/.ignoresCase())
    return number.flatMap { Int($0.1) } ?? 1
  }

  /// The settings under which a confirmed commit can be lost, each with a remedy.
  var problems: [String] {
    var problems: [String] = []
    if fsync == "off" {
      problems.append("fsync is off, so a power loss can destroy everything; set it to on")
    }
    if fullPageWrites == "off" {
      problems.append(
        "full_page_writes is off, so a power loss can tear pages, unless the file system never does; set it to on"
      )
    }
    switch synchronousCommit {
    case "off":
      problems.append(
        "synchronous_commit is off, so a crash loses what was confirmed; run ALTER ROLE … SET synchronous_commit = on"
      )
    case "local", "remote_write":
      if namesStandby {
        problems.append(
          "synchronous_commit is \(synchronousCommit ?? ""), so a failover loses what was confirmed; run ALTER ROLE … SET "
            + "synchronous_commit = on")
      }
    default: break
    }
    for table in unloggedTables {
      problems.append(
        "the table \(table) is unlogged, so a crash of the server empties it, and no standby has its rows; run ALTER "
          + "TABLE \(table) SET LOGGED")
    }
    return problems
  }

  /// The value of `synchronous_commit` for a session: the server's, unless that would not wait for a standby that is added
  /// later.
  var sessionSynchronousCommit: String? {
    guard let value = synchronousCommit, problems.isEmpty else { return synchronousCommit }
    return ["local", "remote_write"].contains(value) ? "on" : value
  }

  /// What the statements that commit demand of a connection's session (``Schema/isOwn(_:)``).
  func session(of connection: Connection) -> Connection.Parameter {
    .text("\(connection.marker) \(sessionSynchronousCommit ?? "") \(Schema.messageLevel)")
  }

  /// How commits are made durable.
  var durability: Durability { Durability(summary: summary, warning: warning) }

  private var summary: String {
    guard let fsync, let synchronousCommit else { return "as the engine does it (\(version.prefix(60)))" }
    var text = "fsync \(fsync), synchronous_commit \(synchronousCommit)"
    text += namesStandby ? ", standbys \(standbyNames ?? "")" : ", no standby"
    guard let standbys else { return text }
    return text
      + (standbys.hiddenCount > 0
        ? ", whose state this role may not see" : ", \(standbys.synchronousCount) connected")
  }

  /// Why commits wait. A standby whose state is hidden may be one that they wait for.
  private var warning: String? {
    guard let standbys else { return nil }
    let (demanded, connected) = (demandedStandbyCount, standbys.synchronousCount + standbys.hiddenCount)
    guard connected < demanded else { return nil }
    return demanded == 1
      ? "no synchronous standby is connected: commits wait until one is"
      : "commits wait for \(demanded) synchronous standbys, and at most \(connected) "
        + (connected == 1 ? "is connected" : "are connected")
  }

  /// Throws if confirmed commits would not be safe, or if nothing can be written.
  func check(accepting isAccepted: Bool) throws(JournalError) {
    guard !isStandby else {
      throw JournalError(
        .unreachable,
        "the server is a standby, which is read-only; name the primary, or all servers with "
          + "target_session_attrs=read-write"
      )
    }
    guard !isReadOnly else { throw ServerFailure.readOnly.journalError }
    guard !isAccepted, let first = problems.first else { return }
    throw JournalError(.unsafeSettings, "the server's settings can lose confirmed commits: \(first)")
  }
}
