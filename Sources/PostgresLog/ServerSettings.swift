import Journaling

/// The settings that make commits durable.
struct ServerSettings: Sendable {
  /// The product and its version, in its own words.
  var version = ""
  /// Nil if the engine does not have the setting. The same applies to the next three.
  var fsync: String?
  var synchronousCommit: String?
  var fullPageWrites: String?
  var standbyNames: String?
  var isStandby = false

  /// Reads the settings of a server.
  init(of connection: Connection) throws(ServerFailure) {
    version = try connection.run("SELECT version()", within: ServerAddress.patience).text(0, 0)
    fsync = Self.setting("fsync", connection)
    synchronousCommit = Self.setting("synchronous_commit", connection)
    fullPageWrites = Self.setting("full_page_writes", connection)
    standbyNames = Self.setting("synchronous_standby_names", connection)
    if let rows = try? connection.run("SELECT pg_is_in_recovery()", within: ServerAddress.patience) {
      isStandby = rows.integer(0, 0) != 0
    }
  }

  private static func setting(_ name: String, _ connection: Connection) -> String? {
    guard let rows = try? connection.run("SHOW \(name)", within: ServerAddress.patience), rows.count == 1
    else {
      return nil
    }
    return rows.text(0, 0)
  }

  private var waitsForStandby: Bool { !(standbyNames ?? "").isEmpty }

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
      if waitsForStandby {
        problems.append(
          "synchronous_commit is \(synchronousCommit ?? ""), so a failover loses what was confirmed; run ALTER ROLE … SET "
            + "synchronous_commit = on")
      }
    default: break
    }
    return problems
  }

  /// How commits are made durable, in one line.
  var summary: String {
    guard let fsync, let synchronousCommit else { return "as the engine does it (\(version.prefix(60)))" }
    let standby = waitsForStandby ? ", standbys \(standbyNames ?? "")" : ", no standby"
    return "fsync \(fsync), synchronous_commit \(synchronousCommit)\(standby)"
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
    guard !isAccepted, let first = problems.first else { return }
    throw JournalError(.unsafeSettings, "the server does not keep what it confirms: \(first)")
  }
}
