import Foundation
import Journaling
import Locks
import LogbookModel
import PostgresLog
import SharedJournals
import TestSupport
import Testing

/// Networks and machines that disappear: packets are lost, and no connection ends.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct LostPacketTests: SharedLogbook {
  /// A commit on a thread of its own.
  private final class LateCommit: Sendable {
    private let done = DispatchGroup()
    private let outcome = Lock<(error: JournalError?, time: Duration)>((nil, .zero))

    init(by name: String, in node: Journal<Logbook>) throws {
      done.enter()
      let isStarted = Threads.start { [self] in
        let start = ContinuousClock.now
        do {
          try node.commit(by: name) { try $0.write(2, name) }
          outcome.withLock { $0 = (nil, ContinuousClock.now - start) }
        } catch let error as JournalError {
          outcome.withLock { $0 = (error, ContinuousClock.now - start) }
        } catch {
          Issue.record(error)
        }
        done.leave()
      }
      try #require(isStarted)
    }

    /// Waits until the commit has returned.
    func end() -> (error: JournalError?, time: Duration) {
      done.wait()
      return outcome.withLock { $0 }
    }
  }

  @Test func aNetworkThatLosesAllPacketsForAWhileDelaysCommitsAndNothingElse() throws {
    try withNearAndFar { pair in
      try pair.proxy.setSilent(true)
      let late = try LateCommit(by: "late", in: pair.far)
      var reading = Duration.seconds(60)
      for _ in 0..<5 {
        let time = try ContinuousClock().measure {
          let author = try pair.far.entry(at: 2).author
          #expect(pair.far.state.pages[1] != nil && author == "far")
        }
        reading = min(reading, time)
      }
      #expect(reading < .seconds(1), "\(reading)")
      // The other node commits, so the late commit may have to run again.
      try pair.near.commit(by: "near") { try $0.write(3, "near") }
      sleep(5)
      try pair.proxy.setSilent(false)
      let (error, time) = late.end()
      #expect(error == nil && time < .seconds(120), "\(time), \(String(describing: error))")
      #expect(try pair.revisions(by: "late").count == 1)
      // The far node also lost its connection for notifications. It must see the next commit without a call.
      let revision = try pair.near.commit(by: "near") { try $0.write(3, "again") }.revision
      for _ in 0..<4000 where pair.far.head.revision < revision { usleep(10_000) }
      #expect(pair.far.head == pair.near.head && revision == 5)
    }
  }

  @Test func aServerThatDisappearsLeavesACommitUnknownAndNothingWaiting() throws {
    try withNearAndFar { pair in
      try pair.proxy.setSilent(true)
      let lost = try LateCommit(by: "lost", in: pair.far).end()
      #expect(
        lost.error?.code == .outcomeUnknown && lost.error?.revision == 3, "\(String(describing: lost.error))")
      // Two seconds until the connection counts as lost, twenty of attempts, and four for the last one.
      #expect(lost.time > .seconds(20) && lost.time < .seconds(120), "\(lost.time)")
      let refused = try LateCommit(by: "refused", in: pair.far).end()
      #expect(refused.error?.code == .unreachable, "\(String(describing: refused.error))")
      #expect(refused.time < .seconds(120), "\(refused.time)")
      #expect(pair.far.state.pages.count == 1)
      let closing = try ContinuousClock().measure { try pair.far.close() }
      #expect(closing < .seconds(120), "\(closing)")
      try pair.proxy.setSilent(false)
      #expect(try pair.revisions(by: "lost").isEmpty && pair.revisions(by: "refused").isEmpty)
      let again = try Journal<Logbook>.open(at: pair.farURL, options: Self.options)
      #expect(try again.commit(by: "again") { try $0.write(2, "again") }.revision == 3)
      try again.close()
    }
  }

  /// The server ends a turn after five seconds in which it hears nothing of the node.
  @Test func aNodeThatDisappearsDuringItsTurnDelaysOthersForSeconds() throws {
    try withNearAndFar { pair in
      let through = pair.address.replacing(":\(pair.server.port)/", with: ":\(pair.proxy.port)/")
      let log = try #require(Self.options.sharing).storage(at: through).connect(to: pair.far.id)
      // The server counts from the reservation, which may be some time before the commit on a busy machine.
      let start = ContinuousClock.now
      #expect(try log.reserve(after: 2) == 2)
      try pair.proxy.setSilent(true)
      let error = try LateCommit(by: "near", in: pair.near).end().error
      let time = ContinuousClock.now - start
      #expect(
        error == nil && time > .seconds(2) && time < .seconds(120), "\(time), \(String(describing: error))")
      try pair.proxy.setSilent(false)
      log.close()
    }
  }
}
