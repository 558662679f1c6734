import Foundation
import Journaling
import Locks
import LogbookModel
import PostgresLog
import TestSupport
import Testing

/// Servers that end a transaction because of another one.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct ConflictTests: SharedLogbook {
  /// Nodes choose the isolation level themselves. Here the proxy alters the statement that chooses it, so transactions
  /// that compete fail, and are repeated.
  @Test(arguments: [false, true])
  func competingNodesCommitToAServerWithSerializableTransactions(_ isForced: Bool) throws {
    let server = try PostgresServer()
    let proxy = try CuttingProxy(to: server.port)
    defer { proxy.close() }
    if isForced { proxy.replace("'read committed')", with: "'serializable')  ") }
    try server.sql("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
    let through = server.address.replacing(":\(server.port)/", with: ":\(proxy.port)/")
    try withTemporaryFolder { folder in
      try share(at: through, in: folder)
      try server.sql(
        """
        CREATE TABLE seen (level text);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN INSERT INTO seen VALUES (current_setting('transaction_isolation')); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT ON journal_entries EXECUTE FUNCTION note();
        """)
      let nodes = try nodes(3, at: through, in: folder)
      let group = DispatchGroup()
      for writer in 0..<6 {
        group.enter()
        let isStarted = Threads.start {
          for turn in 1...15 {
            do {
              try nodes[writer % 3].commit(by: "\(writer)") { try $0.write(writer + 1, "\(writer) \(turn)") }
            } catch {
              Issue.record(error)
            }
          }
          group.leave()
        }
        try #require(isStarted)
      }
      group.wait()
      for node in nodes { try node.catchUp() }
      for node in nodes { #expect(node.head == nodes[0].head && node.head.revision == 91) }
      for node in nodes { try node.close() }
    }
    let levels = try server.sql("SELECT DISTINCT level FROM seen")
    #expect(levels == (isForced ? "serializable\n" : "read committed\n"))
    let log = try String(contentsOfFile: "\(server.path).log", encoding: .utf8)
    #expect(log.contains("could not serialize access") == isForced)
    try server.stop()
  }

  /// Makes the server end the first transactions that store an entry.
  private func refuse(_ revision: Revision, times count: Int, _ pair: NearAndFar) throws {
    // What is rolled back does not reset a sequence.
    try pair.sql(
      """
      CREATE SEQUENCE refused;
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('refused') <= \(count) THEN
          RAISE EXCEPTION 'restart transaction' USING ERRCODE = '40001';
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER refuse AFTER INSERT ON journal_entries FOR EACH ROW WHEN (NEW.revision = \(revision))
        EXECUTE FUNCTION refuse();
      """)
  }

  @Test(arguments: [false, true])
  func aTransactionThatTheServerEndsBecauseOfAnotherOneIsRepeated(_ isInTurn: Bool) throws {
    try withNearAndFar { pair in
      let revision = isInTurn ? 4 : 3
      try refuse(revision, times: 3, pair)
      var runs = 0
      let commit = try pair.far.commit(by: "far") { draft in
        runs += 1
        // A body that loses runs again in a turn.
        if isInTurn, runs == 1 { try pair.near.commit(by: "near") { try $0.write(2, "near") } }
        try draft.write(3, "far")
      }
      #expect(commit.revision == revision && runs == (isInTurn ? 2 : 1))
      #expect(try pair.sql("SELECT last_value FROM refused") == "4\n")
      try pair.near.catchUp()
      #expect(pair.near.head == pair.far.head)
    }
  }

  @Test func aTransactionThatTheServerAlwaysEndsFailsAfterSecondsWithTheReason() throws {
    try withNearAndFar { pair in
      try refuse(3, times: 1_000_000, pair)
      let start = ContinuousClock.now
      let error = #expect(throws: JournalError.self) {
        try pair.far.commit(by: "refused") { try $0.write(2, "refused") }
      }
      let time = ContinuousClock.now - start
      #expect(error?.code == .outOfResources, "\(String(describing: error))")
      #expect(error?.description.contains("restart transaction") == true)
      #expect(time > .seconds(5) && time < .seconds(40), "\(time)")
      #expect(pair.far.head.revision == 2)
      try pair.sql("DROP TRIGGER refuse ON journal_entries")
      #expect(try pair.far.commit(by: "next") { try $0.write(2, "next") }.revision == 3)
      #expect(try pair.revisions(by: "refused").isEmpty)
    }
  }
}
