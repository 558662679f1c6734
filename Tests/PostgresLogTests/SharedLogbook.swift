import Foundation
import Journaling
import LogbookModel
import PostgresLog
import SharedJournals
import TestSupport

/// Tests with nodes of one logbook.
protocol SharedLogbook {}

/// Two nodes of a logbook with two entries.
struct NearAndFar {
  let near, far: Journal<Logbook>
  let farURL: URL
  /// What the far node's connections pass through.
  let proxy: CuttingProxy
  let server: PostgresServer
  /// The database, as the near node reaches it.
  let address: String

  @discardableResult
  func sql(_ text: String) throws -> String { try server.sql(text, at: address) }

  /// The revisions of the entries that an author has on the server, according to the near node.
  func revisions(by author: String) throws -> [Revision] {
    try near.catchUp()
    return try (1...near.head.revision).filter { try near.entry(at: $0).author == author }
  }
}

/// Tries appends again for a while.
private struct TimedSharing: LogSharing {
  let retryTime: Duration

  func storage(at address: String) throws(JournalError) -> any SharedLogStorage {
    var storage = try PostgresStorage(address)
    storage.retryTime = retryTime
    return storage
  }
}

extension SharedLogbook {
  static var options: JournalOptions { JournalOptions().sharingThroughPostgres() }

  /// Tries appends again for as long as a killed server takes to come back on a busy machine.
  static var patientOptions: JournalOptions { trying(for: .seconds(600)) }

  static func trying(for time: Duration, _ options: JournalOptions = JournalOptions()) -> JournalOptions {
    var options = options
    options.sharing = TimedSharing(retryTime: time)
    return options
  }

  /// Makes a journal of one entry, and shares it.
  func share(at address: String, in folder: TemporaryFolder) throws {
    let url = folder.url.appending(path: "Node0.journal")
    let journal = try Journal<Logbook>.create(at: url)
    try journal.commit(by: "first") { try $0.write(1, "first") }
    try journal.close()
    try Journal<Logbook>.share(at: url, on: address)
  }

  /// Opens the journal that was shared, and joins it in other folders.
  func nodes(
    _ count: Int, at address: String, in folder: TemporaryFolder, options: JournalOptions? = nil
  ) throws -> [Journal<Logbook>] {
    try (0..<count).map { node in
      let url = folder.url.appending(path: "Node\(node).journal")
      if node > 0 { try Journal<Logbook>.join(address, at: url) }
      return try Journal<Logbook>.open(at: url, options: options ?? Self.options)
    }
  }

  /// Calls `body` with a proxy to a database, its address through the proxy, the server and a folder.
  func withProxy(
    _ body: (CuttingProxy, _ address: String, PostgresServer, TemporaryFolder) throws -> Void
  ) throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    let proxy = try CuttingProxy(to: server.port)
    defer { proxy.close() }
    try withTemporaryFolder { folder in
      try body(proxy, address.replacing(":\(server.port)/", with: ":\(proxy.port)/"), server, folder)
    }
  }

  /// Calls `body` with a node that is next to the server, and another one, which has committed, behind a proxy. If packets
  /// are lost there, the far one gives up after seconds.
  func withNearAndFar(_ body: (NearAndFar) throws -> Void) throws {
    try withProxy { proxy, through, server, folder in
      let address = through.replacing(":\(proxy.port)/", with: ":\(server.port)/")
      try share(at: address, in: folder)
      let url = folder.url.appending(path: "Far.journal")
      try Journal<Logbook>.join(
        through.replacing("connect_timeout=5", with: "connect_timeout=2&tcp_user_timeout=2000"), at: url)
      let near = try nodes(1, at: address, in: folder)[0]
      let far = try Journal<Logbook>.open(at: url, options: Self.options)
      defer { for node in [near, far] { try? node.close() } }
      try far.commit(by: "far") { try $0.write(1, "far") }
      try body(
        NearAndFar(near: near, far: far, farURL: url, proxy: proxy, server: server, address: address))
    }
  }

  /// A server, and another one that each of its commits waits for.
  func serverWithStandby() throws -> (PostgresServer, PostgresServer) {
    let primary = try PostgresServer()
    let standby = try PostgresServer(["hot_standby=on"], standbyOf: primary)
    try primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'")
    try primary.sql("SELECT pg_reload_conf()")
    // Commits wait only after the checkpointer has read the setting, which it does between two checkpoints.
    for _ in 0..<2 { try primary.sql("CHECKPOINT") }
    try waitForStandbys(1, of: primary)
    return (primary, standby)
  }

  /// Waits until this many standbys are connected that commits can wait for.
  func waitForStandbys(_ count: Int, of server: PostgresServer) throws {
    for _ in 0..<3000 {
      let found = try server.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
      if found == "\(count)\n" { return }
      usleep(20_000)
    }
    throw PostgresFailure(description: "the server never had \(count) synchronous standbys")
  }

  /// Asks, with pauses of 20 ms, until something holds.
  /// - Parameter count: how often it asks at most.
  func ask(atMost count: Int, until holds: () throws -> Bool) rethrows {
    for _ in 0..<count {
      if try holds() { return }
      usleep(20_000)
    }
  }

  /// A role of its own, and the address of a database as that role reaches it.
  func makeRole(on server: PostgresServer, for address: String) throws -> (name: String, own: String) {
    let name = "role\(UUID().uuidString.prefix(8).lowercased())"
    try server.sql("CREATE ROLE \(name) LOGIN")
    return (name, server.address(database: database(at: address), user: name))
  }

  /// The name of a database.
  func database(at address: String) -> String {
    String(address.split(separator: "/").last?.split(separator: "?").first ?? "")
  }
}
