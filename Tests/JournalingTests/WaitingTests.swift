import Files
import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import Locks
import TestSupport
import Testing

/// What waits for what, and what must not wait.
@Suite struct WaitingTests {
  @Test func closingInsideACommitBodyIsAnErrorAndLeavesTheJournalOpen() throws {
    try withLedger { journal, url in
      let error = #expect(throws: JournalError.self) { try journal.commit { _ in try journal.close() } }
      #expect(error?.code == .wrongUse)
      try journal.commit { draft in
        #expect(throws: JournalError.self) { try journal.close() }
        _ = try draft.open(owner: "Ana")
      }
      #expect(try journal.entry(at: 1).events.count == 1)
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).head.revision == 1)
    }
  }

  @Test func closingInTheProgressOfAVerificationEndsIt() throws {
    try withLedger { journal, _ in
      try journal.withPipeline { pipeline in
        for _ in 0..<1_002 { try pipeline.commit { try $0.open(owner: "Ana") } }
      }
      var calls = 0
      let error = #expect(throws: JournalError.self) {
        try journal.verify { _, _ in
          calls += 1
          try? journal.close()
        }
      }
      #expect(error?.code == .closed)
      #expect(calls == 1)
    }
  }

  /// The sequences ended before the folder was unlocked.
  @Test func whenASequenceEndsTheJournalCanBeOpenedAgain() async throws {
    try await withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bank.journal")
      for _ in 0..<100 {
        let journal = try Journal<Ledger>.openOrCreate(at: url)
        let waiting = Task { [states = journal.states] in
          for await _ in states {}
          try Journal<Ledger>.open(at: url).close()
        }
        try journal.close()
        try await waiting.value
      }
    }
  }

  @Test func tasksThatWaitForABodyBlockNoThread() async throws {
    try await withLedger { journal, _ in
      let (isInside, mayLeave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let isStarted = Threads.start {
        _ = try? journal.commit { draft in
          isInside.signal()
          mayLeave.wait()
          return try draft.open(owner: "Ana")
        }
      }
      #expect(isStarted)
      isInside.wait()
      let count = 8 * ProcessInfo.processInfo.activeProcessorCount
      let others = (1...count).map { number in
        Task { try await journal.commit { try $0.open(owner: "\(number)") }.revision }
      }
      // More tasks wait than the pool has threads, and the pool still runs others.
      for _ in 1...count { await Task { await Task.yield() }.value }
      #expect(journal.head.revision == 0)
      mayLeave.signal()
      var revisions: Set<Revision> = []
      for task in others { revisions.insert(try await task.value) }
      #expect(revisions == Set(2...count + 1))
    }
  }

  /// Makes the flush of the log wait.
  private final class Gate: Sendable {
    let isReached = DispatchSemaphore(value: 0)
    let isOpen = DispatchSemaphore(value: 0)
    let isArmed = Lock(false)

    var hook: FileHook {
      { [self] operation in
        guard operation.kind == .sync, operation.path.hasSuffix(".log") else { return .proceed }
        let waits = isArmed.withLock { isArmed in
          defer { isArmed = false }
          return isArmed
        }
        if waits {
          isReached.signal()
          isOpen.wait()
        }
        return .proceed
      }
    }
  }

  @Test func failedAndEmptyCommitsReturnOnlyAfterWhatTheySawIsDurable() throws {
    let gate = Gate()
    var options = JournalOptions()
    options.fileHook = gate.hook
    try withLedger(options: options) { journal, _ in
      try journal.commit { try $0.open(owner: "Ana") }
      gate.isArmed.withLock { $0 = true }
      let ended = DispatchGroup()
      let isFlushed = Lock(false)
      let tooEarly = Lock<[String]>([])
      let start: (String, @escaping @Sendable () throws -> Void) -> Void = { name, body in
        ended.enter()
        #expect(
          Threads.start {
            do { try body() } catch {}
            if !isFlushed.withLock({ $0 }) { tooEarly.withLock { $0.append(name) } }
            ended.leave()
          })
      }
      start("the commit") { try journal.commit { try $0.open(owner: "Bob") } }
      gate.isReached.wait()
      start("a conflict") { try journal.commit(expecting: [.journal(at: 1)]) { _ in } }
      start("a rejection") { try journal.commit { try $0.deposit(-1, on: 2) } }
      start("an error of the body's") { try journal.commit { _ in throw CancellationError() } }
      start("an empty commit") { try journal.commit { draft in draft.state.accounts.count } }
      // Give commits that do not wait the time to end. A commit that waits is never too early.
      usleep(50_000)
      isFlushed.withLock { $0 = true }
      gate.isOpen.signal()
      ended.wait()
      #expect(tooEarly.withLock { $0 } == [])
      #expect(journal.head.revision == 2)
    }
  }
}
