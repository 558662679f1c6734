import Foundation
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

/// How commits become transactions.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct TransactionTests: SharedLogbook {
  /// The first append waits for the turn of another client. All commits that arrive meanwhile become the next one.
  @Test func commitsThatArriveTogetherAreOneTransaction() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let node = try nodes(1, at: address, in: folder)[0]
      let other = try #require(Self.options.sharing).storage(at: address).connect(to: node.id)
      #expect(try other.reserve(after: 1) == 1)
      let bodies = Lock(0)
      let group = DispatchGroup()
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
      for _ in 0..<3000 where bodies.withLock({ $0 }) < 64 { usleep(1_000) }
      other.release()
      group.wait()
      try other.close()
      #expect(node.head.revision == 65)
      // The transaction that has inserted each row. The last commit may have come too late for the second one.
      let count = try server.sql(
        "SELECT count(DISTINCT xmin::text) FROM journal_entries WHERE revision > 1", at: address)
      #expect((1...4).contains(Int(count.dropLast()) ?? 0), "64 commits are \(count) transactions")
      try node.close()
    }
  }
}
