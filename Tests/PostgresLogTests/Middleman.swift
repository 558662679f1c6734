import Foundation
import TestSupport

/// A pooler or a load balancer between clients and a server. It runs as an ordinary user in a folder that is removed with
/// those of all servers.
final class Middleman: Sendable {
  static let pgBouncer = path(of: "pgbouncer")
  static let pgpool = path(of: "pgpool")

  let port: Int
  private let folder: String
  private let process: Process

  /// Starts PgBouncer in front of a server.
  static func pgBouncer(_ server: PostgresServer, _ settings: [String]) throws -> Middleman {
    try Middleman(server, pgBouncer, arguments: ["-q", "settings"]) { port, _ in
      bouncerSettings(server, port, settings)
    }
  }

  private static func bouncerSettings(_ server: PostgresServer, _ port: Int, _ settings: [String]) -> String {
    """
    [databases]
    * = host=127.0.0.1 port=\(server.port)
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = \(port)
    unix_socket_dir =
    auth_type = trust
    auth_file = users
    \(settings.joined(separator: "\n"))
    """
  }

  /// Starts Pgpool-II in front of a primary and its standby. All sessions read from the standby.
  static func pgpool(_ primary: PostgresServer, _ standby: PostgresServer, _ settings: [String]) throws
    -> Middleman
  {
    let arguments = ["-n", "-f", "settings", "-F", "users", "-a", "users"]
    return try Middleman(primary, pgpool, arguments: arguments) { port, folder in
      """
      listen_addresses = '127.0.0.1'
      port = \(port)
      pcp_port = \(try PostgresServer.freePort())
      socket_dir = '\(folder)'
      unix_socket_directories = '\(folder)'
      pcp_socket_dir = '\(folder)'
      wd_ipc_socket_dir = '\(folder)'
      pid_file_name = '\(folder)/pid'
      logdir = '\(folder)'
      backend_clustering_mode = 'streaming_replication'
      backend_hostname0 = '127.0.0.1'
      backend_port0 = \(primary.port)
      backend_weight0 = 0
      backend_flag0 = 'ALWAYS_PRIMARY'
      backend_hostname1 = '127.0.0.1'
      backend_port1 = \(standby.port)
      backend_weight1 = 1
      num_init_children = 8
      sr_check_period = 0
      \(settings.joined(separator: "\n"))
      """
    }
  }

  private init(
    _ server: PostgresServer, _ program: String?, arguments: [String],
    _ settings: (_ port: Int, _ folder: String) throws -> String
  ) throws {
    guard let program else { throw PostgresFailure(description: "the program is not installed") }
    (port, folder) = (try PostgresServer.freePort(), try PostgresServer.makeFolder())
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
    try settings(port, folder).write(toFile: "\(folder)/settings", atomically: true, encoding: .utf8)
    try "\"journal\" \"\"\n".write(toFile: "\(folder)/users", atomically: true, encoding: .utf8)
    process = Process()
    let user = "\(PostgresServer.userID)"
    let words =
      (geteuid() == 0 ? ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"] : [])
      // A thread of a test may block signals. The file lets it end with the servers if the tests are killed.
      + ["perl", "-MPOSIX", "-e", "sigprocmask(SIG_SETMASK, POSIX::SigSet->new); exec @ARGV"]
      + ["sh", "-c", "echo $$ >postmaster.pid; exec \"$@\" >log 2>&1", "sh", program] + arguments
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.currentDirectoryURL = URL(filePath: folder)
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    for _ in 0..<1500 where process.isRunning {
      if (try? server.sql("SELECT 1", at: address(database: "postgres"))) != nil { return }
      usleep(20_000)
    }
    stop()
    let log = (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
    throw PostgresFailure(description: "\(program) does not start: \(log)")
  }

  func address(database: String) -> String {
    "postgresql://journal@127.0.0.1:\(port)/\(database)?connect_timeout=5"
  }

  /// Replaces the settings of PgBouncer.
  func reload(_ server: PostgresServer, _ settings: [String]) throws {
    try Self.bouncerSettings(server, port, settings)
      .write(toFile: "\(folder)/settings", atomically: true, encoding: .utf8)
    kill(process.processIdentifier, SIGHUP)
  }

  /// Ends it at once.
  func stop() {
    kill(process.processIdentifier, SIGQUIT)
    process.waitUntilExit()
  }

  private static func path(of program: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + ["/usr/sbin"]
    return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
