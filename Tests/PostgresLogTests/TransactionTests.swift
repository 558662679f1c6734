import Foundation
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

/// How commits become transactions.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct TransactionTests: SharedLogbook {
  /// The first append waits for the lock of another client. All commits that arrive meanwhile become the next one.
  @Test func commitsThatArriveTogetherAreOneTransaction() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let node = try nodes(1, at: address, in: folder)[0]
      let bodies = Lock(0)
      let group = DispatchGroup()
      // A node's turn would end after five seconds, even if fewer bodies have run by then.
      group.enter()
      let isHolding = Threads.start {
        _ = try? server.sql(
          "BEGIN; SELECT FROM journal_logs FOR UPDATE; SELECT pg_sleep(3600); COMMIT", at: address)
        group.leave()
      }
      try #require(isHolding)
      let holder = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
      func isHeld() throws -> Bool { try server.sql("SELECT count(*) \(holder)", at: address) == "1\n" }
      try ask(atMost: 3000, until: isHeld)
      #expect(try isHeld())
      for caller in 1...64 {
        group.enter()
        let isStarted = Threads.start {
          do {
            try node.commit { draft in
              bodies.withLock { $0 += 1 }
              try draft.write(caller, "\(caller) again")
            }
          } catch {
            Issue.record(error)
          }
          group.leave()
        }
        try #require(isStarted)
      }
      for _ in 0..<60_000 where bodies.withLock({ $0 }) < 64 { usleep(1_000) }
      try server.sql("SELECT pg_cancel_backend(pid) \(holder)", at: address)
      group.wait()
      #expect(node.head.revision == 65)
      // The transaction that has inserted each row. The last commit may have come too late for the second one.
      let count = try server.sql(
        "SELECT count(DISTINCT xmin::text) FROM journal_entries WHERE revision > 1", at: address)
      #expect((1...4).contains(Int(count.dropLast()) ?? 0), "64 commits are \(count) transactions")
      try node.close()
    }
  }
}
