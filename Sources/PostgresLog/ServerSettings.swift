import Journaling
import SharedJournals

/// The server's settings that make commits durable, and whether the standbys that commits wait for are connected.
struct ServerSettings: Sendable {
  private let fsync: String
  private let synchronousCommit: String
  private let fullPageWrites: String
  private let standbyNames: String
  private let isStandby: Bool
  /// Whether transactions are read-only.
  private let isReadOnly: Bool
  /// The unlogged tables, which a crash empties.
  private let unloggedTables: [Substring]
  /// The numbers of connected standbys: those that a commit can wait for, and those whose state is hidden, because the
  /// role lacks `pg_read_all_stats`. Nil if no commit waits for a standby, or if the role may not see any.
  private var standbys: (synchronousCount: Int, hiddenCount: Int)?

  init(of connection: Connection) throws(ServerFailure) {
    let tables = Schema.tables.map { "to_regclass('\($0.name)')" }.joined(separator: ", ")
    let rows = try connection.run(
      """
      SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes'),
        current_setting('synchronous_standby_names'), pg_is_in_recovery(),
        current_setting('transaction_read_only') = 'on',
        (SELECT string_agg(CAST(relname AS text), ' ' ORDER BY relname) FROM pg_class
          WHERE oid IN (\(tables)) AND relpersistence <> 'p')
      """)
    (fsync, synchronousCommit) = (rows.text(0, 0), rows.text(0, 1))
    (fullPageWrites, standbyNames) = (rows.text(0, 2), rows.text(0, 3))
    (isStandby, isReadOnly) = (rows.integer(0, 4) != 0, rows.integer(0, 5) != 0)
    unloggedTables = rows.text(0, 6).split(separator: " ")
    if waitsForStandby, !isStandby { standbys = try Self.standbys(of: connection) }
  }

  private static func standbys(of connection: Connection) throws(ServerFailure) -> (Int, Int)? {
    do throws(ServerFailure) {
      let rows = try connection.run(
        """
        SELECT count(CASE WHEN sync_state IN ('sync', 'quorum') THEN 1 END), count(*) - count(sync_state)
        FROM pg_stat_replication
        """)
      return (rows.integer(0, 0), rows.integer(0, 1))
    } catch {
      // An administrator can revoke the view from all roles.
      guard error.state == "42501" else { throw error }
      return nil
    }
  }

  private var namesStandby: Bool { !standbyNames.isEmpty }

  private var waitsForStandby: Bool {
    namesStandby && !["off", "local"].contains(synchronousCommit)
  }

  /// The number of standbys that a commit waits for: 2 in `FIRST 2 (a, b)`, `ANY 2 (a, b)` and `2 (a, b)`,
  /// and 1 for a list of names.
  private var demandedStandbyCount: Int {
    let number = standbyNames.firstMatch(of: /^\s*(?:(?:FIRST|ANY)\s+)?([0-9]+)\s*\(/.ignoresCase())
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
          "synchronous_commit is \(synchronousCommit), so a failover loses what was confirmed; run ALTER ROLE … SET "
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

  /// The value of `synchronous_commit` for a session: the server's value, or `on` if commits would otherwise not wait
  /// for a standby that is added later.
  var sessionSynchronousCommit: String {
    let isLocal = problems.isEmpty && ["local", "remote_write"].contains(synchronousCommit)
    return isLocal ? "on" : synchronousCommit
  }

  /// The parameter with which committing statements demand the session (``Schema/isOwn(_:)``).
  func session(of connection: Connection) -> Connection.Parameter {
    .text("\(connection.marker) \(sessionSynchronousCommit) \(Schema.messageLevel)")
  }

  var durability: Durability { Durability(summary: summary, warning: warning) }

  private var summary: String {
    let text = "fsync \(fsync), synchronous_commit \(synchronousCommit), "
    guard namesStandby else { return text + "no standby" }
    guard waitsForStandby, !isStandby else { return text + "standbys \(standbyNames)" }
    guard let standbys, standbys.hiddenCount == 0 else {
      return text + "standbys \(standbyNames), whose state this role may not see"
    }
    return text + "standbys \(standbyNames), \(standbys.synchronousCount) connected"
  }

  /// Why commits wait; nil if they do not, or if it is unknown. A standby whose state is hidden counts as connected.
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
