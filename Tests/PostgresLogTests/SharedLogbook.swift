import Foundation
import Journaling
import LogbookModel
import PostgresLog
import TestSupport

/// Tests with nodes of one logbook.
protocol SharedLogbook {}

extension SharedLogbook {
  static var options: JournalOptions { JournalOptions().sharingThroughPostgres() }

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
    _ count: Int, at address: String, in folder: TemporaryFolder
  ) throws -> [Journal<Logbook>] {
    try (0..<count).map { node in
      let url = folder.url.appending(path: "Node\(node).journal")
      if node > 0 { try Journal<Logbook>.join(address, at: url) }
      return try Journal<Logbook>.open(at: url, options: Self.options)
    }
  }

  /// A server, and another one that each of its commits waits for.
  func serverWithStandby() throws -> (PostgresServer, PostgresServer) {
    let primary = try PostgresServer()
    let standby = try PostgresServer(["hot_standby=on"], standbyOf: primary)
    try primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'")
    try primary.sql("SELECT pg_reload_conf()")
    try waitForStandbys(1, of: primary)
    return (primary, standby)
  }

  /// Waits until this many standbys are connected that commits can wait for.
  func waitForStandbys(_ count: Int, of server: PostgresServer) throws {
    for _ in 0..<500 {
      let found = try server.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
      if found == "\(count)\n" { return }
      usleep(20_000)
    }
    throw PostgresFailure(description: "the server never had \(count) synchronous standbys")
  }

  /// A role of its own, and the address of a database as that role reaches it.
  func makeRole(on server: PostgresServer, for address: String) throws -> (name: String, own: String) {
    let name = "role\(UUID().uuidString.prefix(8).lowercased())"
    let database = String(address.split(separator: "/").last?.split(separator: "?").first ?? "")
    try server.sql("CREATE ROLE \(name) LOGIN")
    return (name, server.address(database: database, user: name))
  }
}
