import Foundation
import JournalMaintenance
import Journaling
import Locks
import TestSupport
import Testing

/// Commits that are prepared while earlier ones are stored.
@Suite struct PipelineTests {
  private func withWatchedLedger(_ body: (Journal<Ledger>, WatchedStorage) throws -> Void) throws {
    let storage = WatchedStorage()
    var options = JournalOptions()
    options.logStorage = storage
    try withLedger(options: options) { journal, _ in try body(journal, storage) }
  }

  /// The error that a closure throws. Unlike `#expect(throws:)`, it can be nested.
  private func failure(of body: () throws -> Void) -> JournalError? {
    do {
      try body()
    } catch let error as JournalError {
      return error
    } catch {
      Issue.record(error)
    }
    return nil
  }

  @Test(arguments: LogKind.all) func whenAPipelineReturnsItsCommitsAreDurableInOrder(_ kind: LogKind) throws {
    var options = JournalOptions()
    options.logStorage = try kind.makeStorage()
    try withLedger(options: options) { journal, url in
      let made = try journal.withPipeline { pipeline in
        let ana = try pipeline.commit(by: "ana", note: "first", metadata: ["from": "list"]) {
          try $0.open(owner: "Ana")
        }
        for _ in 1..<500 { try pipeline.commit { try $0.deposit(1, on: ana.value) } }
        return ana
      }
      #expect(made.revision == 1 && !made.isEmpty)
      #expect(journal.head.revision == 500 && journal.state.accounts[made.value]?.balance == 499)
      let first = try journal.entry(at: 1)
      #expect(first.author == "ana" && first.note == "first" && first.metadata == ["from": "list"])
      #expect(try journal.verify(.deep).isSound)
      try journal.close()
      guard !options.logStorage.isTransient else { return }
      #expect(try Journal<Ledger>.open(at: url, mode: .readOnly, options: options).head == journal.head)
    }
  }

  /// A body sees what the bodies before it have done; readers see only what is durable.
  @Test func bodiesRunWhileEarlierEntriesAreStored() throws {
    try withWatchedLedger { journal, storage in
      let mayStore = DispatchSemaphore(value: 0)
      storage.beforeAppend.withLock { $0 = { mayStore.wait() } }
      try journal.withPipeline { pipeline in
        let ana = try pipeline.commit { try $0.open(owner: "Ana") }.value
        for turn in 1...20 {
          try pipeline.commit { draft in
            #expect(draft.state.accounts[ana]?.balance == Int64(turn - 1))
            try draft.deposit(1, on: ana)
          }
        }
        #expect(journal.head.revision == 0 && journal.state.accounts.isEmpty)
        for _ in 1...21 { mayStore.signal() }
      }
      #expect(journal.head.revision == 21)
      // The first entry was stored while all others were accepted, or some of them.
      #expect(storage.appends.withLock { $0.count } < 21)
    }
  }

  @Test func anErrorOfABodyDoesNotEndThePipeline() throws {
    struct Mistake: Error {}
    try withLedger { journal, _ in
      try journal.withPipeline { pipeline in
        let ana = try pipeline.commit { try $0.open(owner: "Ana") }.value
        let rejected = #expect(throws: JournalError.self) {
          try pipeline.commit { try $0.deposit(-1, on: ana) }
        }
        #expect(rejected?.code == .rejected)
        #expect(throws: Mistake.self) { try pipeline.commit { _ in throw Mistake() } }
        let conflict = #expect(throws: JournalError.self) {
          try pipeline.commit(expecting: [.journal(at: 7)]) { try $0.deposit(1, on: ana) }
        }
        #expect(conflict?.code == .conflict)
        #expect(try pipeline.commit { _ in }.isEmpty)
        try pipeline.commit(expecting: [.journal(at: 1)]) { try $0.deposit(1, on: ana) }
      }
      #expect(journal.head.revision == 2)
      #expect(throws: Mistake.self) {
        try journal.withPipeline { pipeline in
          try pipeline.commit { _ = try $0.open(owner: "Bob") }
          throw Mistake()
        }
      }
      #expect(journal.head.revision == 3 && journal.state.accounts.count == 2)
    }
  }

  /// If the third of ten entries could not be stored, but later ones could, an import would have a gap.
  @Test func ifAnEntryCanNotBeStoredNoLaterOneIs() throws {
    try withWatchedLedger { journal, storage in
      let (isReached, mayFail) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      storage.failureAfter.withLock {
        $0 = (
          count: 2,
          {
            isReached.signal()
            mayFail.wait()
            return .refused(JournalError(.outOfResources, "not now"))
          }
        )
      }
      let error = failure {
        try journal.withPipeline { pipeline in
          for turn in 1...5 {
            try pipeline.commit { _ = try $0.open(owner: "\(turn)") }
            // The first two are stored before the third is committed.
            while turn <= 2, journal.head.revision < turn { usleep(1_000) }
          }
          isReached.wait()
          mayFail.signal()
          // From here on, the log takes entries again.
          while storage.failureAfter.withLock({ $0 != nil }) { usleep(1_000) }
          #expect(
            failure { while true { try pipeline.commit { _ = try $0.open(owner: "6") } } }?.code
              == .outOfResources)
          for _ in 7...10 {
            let error = failure { try pipeline.commit { _ = try $0.open(owner: "7") } }
            #expect(error?.code == .outOfResources && error?.revision == 3)
          }
        }
      }
      #expect(error?.code == .outOfResources && error?.revision == 3)
      #expect(journal.state.accounts.map(\.row.owner) == ["1", "2"])
      try journal.commit { _ = try $0.open(owner: "later") }
      try journal.withPipeline { try $0.commit { _ = try $0.open(owner: "later") } }
      #expect(journal.head.revision == 4)
      #expect(try journal.verify().isSound)
    }
  }

  /// No entry had the digest of the snapshot's state then.
  @Test func theCheckpointOfAWithdrawnEntryIsInTheNextOne() throws {
    try withWatchedLedger { journal, storage in
      try journal.commit { _ = try $0.open(owner: "Ana") }
      try journal.takeSnapshot()
      storage.failureAfter.withLock { $0 = (1, { .refused(JournalError(.outOfResources, "not now")) }) }
      let error = failure { try journal.commit { _ = try $0.open(owner: "Bob") } }
      #expect(error?.code == .outOfResources)
      for owner in ["Bob", "Eve"] { try journal.commit { _ = try $0.open(owner: owner) } }
      let found = try journal.verify(.deep)
      #expect(found.isSound && found.checkpointCount == 1, "\(found.problems)")
    }
  }

  @Test func ifTheOutcomeOfAnEntryIsUnknownThePipelineSaysSo() throws {
    try withWatchedLedger { journal, storage in
      try journal.commit { _ = try $0.open(owner: "Ana") }
      storage.failure.withLock { $0 = .unknown(JournalError(.io, "who knows")) }
      let error = failure {
        try journal.withPipeline { pipeline in
          try pipeline.commit { _ = try $0.open(owner: "Bob") }
          let error = failure { while true { try pipeline.commit { _ = try $0.open(owner: "Cy") } } }
          #expect(error?.code == .outcomeUnknown && error?.revision == 2)
        }
      }
      #expect(error?.code == .outcomeUnknown && error?.revision == 2)
      #expect(journal.head.revision == 1)
      let later = #expect(throws: JournalError.self) {
        try journal.withPipeline { try $0.commit { _ = try $0.open(owner: "Di") } }
      }
      #expect(later?.code == .poisoned)
    }
  }

  /// Entries that wait for the drive take memory.
  @Test func aPipelineWaitsForTheDriveWhenMuchIsOutstanding() throws {
    try withWatchedLedger { journal, storage in
      let mayStore = DispatchSemaphore(value: 0)
      storage.beforeAppend.withLock { $0 = { mayStore.wait() } }
      let accepted = Lock(0)
      let isDone = DispatchSemaphore(value: 0)
      let isStarted = Threads.start {
        do {
          try journal.withPipeline { pipeline in
            for _ in 1...12 {
              try pipeline.commit { _ = try $0.open(owner: String(repeating: "x", count: 9 << 20)) }
              accepted.withLock { $0 += 1 }
            }
          }
        } catch {
          Issue.record(error)
        }
        isDone.signal()
      }
      try #require(isStarted)
      while accepted.withLock({ $0 }) < 3 { usleep(1_000) }
      // The first is being stored, and two batches of one entry each wait.
      usleep(300_000)
      #expect(accepted.withLock { $0 } == 3)
      for _ in 1...12 { mayStore.signal() }
      isDone.wait()
      #expect(journal.head.revision == 12)
    }
  }

  @Test func otherCallersCommitBetweenTheCommitsOfAPipeline() throws {
    try withLedger { journal, _ in
      let account = try journal.commit { try $0.open(owner: "Ana") }.value
      Threads.forEach(below: 6, width: 6) { number in
        if number.isMultiple(of: 2) {
          _ = try? journal.withPipeline { pipeline in
            for _ in 1...300 { try pipeline.commit { try $0.deposit(1, on: account) } }
          }
        } else {
          for _ in 1...300 { _ = try? journal.commit { try $0.deposit(1, on: account) } }
        }
      }
      #expect(journal.state.accounts[account]?.balance == 1_800 && journal.head.revision == 1_801)
      #expect(try journal.verify(.deep).isSound)
    }
  }

  @Test func aPipelineCanNotBeUsedInABodyNorOnAJournalThatIsNotOpenForWriting() throws {
    try withLedger { journal, url in
      let error = #expect(throws: JournalError.self) {
        try journal.commit { _ in try journal.withPipeline { try $0.commit { _ = try $0.open(owner: "Ana") } }
        }
      }
      #expect(error?.code == .wrongUse)
      try journal.withPipeline { pipeline in
        try pipeline.commit { _ = try $0.open(owner: "Ana") }
        try journal.close()
        let error = #expect(throws: JournalError.self) {
          try pipeline.commit { _ = try $0.open(owner: "Bob") }
        }
        #expect(error?.code == .closed)
      }
      let reader = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(reader.head.revision == 1)
      let refused = #expect(throws: JournalError.self) { try reader.withPipeline { _ in } }
      #expect(refused?.code == .readOnly)
    }
  }

  @MainActor private final class Importer {
    var numbers: [Int] = []

    func run(_ owners: AsyncStream<String>, into journal: Journal<Ledger>) async throws -> Int {
      try await journal.withPipeline { pipeline in
        for await owner in owners {
          try await pipeline.commit(by: "import") { numbers.append(try $0.open(owner: owner)) }
        }
        return numbers.count
      }
    }
  }

  @Test func aTaskOnTheMainActorImportsWithAPipeline() async throws {
    try await withLedger { journal, _ in
      let owners = AsyncStream { continuation in
        for number in 1...200 { continuation.yield("owner \(number)") }
        continuation.finish()
      }
      let count = try await Importer().run(owners, into: journal)
      #expect(count == 200)
      #expect(journal.head.revision == 200)
      struct Mistake: Error {}
      await #expect(throws: Mistake.self) {
        try await journal.withPipeline { pipeline in
          try await pipeline.commit { _ = try $0.open(owner: "last") }
          throw Mistake()
        }
      }
      #expect(journal.head.revision == 201)
    }
  }

  @Test func aTaskLearnsThatAnEntryOfItsPipelineIsNotStored() async throws {
    let storage = WatchedStorage()
    var options = JournalOptions()
    options.logStorage = storage
    try await withTemporaryFolder { folder in
      let journal = try Journal<Ledger>.create(
        at: folder.url.appending(path: "Bank.journal"), options: options)
      // Later appends would succeed.
      storage.failureAfter.withLock { $0 = (0, { .refused(JournalError(.outOfResources, "not now")) }) }
      await #expect(throws: JournalError.self) {
        try await journal.withPipeline { pipeline in
          for _ in 1...100 {
            _ = try? await pipeline.commit { _ = try $0.open(owner: "Ana") }
          }
        }
      }
      #expect(journal.head.revision == 0)
    }
  }
}
