import Foundation
import Journaling
import LogbookModel
import SharedJournals
import TestSupport
import Testing

@testable import PostgresLog

/// Poolers and load balancers between nodes and the server.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PoolerTests: SharedLogbook {
  private func error(of body: () throws -> Void) -> JournalError? {
    #expect(throws: JournalError.self, performing: body)
  }

  /// Calls `body` with a database, its address through a PgBouncer, the server and a folder.
  private func withPgBouncer(
    _ settings: [String],
    _ body: (Middleman, _ address: String, _ own: String, PostgresServer, TemporaryFolder) throws -> Void
  ) throws {
    let server = try PostgresServer.shared.get()
    let own = try server.makeDatabase()
    let pooler = try Middleman.pgBouncer(server, settings)
    defer { pooler.stop() }
    try withTemporaryFolder { folder in
      try body(pooler, pooler.address(database: database(at: own)), own, server, folder)
    }
  }

  /// What other clients have left in a session is no longer there, even if the pooler does not reset it.
  @Test(
    .enabled(if: Middleman.pgBouncer != nil, "PgBouncer is not installed"),
    arguments: [[], ["server_reset_query ="], ["server_round_robin = 1"]])
  func aPoolerOfSessionsIsAsGoodAsTheServer(_ settings: [String]) throws {
    try withPgBouncer(["pool_mode = session"] + settings) { _, address, own, server, folder in
      func leaveSettings() throws {
        try server.sql(
          """
          DEALLOCATE ALL; SET synchronous_commit = off; SET search_path = nowhere; SET client_encoding = 'LATIN1';
          PREPARE append AS SELECT 1; PREPARE own AS SELECT 1; SET ROLE pg_monitor
          """, at: address)
      }
      try leaveSettings()
      try share(at: address, in: folder)
      try leaveSettings()
      let journals = try nodes(2, at: address, in: folder)
      let image = try journals[0].blobs.add(Data("image".utf8))
      try journals[0].commit { try $0.write(2, "second", blob: image) }
      try leaveSettings()
      try journals[1].commit { try $0.write(3, "third") }
      try journals[0].catchUp()
      #expect(journals[0].head == journals[1].head && journals[0].head.revision == 3)
      #expect(try journals[1].blobs.data(of: image) == Data("image".utf8))
      #expect(try journals[0].sharing()?.summary == "fsync on, synchronous_commit on, no standby")
      for journal in journals { try journal.close() }
      #expect(try server.sql("SELECT count(*) FROM journal_entries", at: own) == "3\n")
    }
  }

  /// PgBouncer 1.21 and newer used to be accepted with settings of other clients, and of older ones, `share` ended without
  /// an error.
  @Test(
    .enabled(if: Middleman.pgBouncer != nil, "PgBouncer is not installed"),
    arguments: ["transaction", "statement"],
    [
      ["default_pool_size = 1"], ["default_pool_size = 20"], ["server_round_robin = 1"],
      ["server_reset_query_always = 1"],
    ])
  func aPoolerOfTransactionsIsRefusedAndNothingIsCreated(_ mode: String, _ settings: [String]) throws {
    try withPgBouncer(["pool_mode = \(mode)"] + settings) { _, address, own, server, folder in
      // Several sessions are idle.
      try server.sql("SELECT 1", at: address)
      let ofShare = error { try share(at: address, in: folder) }
      #expect(try server.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'journal%'", at: own) == "0\n")
      let url = folder.url.appending(path: "Node0.journal")
      try Journal<Logbook>.share(at: url, on: own)
      let ofJoin = error {
        try Journal<Logbook>.join(address, at: folder.url.appending(path: "Other.journal"))
      }
      try "shared 1\n\(address)\n".write(
        to: url.appending(path: "SHARED"), atomically: true, encoding: .utf8)
      let journal = try Journal<Logbook>.open(at: url, options: Self.options)
      let ofCommit = error { try journal.commit { try $0.write(2, "second") } }
      try journal.close()
      for found in [ofShare, ofJoin, ofCommit] {
        #expect(found?.code == .unsafeSettings, "\(String(describing: found))")
        #expect(found?.message.contains("PgBouncer: pool_mode = session") == true)
      }
      #expect(try server.sql("SELECT count(*) FROM journal_entries", at: own) == "1\n")
    }
  }

  @Test(.enabled(if: Middleman.pgBouncer != nil, "PgBouncer is not installed"))
  func aPoolerWithASingleSessionIsRefusedWithTheSettingThatHelps() throws {
    try withPgBouncer(["pool_mode = session", "default_pool_size = 1"]) { _, address, own, server, folder in
      let found = error { try share(at: address, in: folder) }
      #expect(found?.code == .outOfResources && found?.message.contains("default_pool_size") == true)
      let count = try server.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'journal%'", at: own)
      #expect(count == "0\n")
    }
  }

  /// An administrator may change the mode while nodes are connected.
  @Test(.enabled(if: Middleman.pgBouncer != nil, "PgBouncer is not installed"))
  func aPoolerThatGivesANodeAnotherSessionLaterLetsNoCommitBeAcknowledged() throws {
    try withPgBouncer(["pool_mode = session"]) { pooler, address, own, server, folder in
      try share(at: address, in: folder)
      let journal = try nodes(1, at: address, in: folder)[0]
      try journal.commit { try $0.write(2, "second") }
      try pooler.reload(server, ["pool_mode = transaction", "server_reset_query ="])
      // With the first transaction in the new mode, the node gives its session back. Any of these commits may be refused.
      var refused: JournalError?
      var count = 2
      for turn in 1...200 where refused == nil {
        try server.sql("SET synchronous_commit = off", at: address)
        do {
          count = try journal.commit { try $0.write(3, "\(turn)") }.revision
        } catch let error as JournalError { refused = error }
      }
      #expect(refused?.code == .unsafeSettings, "\(String(describing: refused))")
      #expect(try server.sql("SELECT count(*) FROM journal_entries", at: own) == "\(count)\n")
      let again = error { try journal.commit { try $0.write(4, "fourth") } }
      #expect(again?.code == .unsafeSettings, "\(String(describing: again))")
      try pooler.reload(server, ["pool_mode = session"])
      // Until it has read the settings.
      ask(atMost: 500) { (try? journal.commit { try $0.write(4, "fourth") }) != nil }
      #expect(journal.head.revision == count + 1)
      try journal.close()
    }
  }

  /// The same without a pooler.
  @Test(arguments: [
    "SET synchronous_commit = off", "SET client_min_messages = error", "SET journal.session = other",
    "DISCARD ALL",
  ])
  func aStatementThatCommitsDemandsTheSessionThatWasChecked(_ change: String) throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let journal = try nodes(1, at: address, in: folder)[0]
      try journal.commit { try $0.write(2, "second") }
      try journal.close()
      let log = try #require(
        try PostgresStorage(address).connect(to: journal.id) as? ServerLog)
      defer { log.close() }
      var bytes: [UInt8] = []
      try unsafe log.read(2...2) { _, found throws(JournalError) in
        unsafe bytes = Array(found)
        return true
      }
      let entry = SealedEntry(revision: 2, bytes: bytes, digest: try #require(try log.digest(of: 2)))
      try server.sql(
        "DELETE FROM journal_entries WHERE revision = 2; UPDATE journal_logs SET revision = 1", at: address)

      try log.connection.run("\(change)")
      var refused: JournalError?
      do throws(AppendFailure) { try log.append([entry], after: 1) {} } catch {
        if case .refused(let reason) = error { refused = reason }
      }
      let ofTouch = error { try log.confirm() }
      for found in [refused, ofTouch] {
        #expect(found?.code == .unsafeSettings, "\(String(describing: found))")
      }
      #expect(try server.sql("SELECT revision FROM journal_logs", at: address) == "1\n")
      #expect(try server.sql("SELECT count(*) FROM journal_entries", at: address) == "1\n")
      // The control.
      let other = try PostgresStorage(address).connect(to: journal.id)
      try other.append([entry], after: 1) {}
      other.close()
    }
  }

  @Test(.enabled(if: Middleman.pgpool != nil, "Pgpool-II is not installed"))
  func aLoadBalancerIsNamedAndNothingIsCreatedUnlessItIsTurnedOff() throws {
    let primary = try PostgresServer()
    let standby = try PostgresServer(["hot_standby=on"], standbyOf: primary)
    defer { for server in [standby, primary] { try? server.stop() } }
    for isOn in [true, false] {
      let balancer = try Middleman.pgpool(
        primary, standby, ["load_balance_mode = \(isOn ? "on" : "off")"])
      defer { balancer.stop() }
      try withTemporaryFolder { folder in
        let address = balancer.address(database: "postgres")
        if isOn {
          let found = error { try share(at: address, in: folder) }
          #expect(found?.code == .unsafeSettings, "\(String(describing: found))")
          #expect(found?.message.contains("a load balancer sends") == true)
          #expect(found?.message.contains("load_balance_mode = off") == true)
          #expect(try primary.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'journal%'") == "0\n")
        } else {
          try share(at: address, in: folder)
          let journals = try nodes(2, at: address, in: folder)
          try journals[0].commit { try $0.write(2, "second") }
          try journals[1].catchUp()
          #expect(journals[1].head.revision == 2)
          for journal in journals { try journal.close() }
        }
      }
    }
  }
}
