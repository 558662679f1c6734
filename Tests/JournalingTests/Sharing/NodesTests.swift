import Files
import Foundation
import JournalMaintenance
import Locks
import LogbookModel
import PostgresLog
import SHA256
import SharedJournals
import TestSupport
import Testing

@testable import Journaling

/// Several nodes of one journal, on each kind of shared log.
@Suite(.serialized) struct NodesTests {
  // MARK: Commits of several nodes

  @Test(arguments: SharedKind.all) func nodesSeeTheirOwnCommitsAndThoseOfOthers(_ kind: SharedKind) throws {
    try withNodes(kind, 3) { _, nodes in
      for turn in 0..<12 {
        let node = nodes[turn % 3]
        let commit = try node.commit(by: "\(turn)") { try $0.deposit(1, on: 1) }
        #expect(node.head.revision == commit.revision && commit.revision == turn + 2)
        #expect(node.state.accounts[1]?.balance == Int64(101 + turn))
      }
      for node in nodes {
        try node.catchUp()
        #expect(node.head == nodes[2].head && node.state.accounts[1]?.balance == 112)
        #expect(try node.entry(at: 7).author == "5")
        let found = try node.verify(.deep)
        #expect(found.isSound && found.entryCount == 13, "\(found.problems)")
      }
    }
  }

  @Test(arguments: SharedKind.all) func aPlanOfOneNodeCanBeCommittedByAnother(_ kind: SharedKind) throws {
    try withNodes(kind, 2) { _, nodes in
      // The other node may not know this entry yet.
      let revision = try nodes[0].commit { try $0.deposit(1, on: 1) }.revision
      let commit = try nodes[1].commit(try nodes[0].planRevert(of: revision))
      #expect(commit.revision == revision + 1)
      #expect(nodes[1].state.accounts[1]?.balance == 100)
    }
  }

  @Test(arguments: SharedKind.all) func aNodeLearnsOfNewEntriesAutomatically(_ kind: SharedKind) async throws
  {
    try await withTemporaryFolder { folder in
      let nodes = try Nodes(kind, in: folder)
      try nodes.share()
      try nodes.join(1)
      let (one, other) = (try nodes.open(0), try nodes.open(1))
      for turn in 1...5 {
        let revision = try await one.commit { try $0.deposit(1, on: 1) }.revision
        var versions = other.versions.makeAsyncIterator()
        while let version = await versions.next(), version.revision < revision {}
        #expect(other.state.accounts[1]?.balance == Int64(100 + turn))
      }
      try one.close()
      try other.close()
    }
  }

  /// Replaying additions reads no entities, so it takes eight of them to count as one event.
  @Test func additionsOfOtherNodesMakeAsFewLayersAsOwnOnes() throws {
    try withShared(.memory) { nodes in
      try nodes.join(1)
      var options = nodes.options
      options.layers.eventCount = 8
      let (one, other) = (
        try nodes.open(0), try Journal<Ledger>.open(at: nodes.url(1), options: options)
      )
      func layers() throws -> [String] {
        other.waitForLayers()
        return try FileManager.default.contentsOfDirectory(
          atPath: nodes.url(1).appending(path: "snapshots").path)
      }
      for turn in 1...40 {
        try one.commit { _ = try $0.open(owner: "\(turn)", balance: 1) }
        try other.catchUp()
      }
      #expect(try layers().isEmpty)
      for _ in 1...8 {
        try one.commit { try $0.deposit(1, on: 1) }
        try other.catchUp()
      }
      #expect(try !layers().isEmpty)
      try one.close()
      try other.close()
    }
  }

  /// Each transfer reads and writes two accounts, so only their sum is known.
  @Test(arguments: SharedKind.all) func theSumOfABankStaysTheSameAndEachAcknowledgedEntryIsThereOnce(
    _ kind: SharedKind
  ) throws {
    try withNodes(kind, 3) { _, nodes in
      try nodes[0].commit {
        for name in ["Bob", "Eve", "Kim"] { _ = try $0.open(owner: name, balance: 100) }
      }
      for node in nodes { try node.catchUp() }
      let told = Lock<[Revision: String]>([:])
      let conflicts = Lock(0)
      Threads.forEach(below: 12, width: 12) { writer in
        for turn in 0..<15 {
          let name = "\(writer) \(turn)"
          let (from, to) = ((writer + turn) % 4 + 1, (writer + turn * 3 + 1) % 4 + 1)
          guard from != to else { continue }
          do {
            let node = nodes[writer % 3]
            // Every third commit expects the revision that it has seen.
            let seen = node.version
            let expected: [Journaling.Expectation] =
              turn % 3 == 0
              ? [.entity(EntityKey.account(from), at: seen.state.revision(of: EntityKey.account(from)))] : []
            let commit = try node.commit(by: name, expecting: expected) { draft in
              guard (draft.state.accounts[from]?.balance ?? 0) > 0 else { return }
              try draft.transfer(1, from: from, to: to)
            }
            if !commit.isEmpty { told.withLock { $0[commit.revision] = name } }
          } catch let error as JournalError where error.code == .conflict {
            conflicts.withLock { $0 += 1 }
          } catch {
            Issue.record(error)
          }
        }
      }
      for node in nodes { try node.catchUp() }
      for node in nodes {
        #expect(node.head == nodes[0].head)
        #expect((1...4).reduce(0) { $0 + (node.state.accounts[$1]?.balance ?? 0) } == 400)
        #expect(try node.verify(.deep).isSound)
      }
      let authors = try (3...nodes[0].head.revision).map { try nodes[0].entry(at: $0).author }
      #expect(Set(authors).count == authors.count)
      for (revision, name) in told.withLock({ $0 }) {
        #expect(authors.indices.contains(revision - 3) && authors[revision - 3] == name)
      }
      #expect(authors.count == told.withLock { $0.count })
    }
  }

  @Test(arguments: SharedKind.all) func expectationsOfACommitHoldAcrossNodes(_ kind: SharedKind) throws {
    try withNodes(kind, 2) { _, nodes in
      let seen = nodes[1].state.revision(of: EntityKey.account(1))
      try nodes[0].commit { try $0.deposit(1, on: 1) }
      let error = #expect(throws: JournalError.self) {
        try nodes[1].commit(expecting: [.entity(EntityKey.account(1), at: seen)]) { try $0.deposit(1, on: 1) }
      }
      #expect(error?.code == .conflict && error?.revision == 2)
      #expect(nodes[1].head.revision == 2)
    }
  }

  @Test(arguments: SharedKind.all) func aBodyRunsAgainOverTheNewerStateUnlessThatIsForbidden(
    _ kind: SharedKind
  ) throws {
    try withNodes(kind, 2) { _, open in
      // The other node commits between the body and its append.
      func commit(runsOnce: Bool) throws -> (runs: Int, balance: Int64) {
        var runs = 0
        let balance = try open[1].commit(runsOnce: runsOnce) { draft in
          runs += 1
          if runs == 1 { try open[0].commit { try $0.deposit(10, on: 1) } }
          try draft.deposit(1, on: 1)
          return draft.state.accounts[1]?.balance ?? 0
        }.value
        return (runs, balance)
      }
      let (runs, balance) = try commit(runsOnce: false)
      #expect(runs == 2 && balance == 111)
      let error = #expect(throws: JournalError.self) { _ = try commit(runsOnce: true) }
      #expect(error?.code == .conflict)
      try open[1].catchUp()
      #expect(open[1].state.accounts[1]?.balance == 121 && open[1].head.revision == 4)
    }
  }

  /// A node that has lost reserves its next turn before it appends. It must release each of them.
  @Test func aNodeThatHasOftenLostKeepsNoTurn() throws {
    try withNodes(.memory, 2) { nodes, open in
      let memory = try #require(nodes.sharing as? SharedMemory)
      for round in 1...10 {
        var runs = 0
        try open[1].commit { draft in
          runs += 1
          if runs == 1 { try open[0].commit { try $0.deposit(10, on: 1) } }
          try draft.deposit(1, on: 1)
        }
        #expect(runs == 2)
        #expect(open[1].state.accounts[1]?.balance == Int64(100 + 11 * round))
      }
      // The node reserves a turn once more, and finds that it is alone.
      for _ in 1...3 { try open[1].commit { try $0.deposit(1, on: 1) } }
      #expect(memory.contents.withLock { $0.turn } == nil)
      #expect(open[1].head.revision == 24)
      // A body that writes nothing after losing.
      try open[1].commit { draft in
        if draft.state.accounts[1]?.balance == 213 {
          try open[0].commit { try $0.deposit(10, on: 1) }
          try draft.deposit(1, on: 1)
        }
      }
      #expect(memory.contents.withLock { $0.turn } == nil)
      #expect(open[1].head.revision == 25 && open[1].state.accounts[1]?.balance == 223)
    }
  }

  /// However many commits others make, a node that has lost a revision gets the turn.
  @Test(arguments: SharedKind.all) func aNodeThatLosesRepeatedlyGetsItsTurn(_ kind: SharedKind) throws {
    try withNodes(kind, 2) { _, open in
      let isDone = Lock(false)
      let others = DispatchGroup()
      for _ in 0..<2 {
        others.enter()
        let isStarted = Threads.start {
          while !isDone.withLock({ $0 }) { _ = try? open[0].commit { try $0.deposit(1, on: 1) } }
          others.leave()
        }
        try #require(isStarted)
      }
      var most = 0
      for _ in 0..<10 {
        var runs = 0
        try open[1].commit { draft in
          runs += 1
          // A slow body loses its revision to the others.
          usleep(3000)
          try draft.deposit(1, on: 1)
        }
        most = max(most, runs)
      }
      isDone.withLock { $0 = true }
      others.wait()
      #expect(most <= 4, "a body ran \(most) times")
    }
  }

  /// Each commit of each writer succeeds, and its body runs no more often than Documentation/Shared.md says.
  @Test(arguments: SharedKind.all) func withManyWritersOnAllNodesEveryCommitSucceeds(_ kind: SharedKind)
    throws
  {
    try withNodes(kind, 3) { _, nodes in
      let most = Lock(0)
      Threads.forEach(below: 48, width: 48) { writer in
        for turn in 0..<8 {
          var runs = 0
          do {
            try nodes[writer % 3].commit(by: "\(writer) \(turn)") { draft in
              runs += 1
              // Every fourth commit changes nothing, and depends on what it saw.
              if turn % 4 < 3 { try draft.deposit(1, on: 1) }
            }
          } catch {
            Issue.record(error, "\(writer) \(turn) ran \(runs) times")
          }
          most.withLock { [runs] in $0 = max($0, runs) }
        }
      }
      #expect(most.withLock { $0 } <= 8)
      for node in nodes {
        try node.catchUp()
        #expect(node.head == nodes[0].head && node.state.accounts[1]?.balance == 100 + 48 * 6)
      }
    }
  }

  /// If a body that has the turn then writes nothing, the other nodes get the turn at once.
  @Test(.timeLimit(.minutes(60)), arguments: SharedKind.all)
  func anUnusedTurnDelaysNoOtherNode(_ kind: SharedKind) throws {
    try withNodes(kind, 2) { _, open in
      var best = Duration.seconds(60)
      for _ in 0..<3 {
        var runs = 0
        let error = #expect(throws: JournalError.self) {
          try open[1].commit { draft in
            runs += 1
            if runs < 2 { try open[0].commit { try $0.deposit(1, on: 1) } }
            if runs == 2 { throw JournalError(.rejected, "no") }
            try draft.deposit(1, on: 1)
          }
        }
        #expect(runs == 2 && error?.code == .rejected)
        let time = try ContinuousClock().measure { try open[0].commit { try $0.deposit(1, on: 1) } }
        best = min(best, time)
      }
      // A turn that is not released would end after four seconds, or never.
      #expect(best < .seconds(2), "\(best)")
    }
  }

  // MARK: One batch after the other

  /// A node sends a batch before it ends the one before. That end waits neither for the answer, nor for an image that must
  /// be sent first, and does not depend on the outcome.
  @Test(
    .timeLimit(.minutes(60)),
    arguments: [nil, SharedMemory.Fault.downBefore, .refused, .lostAfter], [false, true])
  func aDurableCommitReturnsBeforeTheNextBatchIsStored(_ fault: SharedMemory.Fault?, _ hasImage: Bool) throws
  {
    try withLogbook { memory, node in
      try node.commit { try $0.write(1, "before") }
      let image = try hasImage ? node.blobs.add(Data("an image".utf8)) : nil
      let (hasReturned, isTested, isDone) = (
        DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
      )
      let second = Lock<Result<Revision, any Error>?>(nil)
      @Sendable func startSecond() -> Bool {
        Threads.start {
          let result = Result { try node.commit { try $0.write(3, "second", blob: image) }.revision }
          second.withLock { $0 = result }
          isDone.signal()
        }
      }
      memory.contents.withLock { contents in
        contents.retryTime = .milliseconds(300)
        if hasImage {
          contents.whenImageArrives = {
            memory.contents.withLock { $0.whenImageArrives = nil }
            isTested.wait()
          }
        }
        contents.whenSent = { first in
          if first == 2 {
            #expect(startSecond())
            // Until it is in the queue.
            usleep(100_000)
          } else {
            memory.contents.withLock { contents in
              contents.whenSent = nil
              if let fault { contents.faults = [fault] }
            }
            if !hasImage { isTested.wait() }
          }
        }
      }
      let isStarted = Threads.start {
        if (try? node.commit { try $0.write(2, "first") }.revision) == 2 { hasReturned.signal() }
      }
      try #require(isStarted)
      #expect(hasReturned.wait(timeout: .now() + 20) == .success)
      #expect(node.head.revision == 2 && node.state.pages.count == 2)
      #expect(second.withLock { $0 == nil })
      isTested.signal()
      isDone.wait()

      let (revision, error) = second.withLock { result -> (Revision?, JournalError?) in
        switch result {
        case .success(let revision): (revision, nil)
        case .failure(let error): (nil, error as? JournalError)
        case nil: (nil, nil)
        }
      }
      switch fault {
      case .refused: #expect(error?.code == .io)
      case .downBefore: #expect(error?.code == .outcomeUnknown)
      default: #expect(revision == 3)
      }
      memory.cut()
      let isStored = fault == nil || fault == .lostAfter
      #expect(try node.commit { try $0.write(4, "third") }.revision == (isStored ? 4 : 3))
      #expect(node.state.pages.count == (isStored ? 4 : 3))
    }
  }

  /// A log need not call what there is to do meanwhile: PostgreSQL's does not if it first learns that there are no
  /// notifications. The first commit then returned only with a later one, or never.
  @Test(.timeLimit(.minutes(60))) func aCommitReturnsAlthoughTheLogDoesNothingMeanwhile() throws {
    try withLogbook { memory, node in
      try node.commit { try $0.write(1, "before") }
      let isDone = DispatchSemaphore(value: 0)
      @Sendable func start(_ page: Int) -> Bool {
        Threads.start {
          if (try? node.commit { try $0.write(page, "text") }) != nil { isDone.signal() }
        }
      }
      memory.contents.withLock { contents in
        contents.callsMeanwhile = false
        contents.whenSent = { first in
          guard first < 4 else { return }
          #expect(start(first + 1))
          // Until it is in the queue.
          usleep(100_000)
        }
      }
      try #require(start(2))
      for _ in 2...4 { #expect(isDone.wait(timeout: .now() + 20) == .success) }
      #expect(node.head.revision == 4 && node.state.pages.count == 4)
    }
  }

  // MARK: Failures

  @Test func afterALostConnectionTheServerSaysWhetherTheCommitIsStored() throws {
    try withNodes(.memory, 2) { nodes, open in
      let memory = try #require(nodes.sharing as? SharedMemory)
      var count = 1
      for faults in [
        [SharedMemory.Fault.lostBefore], [.lostAfter], [.lostAfter, .lostBefore], [.lostBefore, .lostBefore],
      ] {
        memory.contents.withLock { $0.faults = faults }
        let revision = try open[0].commit(by: "\(count)") { try $0.deposit(1, on: 1) }.revision
        count += 1
        #expect(revision == count && memory.contents.withLock { $0.entries.count } == count)
      }
      try open[1].catchUp()
      #expect(open[1].head == open[0].head && open[1].state.accounts[1]?.balance == 104)
      #expect(try open[1].verify().isSound)
    }
  }

  /// The connection is lost after the commit was sent, and the server is down for longer than the node tries.
  @Test(arguments: [SharedMemory.Fault.downBefore, .downAfter])
  func anEntryWhoseOutcomeIsUnknownIsFetchedIfItWasStored(_ fault: SharedMemory.Fault) throws {
    try withNodes(.memory, 2) { nodes, open in
      let memory = try #require(nodes.sharing as? SharedMemory)
      memory.contents.withLock { ($0.retryTime, $0.faults) = (.milliseconds(300), [fault]) }
      let lost = #expect(throws: JournalError.self) {
        try open[0].commit(by: "lost") { try $0.deposit(1, on: 1) }
      }
      #expect(lost?.code == .outcomeUnknown && lost?.revision == 2, "\(String(describing: lost))")
      #expect(open[0].head.revision == 1 && open[0].state.accounts[1]?.balance == 100)
      let refused = #expect(throws: JournalError.self) { try open[0].commit { try $0.deposit(1, on: 1) } }
      #expect(refused?.code == .unreachable)

      try nodes.setDown(false)
      let isStored = fault == .downAfter
      try open[0].catchUp()
      #expect(open[0].head.revision == (isStored ? 2 : 1))
      if isStored { #expect(try open[0].entry(at: 2).author == "lost") }
      let next = try open[0].commit(by: "next") { try $0.deposit(1, on: 1) }.revision
      #expect(next == (isStored ? 3 : 2))
      try open[1].catchUp()
      #expect(open[1].head == open[0].head && open[1].state.accounts[1]?.balance == (isStored ? 102 : 101))
      #expect(try open[1].verify().isSound)
    }
  }

  /// While the node connects again, another one commits. The revision is taken, but not by the commit that was lost.
  @Test(arguments: [true, false])
  func aCommitThatWasLostRunsAgainIfAnotherNodeHasTakenItsRevision(_ runsOnce: Bool) throws {
    try withNodes(.memory, 2) { nodes, open in
      let memory = try #require(nodes.sharing as? SharedMemory)
      let other = open[1]
      memory.contents.withLock { contents in
        contents.faults = [.lostBefore]
        contents.whenLost = {
          do { try other.commit(by: "other") { try $0.deposit(10, on: 1) } } catch { Issue.record(error) }
        }
      }
      var runs = 0
      func commit() throws -> Revision {
        try open[0].commit(by: "lost", runsOnce: runsOnce) { draft in
          runs += 1
          try draft.deposit(1, on: 1)
        }.revision
      }
      if runsOnce {
        let error = #expect(throws: JournalError.self) { _ = try commit() }
        #expect(error?.code == .conflict, "\(String(describing: error))")
        try open[0].catchUp()
      } else {
        #expect(try commit() == 3)
      }
      #expect(runs == (runsOnce ? 1 : 2))
      #expect(open[0].head.revision == (runsOnce ? 2 : 3))
      #expect(open[0].state.accounts[1]?.balance == (runsOnce ? 110 : 111))
      #expect(try open[0].entry(at: 2).author == "other")
      try open[1].catchUp()
      #expect(open[1].head == open[0].head)
    }
  }

  @Test(arguments: SharedKind.all) func withoutTheServerReadingContinuesAndCommitsNameTheReason(
    _ kind: SharedKind
  ) throws {
    try withShared(kind) { nodes in
      try nodes.setDown(true)
      let journal = try nodes.open(0)
      #expect(journal.state.accounts[1]?.balance == 100)
      for _ in 0..<2 {
        let error = #expect(throws: JournalError.self) { try journal.commit { try $0.deposit(1, on: 1) } }
        #expect(error?.code == .unreachable)
        #expect(journal.head.revision == 1 && journal.state.accounts[1]?.balance == 100)
      }
      let status = try #require(try journal.sharingStatus())
      #expect(status.address == nodes.address && status.problem?.code == .unreachable)
      #expect(status.newestRevision == nil && status.summary == nil && status.missingCount == nil)
      try nodes.setDown(false)
      #expect(try journal.commit { try $0.deposit(1, on: 1) }.revision == 2)
      try journal.close()
    }
  }

  @Test(arguments: SharedKind.all) func aServerRestoredFromABackupIsDetectedAndNothingIsOverwritten(
    _ kind: SharedKind
  ) throws {
    try withNodes(kind, 2) { nodes, open in
      for _ in 0..<6 { try open[0].commit { try $0.deposit(1, on: 1) } }
      try nodes.putBack(to: 4)
      // The connection ended with the old server, which may have stored the first commit.
      let unknown = #expect(throws: JournalError.self) { try open[0].commit { try $0.deposit(1, on: 1) } }
      #expect([.diverged, .outcomeUnknown].contains(unknown?.code), "\(String(describing: unknown))")
      #expect("\(String(describing: unknown))".contains("ends with entry 4"))
      let error = #expect(throws: JournalError.self) { try open[0].commit { try $0.deposit(1, on: 1) } }
      #expect(error?.code == .diverged, "\(String(describing: error))")
      #expect("\(String(describing: error))".contains("ends with entry 4"))
      #expect(open[0].head.revision == 7 && open[0].state.accounts[1]?.balance == 106)
      let status = try #require(try open[0].sharingStatus())
      #expect(status.problem?.code == .diverged && status.problem?.revision == 5)
      // The next run finds the same.
      try open[0].close()
      let again = try nodes.open(0)
      let found = #expect(throws: JournalError.self) { try again.commit { try $0.deposit(1, on: 1) } }
      #expect(found?.code == .diverged)
      try again.close()
      // The node's own entries are not lost.
      let head = try Journal<Ledger>.leaveSharing(at: nodes.url(0), isForced: true, options: nodes.options)
      #expect(head.revision == 7)
      // Sharing them again brings the server up to date, and the other node takes part again.
      try Journal<Ledger>.share(
        at: nodes.url(0), through: nodes.sharing, address: nodes.address, options: nodes.options
      ) { _ in }
      try open[1].close()
      let other = try nodes.open(1)
      try other.catchUp()
      #expect(other.head == head)
      #expect(try other.commit { try $0.deposit(1, on: 1) }.revision == 8)
      try other.close()
    }
  }

  /// A logical restore keeps connections open, so nodes do not compare histories.
  @Test(arguments: SharedKind.all) func aServerRestoredUnderOpenConnectionsIsDetected(_ kind: SharedKind)
    throws
  {
    try withNodes(kind, 2) { nodes, open in
      for _ in 0..<6 { try open[0].commit { try $0.deposit(1, on: 1) } }
      try open[1].catchUp()
      try nodes.putBack(to: 4, cutting: false)
      for journal in open {
        let error = #expect(throws: JournalError.self) { try journal.commit { try $0.deposit(1, on: 1) } }
        #expect(error?.code == .diverged, "\(String(describing: error))")
        #expect(error?.message.contains("ends with entry 4") == true)
        #expect(journal.head.revision == 7 && journal.state.accounts[1]?.balance == 106)
      }
    }
  }

  /// The same number of entries is there again, so the number of the next one does not tell.
  @Test(arguments: SharedKind.all) func anEntryIsNeverAppendedToAnotherHistory(_ kind: SharedKind) throws {
    try withShared(kind) { nodes in
      let one = try nodes.open(0)
      for _ in 0..<3 { try one.commit { try $0.deposit(1, on: 1) } }
      try nodes.join(1)
      for _ in 0..<3 { try one.commit { try $0.deposit(1, on: 1) } }
      try nodes.putBack(to: 4, cutting: false)
      let other = try nodes.open(1)
      for _ in 0..<3 { try other.commit { try $0.deposit(7, on: 1) } }
      let error = #expect(throws: JournalError.self) { try one.commit { try $0.deposit(1, on: 1) } }
      #expect(error?.code == .diverged, "\(String(describing: error))")
      #expect(error?.message.contains("from entry 5 on") == true)
      try one.close()
      try other.catchUp()
      #expect(other.head.revision == 7 && other.state.accounts[1]?.balance == 124)
      try other.close()
    }
  }

  /// The server is restored from a backup, and continues with another node, which had no more entries. Its history may
  /// be longer than that of the first node, or shorter.
  @Test(arguments: SharedKind.all, [(own: 3, others: 5), (own: 5, others: 2)])
  func aDivergenceIsReportedWithItsFirstRevision(_ kind: SharedKind, _ counts: (own: Int, others: Int)) throws
  {
    try withShared(kind) { nodes in
      let one = try nodes.open(0)
      for _ in 0..<3 { try one.commit { try $0.deposit(1, on: 1) } }
      try nodes.join(1)
      for _ in 0..<counts.own { try one.commit { try $0.deposit(1, on: 1) } }
      try one.close()
      try nodes.putBack(to: 4)
      let other = try nodes.open(1)
      for _ in 0..<counts.others { try other.commit { try $0.deposit(7, on: 1) } }
      try other.close()
      let again = try nodes.open(0)
      let error = #expect(throws: JournalError.self) { try again.commit { try $0.deposit(1, on: 1) } }
      #expect(error?.code == .diverged && error?.message.contains("from entry 5 on") == true)
      #expect(again.head.revision == 4 + counts.own)
      #expect(again.state.accounts[1]?.balance == Int64(103 + counts.own))
      try again.close()
      try check(nodes, divergesAt: 5, newest: 4 + counts.others)
    }
  }

  /// What `sharing()` and `diagnose` say about the first node.
  private func check(_ nodes: Nodes, divergesAt revision: Revision, newest: Revision) throws {
    let reader = try Journal<Ledger>.open(at: nodes.url(0), mode: .readOnly, options: nodes.options)
    defer { try? reader.close() }
    let status = try #require(try reader.sharingStatus())
    #expect(status.problem?.code == .diverged && status.problem?.revision == revision)
    #expect(status.newestRevision == newest && status.missingCount == nil && status.summary != nil)
    let diagnosis = try Journal<Ledger>.diagnose(nodes.url(0), options: nodes.options)
    #expect(!diagnosis.isSound && diagnosis.opens)
    let damage = diagnosis.problems.filter(\.isDamage)
    #expect(damage.map(\.revision) == [revision] && damage.first?.path == nodes.address)
    #expect(diagnosis.sharing?.newestRevision == newest)
  }

  // MARK: Where the log is

  /// Each connection finds out whether commits wait. The journal says so once, and can be read.
  @Test func aServerWhoseCommitsWaitIsReportedOnceAndIsNoDamage() throws {
    try withShared(.memory) { nodes in
      let memory = try #require(nodes.sharing as? SharedMemory)
      memory.contents.withLock { $0.warning = "no standby is there" }
      let notices = Lock<[String]>([])
      var options = nodes.options
      options.log = { notice in
        if notice.level == .warning { notices.withLock { $0.append(notice.message) } }
      }
      let journal = try Journal<Ledger>.open(at: nodes.url(0), options: options)
      for _ in 0..<3 {
        memory.contents.withLock { $0.faults = [.lostBefore] }
        try journal.commit { try $0.deposit(1, on: 1) }
      }
      #expect(notices.withLock { $0.filter { $0.contains("no standby is there") }.count } == 1)
      let status = try #require(try journal.sharingStatus())
      #expect(status.warning == "no standby is there" && status.problem == nil)
      try journal.close()
      let diagnosis = try Journal<Ledger>.diagnose(nodes.url(0), options: nodes.options)
      #expect(diagnosis.isSound && diagnosis.problems.map(\.message) == ["no standby is there"])
      #expect(diagnosis.sharing?.summary == "in memory" && diagnosis.sharing?.missingCount == 0)
    }
  }

  /// Editors end lines in their own way, and the journal then could not even be read.
  @Test(arguments: [
    "shared 1\nmemory://here", "shared 1\r\nmemory://here\r\n", "shared 1\nmemory://here\n\n \n",
  ])
  func anEditedAddressIsAcceptedWhateverEndsItsLines(_ text: String) throws {
    try withShared(.memory) { nodes in
      try Data(text.utf8).write(to: nodes.url(0).appending(path: "SHARED"))
      let journal = try nodes.open(0)
      #expect(try journal.sharingStatus()?.address == "memory://here")
      try journal.commit { try $0.deposit(1, on: 1) }
      try journal.close()
      try Data("shared 1\n\nmemory://here\n".utf8).write(to: nodes.url(0).appending(path: "SHARED"))
      let error = #expect(throws: JournalError.self) { try nodes.open(0) }
      #expect(error?.code == .damaged && error?.message.contains("write two lines") == true)
    }
  }

  /// One refusal used to end all commits until the journal was opened again, although nothing was written.
  @Test func afterARefusalOfTheServerCommitsContinue() throws {
    try withNodes(.memory, 2) { nodes, open in
      let memory = try #require(nodes.sharing as? SharedMemory)
      memory.contents.withLock { $0.faults = [.refused] }
      let error = #expect(throws: JournalError.self) { try open[0].commit { try $0.deposit(1, on: 1) } }
      #expect(error?.code == .io && open[0].head.revision == 1)
      #expect(try open[0].commit { try $0.deposit(1, on: 1) }.revision == 2)
      try open[1].catchUp()
      #expect(open[1].head == open[0].head)
    }
  }

  /// The time for trying again used to begin with the append. If a lost connection was noticed late, there was none left.
  @Test func anAppendWhoseConnectionIsLostAfterALongTimeIsTriedAgain() throws {
    try withNodes(.memory, 1) { nodes, open in
      let memory = try #require(nodes.sharing as? SharedMemory)
      memory.contents.withLock {
        $0.retryTime = .milliseconds(300)
        $0.faults = [.lostLate]
      }
      #expect(try open[0].commit { try $0.deposit(1, on: 1) }.revision == 2)
    }
  }

  /// It used to wait until there was no commit in progress.
  @Test(.timeLimit(.minutes(60))) func catchingUpEndsWhileOthersCommitWithoutPause() throws {
    try withNodes(.memory, 1) { _, open in
      let isEnding = Lock(false)
      let group = DispatchGroup()
      for _ in 0..<4 {
        group.enter()
        let isStarted = Threads.start { [node = open[0]] in
          while !isEnding.withLock({ $0 }) { _ = try? node.commit { try $0.deposit(1, on: 1) } }
          group.leave()
        }
        try #require(isStarted)
      }
      for _ in 0..<20 {
        usleep(1000)
        try open[0].catchUp()
      }
      isEnding.withLock { $0 = true }
      group.wait()
    }
  }

  /// A fork has the id of its origin, so only the entries show that it is another history.
  @Test(arguments: SharedKind.all) func aForkCanNotBeSharedWhereItsOriginIs(_ kind: SharedKind) throws {
    try withShared(kind) { nodes in
      try nodes.join(1)
      _ = try Journal<Ledger>.leaveSharing(at: nodes.url(1), isForced: false, options: nodes.options)
      let one = try nodes.open(0)
      defer { try? one.close() }
      try one.commit { try $0.deposit(1, on: 1) }
      let fork = try Journal<Ledger>.open(at: nodes.url(1))
      for _ in 0..<3 { try fork.commit { try $0.deposit(7, on: 1) } }
      try fork.close()
      let error = #expect(throws: JournalError.self) {
        try Journal<Ledger>.share(
          at: nodes.url(1), through: nodes.sharing, address: nodes.address, options: nodes.options
        ) { _ in }
      }
      #expect(error?.code == .diverged && error?.revision == 2, "\(String(describing: error))")
      #expect(error?.message.contains("another history") == true)
      // The shared journal is as before.
      #expect(try one.commit { try $0.deposit(1, on: 1) }.revision == 3)
      try nodes.join(2)
      let joined = try nodes.open(2)
      #expect(joined.state.accounts[1]?.balance == 102)
      try joined.close()
    }
  }

  // MARK: Images

  /// Asking for an image used to fail until another operation noticed that the connection was lost.
  @Test func anImageIsFoundAfterTheConnectionWasLost() throws {
    try withNodes(.memory, 2) { nodes, open in
      let memory = try #require(nodes.sharing as? SharedMemory)
      let commits = try #require(open[1].node).commits(naming: open[1].blobs)
      let bytes = Array("an image".utf8)
      let blob = Blob(digest: SHA256Hash.digest(bytes), byteCount: bytes.count)
      memory.contents.withLock { $0.images[blob] = bytes }
      try open[1].catchUp()
      // Connections that wait for entries do not notice.
      memory.contents.withLock { $0.generation += 1 }
      #expect(try commits.hasImage(blob))
    }
  }

  /// The server is replaced by a standby that lacks the image, before or after the entry that names it.
  @Test(arguments: [true, false]) func anImageIsSentAgainToAnotherServer(_ isRetry: Bool) throws {
    try withLogbook { memory, journal in
      let image = try journal.blobs.add(Data("an image".utf8))
      if isRetry {
        memory.contents.withLock { contents in
          contents.faults = [.lostBefore]
          contents.whenLost = { memory.contents.withLock { $0.images = [:] } }
        }
      } else {
        try journal.commit { try $0.write(1, "first", blob: image) }
        memory.contents.withLock { $0.images = [:] }
        memory.cut()
      }
      try journal.commit { try $0.write(2, "second", blob: image) }
      #expect(memory.contents.withLock { $0.images[image] } == Array("an image".utf8))
    }
  }

  /// Only an erasure makes an entry without events, so an app can't stop other nodes with its metadata.
  @Test(arguments: SharedKind.all) func theMetadataOfACommitIsNoErasure(_ kind: SharedKind) throws {
    try withNodes(kind, 2) { nodes, open in
      let revision = try open[0].commit(metadata: ["journal.erases": "account:1"]) {
        try $0.deposit(1, on: 1)
      }.revision
      try open[1].catchUp()
      #expect(open[1].head.revision == revision)
      #expect(try open[1].commit { try $0.deposit(1, on: 1) }.revision == revision + 1)
      #expect(try open[1].erasure(of: .account(1)) == nil)
    }
  }

  /// The append may fail, or happen on another connection.
  @Test(arguments: SharedKind.all) func anImageIsStoredAlthoughTheTurnEndsWithoutACommit(_ kind: SharedKind)
    throws
  {
    try withShared(kind) { nodes in
      let storage = try nodes.sharing.storage(at: nodes.address)
      let journal = try #require(try storage.journals().first)
      let log = try storage.connect(to: journal)
      defer { log.close() }
      let bytes = Array("an image".utf8)
      let blob = Blob(digest: SHA256Hash.digest(bytes), byteCount: bytes.count)
      #expect(try log.reserve(after: 1) == 1)
      var pieces = [bytes]
      try log.addImage(blob) { pieces.popLast() ?? [] }
      log.release()
      let other = try storage.connect(to: journal)
      defer { other.close() }
      #expect(try other.hasImage(blob))
      var read: [UInt8] = []
      #expect(try other.readImage(blob) { read += $0 })
      #expect(read == bytes)
    }
  }

  // MARK: A node's folder

  @Test(arguments: SharedKind.all) func aNodeThatWasAwayCatchesUpFromWhereItWas(_ kind: SharedKind) throws {
    try withTemporaryFolder { folder in
      let nodes = try Nodes(kind, in: folder)
      try nodes.share()
      try nodes.join(1)
      let one = try nodes.open(0)
      for _ in 0..<1100 { try one.commit { try $0.deposit(1, on: 1) } }
      #expect(one.head.revision == 1101)
      let away = try nodes.open(1)
      try away.catchUp()
      #expect(away.head == one.head && away.state.accounts[1]?.balance == 1200)
      try away.close()
      for _ in 0..<50 { try one.commit { try $0.deposit(1, on: 1) } }
      // Only what is new is read.
      let reads = try nodes.watchReads()
      let back = try nodes.open(1)
      try back.catchUp()
      #expect(back.head == one.head && back.head.revision == 1151)
      #expect(try reads().map(\.lowerBound).min() == 1102)
      try back.close()
      try one.close()
      // Another process of the node reads and follows its folder, without the server.
      let reader = try Journal<Ledger>.open(at: nodes.url(1), mode: .readOnly)
      #expect(reader.head.revision == 1151)
      #expect(try reader.verify(.deep).isSound)
      try reader.close()
    }
  }

  /// 20 MB of entries, which another thread and the server read ahead, arrive in order. A join that is stopped leaves
  /// nothing behind.
  @Test(arguments: SharedKind.all) func manyEntriesAreReadAheadAndArriveInOrder(_ kind: SharedKind) throws {
    try withShared(kind) { nodes in
      try nodes.join(1)
      let one = try nodes.open(0)
      let note = String(repeating: "x", count: 64 << 10)
      for turn in 0..<300 { try one.commit(note: "\(turn)\(note)") { try $0.deposit(1, on: 1) } }
      #expect(one.head.revision == 301)

      let away = try nodes.open(1)
      try away.catchUp()
      #expect(away.head == one.head && away.state.accounts[1]?.balance == 400)
      try away.close()
      try nodes.join(2)
      for node in [1, 2] {
        let joined = try Journal<Ledger>.open(at: nodes.url(node), mode: .readOnly)
        #expect(joined.head == one.head)
        #expect(try joined.verify(.deep).isSound)
        try joined.close()
      }

      // A caller may use the log while it reads.
      let shared = try nodes.sharing.storage(at: nodes.address).connect(to: one.id)
      var seen: [Revision] = []
      try unsafe shared.read(1...400) { revision, _ throws(JournalError) in
        seen.append(revision)
        if revision % 20 == 0 { #expect(try shared.digest(of: revision) != nil) }
        return true
      }
      #expect(seen == Array(1...301))
      var count = 0
      try unsafe shared.read(1...400) { _, _ in
        count += 1
        return count < 150
      }
      #expect(try count == 150 && shared.newestRevision() == 301)
      shared.close()

      struct Stop: Error {}
      #expect(throws: Stop.self) {
        try Journal<Ledger>.join(
          through: nodes.sharing, address: nodes.address, id: nil, at: nodes.url(3), options: nodes.options
        ) { if $0.done > 100 { throw Stop() } }
      }
      #expect(!FileManager.default.fileExists(atPath: nodes.url(3).path))
      try one.close()
    }
  }

  @Test func anAlteredEntryAmongManyIsNamedAndNothingIsMade() throws {
    try withShared(.memory) { nodes in
      let one = try nodes.open(0)
      for _ in 0..<600 { try one.commit { try $0.deposit(1, on: 1) } }
      #expect(one.head.revision == 601)
      let memory = try #require(nodes.sharing as? SharedMemory)
      memory.alter(500)
      // The altered bytes have another digest than the next entry names, and than the one that is stored with them.
      let error = #expect(throws: JournalError.self) { try nodes.join(1) }
      #expect(error?.code == .damaged && error?.revision == 500, "\(String(describing: error))")
      memory.contents.withLock { _ = $0.entries.remove(at: 499) }
      let missing = #expect(throws: JournalError.self) { try nodes.join(1) }
      #expect(missing?.code == .damaged && missing?.revision == 500, "\(String(describing: missing))")
      #expect(!FileManager.default.fileExists(atPath: nodes.url(1).path))
      try one.close()
    }
  }

  /// No later entry names the digest of the newest one, so joining and fetching used to accept it. The next commit of
  /// either node then ended both histories.
  @Test func anAlteredNewestEntryIsNeitherJoinedNorFetched() throws {
    try withShared(.memory) { nodes in
      try nodes.join(1)
      let one = try nodes.open(0)
      for _ in 0..<5 { try one.commit { try $0.deposit(1, on: 1) } }
      let memory = try #require(nodes.sharing as? SharedMemory)
      memory.alter(6)
      let joined = #expect(throws: JournalError.self) { try nodes.join(2) }
      #expect(joined?.code == .damaged && joined?.revision == 6, "\(String(describing: joined))")
      #expect(!FileManager.default.fileExists(atPath: nodes.url(2).path))
      let diagnosis = try Journal<Ledger>.diagnose(nodes.url(1), options: nodes.options)
      #expect(!diagnosis.isSound && diagnosis.problems.map(\.revision) == [6], "\(diagnosis.problems)")

      let other = try nodes.open(1)
      let fetched = #expect(throws: JournalError.self) { try other.catchUp() }
      #expect(fetched?.code == .diverged && fetched?.revision == 6, "\(String(describing: fetched))")
      #expect(fetched?.message.contains("altered entry 6") == true)
      #expect(other.head.revision == 1)
      // Nor does it follow the shared log any more, and says so.
      for _ in 0..<6_000 where other.health.problems.isEmpty { usleep(10_000) }
      let health = other.health
      #expect(health.damage?.code == .diverged && health.damage?.revision == 6, "\(health.problems)")
      try other.close()
      // The node that has the right entry commits. The altered one is then found by its successor too.
      try one.commit { try $0.deposit(1, on: 1) }
      let later = #expect(throws: JournalError.self) { try nodes.join(2) }
      #expect(later?.revision == 6, "\(String(describing: later))")
      try one.close()
    }
  }

  /// Comparing its digest would cost a round trip in each turn of competing nodes.
  @Test func noDigestIsAskedForIfAnEntryArrivesOnAnOpenConnection() throws {
    try withNodes(.memory, 2) { nodes, open in
      let memory = try #require(nodes.sharing as? SharedMemory)
      for node in open { try node.catchUp() }
      let before = memory.contents.withLock { $0.digestCount }
      for _ in 0..<10 {
        for node in open { try node.commit { try $0.deposit(1, on: 1) } }
      }
      for node in open { try node.catchUp() }
      #expect(open[0].head == open[1].head && open[0].head.revision == 21)
      #expect(memory.contents.withLock { $0.digestCount } == before)
      // A node that was away asks once.
      try open[1].close()
      for _ in 0..<20 { try open[0].commit { try $0.deposit(1, on: 1) } }
      let back = try nodes.open(1)
      try back.catchUp()
      #expect(back.head == open[0].head)
      // Once to compare the histories, and once for what is new.
      #expect(memory.contents.withLock { $0.digestCount } == before + 2)
      try back.close()
    }
  }

  @Test func openingAndReadingNeverTouchTheNetwork() throws {
    try withShared(.memory) { nodes in
      let memory = try #require(nodes.sharing as? SharedMemory)
      let before = memory.contents.withLock { $0.connectionCount }
      for mode in [Journal<Ledger>.Mode.readOnly, .follow] {
        let journal = try Journal<Ledger>.open(at: nodes.url(0), mode: mode, options: nodes.options)
        #expect(journal.state.accounts[1]?.balance == 100)
        #expect(try journal.history(of: EntityKey.account(1)).count == 1)
        #expect(try journal.verify(.deep).isSound)
        try journal.close()
      }
      #expect(memory.contents.withLock { $0.connectionCount } == before)
    }
  }

  @Test func operationsThatNeedTheLogAloneAreRefusedInASharedJournal() throws {
    try withTemporaryFolder { folder in
      let nodes = try Nodes(.memory, in: folder)
      try nodes.share()
      // A process without the library for shared logs can't write to the folder alone.
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: nodes.url(0)) }
      #expect(error?.code == .wrongUse && error?.message.contains("PostgresLog") == true)
      let backup = folder.url.appending(path: "Other.journal")
      let reader = try Journal<Ledger>.open(at: nodes.url(0), mode: .readOnly)
      try reader.backup(to: backup)
      let refused = #expect(throws: JournalError.self) { try reader.backup(to: nodes.url(0)) }
      #expect(refused != nil)
      try reader.close()
      // A backup is a separate, local journal.
      let local = try Journal<Ledger>.open(at: backup)
      try local.commit { try $0.deposit(1, on: 1) }
      let into = #expect(throws: JournalError.self) { try local.backup(to: nodes.url(0)) }
      #expect(into?.code == .wrongUse)
      try local.close()
      let erasing = #expect(throws: JournalError.self) {
        try Journal<Ledger>.erase([EntityKey.account(1)], at: nodes.url(0), reason: "privacy")
      }
      #expect(erasing?.code == .wrongUse && erasing?.message.contains("unshare") == true)
    }
  }

  // MARK: Sharing, joining, leaving

  @Test(arguments: SharedKind.all) func aJournalIsSharedOnceJoinedAndMadeLocalAgain(_ kind: SharedKind) throws
  {
    try withTemporaryFolder { folder in
      let nodes = try Nodes(kind, in: folder)
      let empty = #expect(throws: JournalError.self) { try nodes.join(1) }
      #expect(empty?.code == .notFound)
      try nodes.share()
      let twice = #expect(throws: JournalError.self) { try nodes.share() }
      #expect(twice != nil)
      let again = #expect(throws: JournalError.self) {
        try Journal<Ledger>.share(
          at: nodes.url(0), through: nodes.sharing, address: nodes.address, options: nodes.options
        ) { _ in }
      }
      #expect(again?.code == .wrongUse)
      try nodes.join(1)
      let there = #expect(throws: JournalError.self) { try nodes.join(1) }
      #expect(there?.code == .alreadyExists)
      let one = try nodes.open(0)
      try one.commit { try $0.deposit(1, on: 1) }
      let status = try #require(try one.sharingStatus())
      #expect(status.newestRevision == 2 && status.missingCount == 0 && status.problem == nil)
      #expect(status.address == nodes.address && status.summary?.isEmpty == false)
      try one.close()
      let reader = try Journal<Ledger>.open(at: nodes.url(1), mode: .readOnly, options: nodes.options)
      #expect(try reader.sharingStatus()?.missingCount == 1)
      try reader.close()
      let head = try Journal<Ledger>.leaveSharing(at: nodes.url(1), isForced: false, options: nodes.options)
      #expect(head.revision == 2)
      let local = try Journal<Ledger>.open(at: nodes.url(1))
      #expect(try local.sharingStatus() == nil)
      try local.commit { try $0.deposit(5, on: 1) }
      #expect(local.state.accounts[1]?.balance == 106)
      try local.close()
    }
  }

  @Test(arguments: SharedKind.all) func interruptedSharingContinues(_ kind: SharedKind) throws {
    try withTemporaryFolder { folder in
      let nodes = try Nodes(kind, in: folder)
      let journal = try Journal<Ledger>.create(at: nodes.url(0))
      try journal.commit { _ = try $0.open(owner: "Ana", balance: 100) }
      // More than a piece, so that the first run stores some.
      let note = String(repeating: "x", count: 32 << 10)
      try journal.withPipeline { pipeline in
        for turn in 0..<200 { try pipeline.commit(note: "\(turn)\(note)") { try $0.deposit(1, on: 1) } }
      }
      try journal.close()
      struct Enough: Error {}
      #expect(throws: Enough.self) {
        try Journal<Ledger>.share(
          at: nodes.url(0), through: nodes.sharing, address: nodes.address, options: nodes.options
        ) { _ in throw Enough() }
      }
      // No node can join a log that lacks entries: its commits would take the revisions of these.
      let early = #expect(throws: JournalError.self) { try nodes.join(1) }
      #expect(early?.code == .notFound && early?.message.contains("not yet wholly in") == true)
      #expect(!FileManager.default.fileExists(atPath: nodes.url(1).path))
      // The journal is still local and takes commits.
      let local = try Journal<Ledger>.open(at: nodes.url(0))
      try local.commit { try $0.deposit(1, on: 1) }
      try local.close()
      let head = try Journal<Ledger>.share(
        at: nodes.url(0), through: nodes.sharing, address: nodes.address, options: nodes.options
      ) { _ in }
      #expect(head.revision == 202)
      try nodes.join(1)
      let joined = try nodes.open(1)
      #expect(joined.head == head && joined.state.accounts[1]?.balance == 301)
      try joined.close()
    }
  }

  /// A process that ends between the last step on the server and the last one in the folder leaves a local journal that
  /// others have joined already.
  @Test(arguments: SharedKind.all) func sharingThatEndsBeforeTheFolderKnowsContinues(_ kind: SharedKind)
    throws
  {
    try withTemporaryFolder { folder in
      let nodes = try Nodes(kind, in: folder)
      let journal = try Journal<Ledger>.create(at: nodes.url(0))
      try journal.commit { _ = try $0.open(owner: "Ana", balance: 100) }
      try journal.close()
      // Each run comes one operation further.
      var count = 0
      while !FileManager.default.fileExists(atPath: nodes.url(0).appending(path: "SHARED").path) {
        let error = #expect(throws: JournalError.self) { try share(nodes, endingAfter: count) }
        #expect(error?.code == .io, "\(String(describing: error))")
        if count == 0 {
          try nodes.join(1)
          let other = try nodes.open(1)
          try other.commit { try $0.deposit(1, on: 1) }
          try other.close()
        }
        count += 1
        try #require(count < 20)
      }
      #expect(count > 3)
      let one = try nodes.open(0)
      try one.catchUp()
      #expect(one.head.revision == 2)
      #expect(try one.commit { try $0.deposit(1, on: 1) }.revision == 3)
      #expect(try one.sharingStatus()?.newestRevision == 3 && one.verify(.deep).isSound)
      try one.close()
    }
  }

  /// Until the journal is shared again, its commits are local. Those of others can't be mixed with them.
  @Test(arguments: SharedKind.all, [false, true])
  func aJournalWhoseSharingHasEndedEarlyIsNotMixedWithWhatOthersCommit(
    _ kind: SharedKind, _ isWrittenByOthers: Bool
  ) throws {
    try withTemporaryFolder { folder in
      let nodes = try Nodes(kind, in: folder)
      let journal = try Journal<Ledger>.create(at: nodes.url(0))
      try journal.commit { _ = try $0.open(owner: "Ana", balance: 100) }
      try journal.close()
      #expect(throws: JournalError.self) { try share(nodes, endingAfter: 0) }
      try nodes.join(1)
      let other = try nodes.open(1)
      if isWrittenByOthers { try other.commit(by: "other") { try $0.deposit(10, on: 1) } }
      let local = try Journal<Ledger>.open(at: nodes.url(0))
      try local.commit(by: "local") { try $0.deposit(1, on: 1) }
      try local.close()
      if isWrittenByOthers {
        let error = #expect(throws: JournalError.self) { try share(nodes) }
        #expect(error?.code == .diverged && error?.revision == 2, "\(String(describing: error))")
        let again = try Journal<Ledger>.open(at: nodes.url(0))
        #expect(try again.entry(at: 2).author == "local" && again.sharingStatus() == nil)
        try again.close()
      } else {
        #expect(try share(nodes).revision == 2)
      }
      try other.catchUp()
      #expect(other.head.revision == 2)
      #expect(try other.entry(at: 2).author == (isWrittenByOthers ? "other" : "local"))
      try other.close()
    }
  }

  /// Shares the journal of the first node.
  /// - Parameter endingAfter: how many operations happen from the first on that concerns the file SHARED; all later ones
  ///   fail, as if the process had ended.
  @discardableResult
  private func share(_ nodes: Nodes, endingAfter count: Int = .max) throws -> Head {
    // How many operations are left; nil before the first.
    let rest = Lock<Int?>(nil)
    var options = nodes.options
    options.fileHook = { operation in
      rest.withLock { rest -> FileVerdict in
        if rest == nil, operation.path.contains("/SHARED") { rest = count }
        guard let left = rest else { return .proceed }
        rest = left - 1
        return left > 0 ? .proceed : .fail(EIO)
      }
    }
    return try Journal<Ledger>.share(
      at: nodes.url(0), through: nodes.sharing, address: nodes.address, options: options
    ) { _ in }
  }
}
