import Foundation

/// A PostgreSQL server for tests. It listens on the loopback address, runs as an ordinary user, and is removed when the
/// process ends.
package final class PostgresServer: Sendable {
  /// Where the programs of PostgreSQL are; nil if they are not installed.
  package static let programs: String? = {
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    let folders = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "/usr/lib/postgresql/\($0)/bin" }
    return folders.first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
  }()

  package static var isInstalled: Bool { programs != nil }

  /// The server for all tests that need none of their own.
  package static let shared = Result { try PostgresServer() }

  /// The folder of all servers of this process. A program that outlives this one stops them and removes it.
  private static let root = Result {
    let path =
      "\(FileManager.default.temporaryDirectory.path)/journal-postgres-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try asOrdinaryUser { user in _ = try runProgram("chown", ["\(user)", path]) }
    // It runs in the background in a separate session, and the process that starts it ends at once: a child that has
    // ended, but was not waited for, would keep exit tests from being noticed.
    let tidy = """
      {
        while kill -0 "$1" 2>/dev/null; do sleep 0.5; done
        for file in "$2"/*/postmaster.pid; do
          # A server that a test has killed leaves its file, and another process may have its number by now.
          number=$(head -n 1 "$file")
          { ps -o args= -p "$number"; readlink "/proc/$number/cwd"; } | grep -qF "$2" && kill -QUIT "$number"
        done 2>/dev/null
        sleep 1
        rm -rf "$2"
      } &
      """
    let process = "\(ProcessInfo.processInfo.processIdentifier)"
    _ = try spawn(
      ["bash"] + closing + ["setsid", "sh", "-c", tidy, "sh", process, path], output: "/dev/null")
    return path
  }

  /// Arguments of `bash` before a program that must not inherit the descriptors of a `Process` that another
  /// test starts just now: Foundation would take that test's program for running as long as this one.
  private static let closing = [
    "-c",
    "for file in /proc/self/fd/*; do n=${file##*/}; ((n > 2)) && eval \"exec $n>&-\"; done; exec \"$@\"",
    "bash",
  ]

  /// Makes an empty folder where all servers are, to mount something at.
  package static func makeFolder() throws -> String {
    let path = try "\(root.get())/\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    return path
  }

  /// The user who runs the servers if the tests run as the superuser, who can't.
  package static let userID = 65534

  private static func asOrdinaryUser(_ body: (Int) throws -> Void) rethrows {
    if geteuid() == 0 { try body(userID) }
  }

  package let port: Int
  /// The folder of the server's data.
  package let path: String

  /// Makes a server and starts it.
  /// - Parameters:
  ///   - settings: as `name=value`.
  ///   - primary: the server to be a standby of, with `name` as the application name; nil for a primary.
  ///   - folder: the folder for its data; nil for the folder of all servers.
  package init(
    _ settings: [String] = [], standbyOf primary: PostgresServer? = nil, name: String = "standby",
    in folder: String? = nil
  ) throws {
    path = try "\(folder ?? Self.root.get())/\(UUID().uuidString.prefix(8))"
    if let primary {
      try Self.run(
        "pg_basebackup",
        [
          "-D", path, "-d", "\(primary.address)&application_name=\(name)", "-R", "-X", "stream",
          "--checkpoint=fast",
        ])
    } else {
      try Self.run(
        "initdb", ["-D", path, "-U", "journal", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"])
    }
    let all =
      [
        "listen_addresses='127.0.0.1'", "unix_socket_directories=''", "shared_buffers='32MB'",
        "max_connections=200", "wal_level=replica",
      ] + settings
    try Self.run("sh", ["-c", "printf '%s\\n' \"$@\" >>'\(path)/postgresql.conf'", "sh"] + all)
    port = try Self.startAtFreePort(path)
  }

  /// Starts a new server at a port that no other process takes before the server does.
  private static func startAtFreePort(_ path: String) throws -> Int {
    for _ in 0..<10 {
      let port = try freePort()
      // Of several, the last one counts.
      try run("sh", ["-c", "echo port=\(port) >>'\(path)/postgresql.conf'"])
      do {
        try start(path)
        return port
      } catch {
        let log = (try? String(contentsOfFile: "\(path).log", encoding: .utf8)) ?? ""
        guard log.contains("Address already in use") else { throw error }
      }
    }
    throw PostgresFailure(description: "other processes take every free port")
  }

  /// The address for a client that connects as a superuser of the server, without a password.
  package var address: String { address(database: "postgres") }

  package func address(database: String, user: String = "journal") -> String {
    "postgresql://\(user)@127.0.0.1:\(port)/\(database)?connect_timeout=5"
  }

  /// The same for sessions that begin with a setting, such as `synchronous_commit=off`.
  package func address(setting: String) -> String {
    "\(address)&options=-c%20\(setting.replacing("=", with: "%3D"))"
  }

  /// Makes an empty database, and returns its address.
  package func makeDatabase() throws -> String {
    let name = "d" + UUID().uuidString.prefix(8).lowercased()
    try sql("CREATE DATABASE \(name)")
    return address(database: name)
  }

  /// Runs SQL, and returns the result, one line for each row.
  @discardableResult
  package func sql(_ text: String, at address: String? = nil) throws -> String {
    try Self.run(
      "psql", ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", address ?? self.address, "-c", text])
  }

  /// Requires TLS and a password of all clients but the tests' superuser, from the next start on.
  /// - Returns: the path of the server's self-signed certificate.
  package func requireTLS() throws -> String {
    try Self.run(
      "openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
        "subjectAltName=IP:127.0.0.1", "-keyout", "\(path)/server.key", "-out", "\(path)/server.crt",
      ])
    let rules = "host all journal 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
    try Self.run(
      "sh", ["-c", "printf '\(rules)' >'\(path)/pg_hba.conf'; echo ssl=on >>'\(path)/postgresql.conf'"])
    return "\(path)/server.crt"
  }

  package func start() throws { try Self.start(path) }

  private static func start(_ path: String) throws {
    try run(
      "bash",
      closing + [
        Self.path(of: "pg_ctl"), "start", "-w", "-s", "-t", "300", "-D", path, "-l", "\(path).log",
      ])
  }

  /// Ends the server at once with `kill -9` of all its processes, as a crash does.
  package func kill() throws {
    let pid = try String(contentsOfFile: "\(path)/postmaster.pid", encoding: .utf8).split(separator: "\n")[0]
    // The postmaster is stopped first, so that it starts no new ones. A server can't start before all have ended.
    let script = """
      kill -STOP \(pid)
      while ps -o stat= -p \(pid) | grep -q '^[^TZ]'; do sleep 0.01; done
      all="$(echo $(ps -o pid= --ppid \(pid))) \(pid)"
      kill -9 $all 2>/dev/null
      while ps -o stat= -p "$all" | grep -q '^[^Z]'; do sleep 0.01; done
      # A new server looks for the old one by its number, which a process keeps until its parent knows of its end.
      while kill -0 \(pid) 2>/dev/null; do sleep 0.01; done
      """
    try Self.runProgram("sh", ["-c", script])
  }

  package var isRunning: Bool { (try? Self.run("pg_ctl", ["status", "-D", path])) != nil }

  package func stop() throws {
    try Self.run("pg_ctl", ["stop", "-w", "-s", "-t", "300", "-m", "immediate", "-D", path])
  }

  /// Promotes a standby to the primary.
  package func promote() throws { try Self.run("pg_ctl", ["promote", "-w", "-s", "-t", "300", "-D", path]) }

  /// Stops all its processes from running, or lets them continue.
  package func pause(_ isPaused: Bool) throws {
    let pid = try String(contentsOfFile: "\(path)/postmaster.pid", encoding: .utf8).split(separator: "\n")[0]
    let signal = "kill -\(isPaused ? "STOP" : "CONT")"
    // A backend may have ended since it was listed.
    try Self.runProgram(
      "sh", ["-c", "\(signal) \(pid) && { \(signal) $(ps -o pid= --ppid \(pid)) 2>/dev/null; true; }"])
  }

  @discardableResult
  private static func run(_ program: String, _ arguments: [String]) throws -> String {
    let name = path(of: program)
    guard geteuid() == 0 else { return try runProgram(name, arguments) }
    let user = ["--reuid=\(userID)", "--regid=\(userID)", "--clear-groups", name]
    return try runProgram("setpriv", user + arguments)
  }

  /// The path of a program of PostgreSQL, and the name of any other.
  private static func path(of program: String) -> String {
    let own = "\(programs ?? "")/\(program)"
    return FileManager.default.isExecutableFile(atPath: own) ? own : program
  }

  /// Runs a program to its end, and returns what it has printed.
  @discardableResult
  private static func runProgram(_ name: String, _ arguments: [String]) throws -> String {
    let output = FileManager.default.temporaryDirectory.appending(path: "journal-run-\(UUID().uuidString)")
    try Data().write(to: output)
    defer { try? FileManager.default.removeItem(at: output) }
    let status = try spawn([name] + arguments, output: output.path)
    let text = try String(contentsOf: output, encoding: .utf8)
    guard status == 0 else { throw PostgresFailure(description: "\(name) \(arguments): \(text)") }
    return text
  }

  /// Foundation's `Process` takes a program for running as long as a server runs that the program has started.
  private static func spawn(_ words: [String], output: String) throws -> Int32 {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_APPEND, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    let environment = ProcessInfo.processInfo.environment
    var variables = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      while let text = unsafe arguments.popLast() { unsafe free(text) }
      while let text = unsafe variables.popLast() { unsafe free(text) }
    }
    var pid: pid_t = 0
    let failure = unsafe posix_spawnp(&pid, words[0], &actions, nil, &arguments, &variables)
    guard failure == 0 else { throw PostgresFailure(description: "\(words[0]) can't be started: \(failure)") }
    var status: Int32 = 0
    while unsafe waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    return status
  }

  /// The system gives none of these to outgoing connections, so that a server that was killed can start there again.
  package static func freePort() throws -> Int {
    for _ in 0..<1000 {
      let port = UInt16.random(in: 10_000..<20_000)
      let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(socket) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let isFree = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe bind(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      if isFree { return Int(port) }
    }
    throw PostgresFailure(description: "no port is free")
  }
}

package struct PostgresFailure: Error, CustomStringConvertible {
  package let description: String

  package init(description: String) { self.description = description }
}
