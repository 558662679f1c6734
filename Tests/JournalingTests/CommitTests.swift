import Foundation
import JournalMaintenance
import Journaling
import TestSupport
import Testing

@Suite struct CommitTests {
  @Test func aCommitIsReadBackAfterOpeningAgain() throws {
    try withLedger { journal, url in
      let ana = try journal.commit(by: "ana", note: "hello", metadata: ["app": "test"]) { draft in
        try draft.open(owner: "Ana", balance: 100)
      }
      #expect(ana.revision == 1)
      #expect(!ana.isEmpty)
      let bob = try journal.commit { try $0.open(owner: "Bob") }.value
      try journal.commit(note: "rent") { try $0.transfer(30, from: ana.value, to: bob) }
      let head = journal.head
      try journal.close()

      let opened = try Journal<Ledger>.open(at: url)
      #expect(opened.head == head)
      #expect(opened.state.accounts[ana.value]?.balance == 70)
      #expect(opened.state.accounts[bob]?.balance == 30)
      let entry = try opened.entry(at: 1)
      #expect(entry.author == "ana")
      #expect(entry.note == "hello")
      #expect(entry.metadata == ["app": "test"])
      #expect(try opened.verify().problems.isEmpty)
    }
  }

  @Test func aRejectedBodyWritesNothing() throws {
    try withLedger { journal, _ in
      let ana = try journal.commit { try $0.open(owner: "Ana", balance: 10) }.value
      let error = #expect(throws: JournalError.self) {
        try journal.commit { draft in
          _ = try draft.open(owner: "Bob")
          try draft.deposit(-11, on: ana)
        }
      }
      #expect(error?.code == .rejected)
      #expect(journal.head.revision == 1)
      #expect(journal.state.accounts.count == 1)
      // The number of the account that was never opened is free.
      #expect(try journal.commit { try $0.open(owner: "Eve") }.value == 2)
    }
  }

  /// The first half of the transfer used to be committed.
  @Test func aBodyThatCatchesAFailedTransferMovesNoMoney() throws {
    try withLedger { journal, _ in
      let ana = try journal.commit { try $0.open(owner: "Ana", balance: 100) }.value
      let bob = try journal.commit { draft in
        for (from, to) in [(ana, 7), (7, ana)] {
          #expect(throws: JournalError.self) { try draft.transfer(30, from: from, to: to) }
        }
        return try draft.open(owner: "Bob")
      }.value
      #expect(journal.state.accounts[ana]?.balance == 100 && journal.state.accounts[bob]?.balance == 0)
    }
  }

  @Test func errorsOfTheBodyAreRethrown() throws {
    struct Whim: Error, Equatable {}
    try withLedger { journal, _ in
      #expect(throws: Whim()) { try journal.commit { _ in throw Whim() } }
      #expect(journal.head.revision == 0)
    }
  }

  @Test func aBodyThatChangesNothingMakesNoEntry() throws {
    try withLedger { journal, _ in
      let ana = try journal.commit { try $0.open(owner: "Ana", balance: 10) }.value
      let looked = try journal.commit { draft in draft.state.accounts.count }
      #expect(looked.isEmpty)
      #expect(looked.value == 1)
      #expect(looked.revision == 1)
      #expect(try journal.commit { try $0.deposit(0, on: ana) }.isEmpty)
      let there = try journal.commit { draft in
        try draft.deposit(5, on: ana)
        try draft.deposit(-5, on: ana)
      }
      #expect(there.isEmpty)
      #expect(journal.head.revision == 1)
      #expect(journal.state.revision(of: .account(ana)) == 1)
    }
  }

  @Test func anEntityHasOneEventInAnEntry() throws {
    try withLedger { journal, url in
      try journal.commit { draft in
        let ana = try draft.open(owner: "Ana", balance: 10)
        let bob = try draft.open(owner: "Bob")
        try draft.transfer(4, from: ana, to: bob)
        try draft.delete(.account(bob))
        let eve = try draft.open(owner: "Eve")
        try draft.deposit(1, on: eve)
      }
      let events = try journal.entry(at: 1).events
      #expect(events.map(\.entity.number) == [1, 3])
      #expect(events.map(\.operation) == [.add, .add])
      #expect(journal.state.accounts[1]?.balance == 6)
      #expect(journal.state.revision(of: .account(2)) == 0)

      try journal.commit { draft in
        try draft.deposit(1, on: 1)
        try draft.deposit(1, on: 1)
        try draft.deposit(9, on: 3)
        try draft.delete(.account(3))
      }
      let second = try journal.entry(at: 2).events
      #expect(second.map(\.operation) == [.update, .delete])
      #expect(second.map(\.previous) == [1, 1])
      let before = journal.state
      try journal.close()
      let after = try Journal<Ledger>.open(at: url).state
      #expect(StateDigest.digest(of: after) == StateDigest.digest(of: before))
    }
  }

  @Test func aDeletedEntityCanBeBroughtBackUnderItsNumber() throws {
    try withLedger { journal, _ in
      let ana = try journal.commit { try $0.open(owner: "Ana", balance: 10) }.value
      let record = try #require(journal.state.record(of: .account(ana)))
      try journal.commit { try $0.delete(.account(ana)) }
      try journal.commit { try $0.add(.account(ana), record) }
      #expect(journal.state.accounts[ana]?.balance == 10)
      #expect(try journal.history(of: .account(ana)).map(\.event.operation) == [.add, .delete, .add])
      #expect(try journal.verify().isSound)
    }
  }

  @Test func missingEntitiesCanNotBeChanged() throws {
    try withLedger { journal, _ in
      let update = #expect(throws: JournalError.self) {
        try journal.commit { try $0.update(.account(7), to: EntityRecord()) }
      }
      #expect(update?.code == .rejected)
      #expect(update?.message.contains("account:7") == true)
      let delete = #expect(throws: JournalError.self) { try journal.commit { try $0.delete(.account(7)) } }
      #expect(delete?.code == .rejected)
      #expect(journal.head.revision == 0)
    }
  }

  @Test func expectationsOfTheJournalAndOfAnEntityAreChecked() throws {
    try withLedger { journal, _ in
      let ana = try journal.commit { try $0.open(owner: "Ana", balance: 10) }.value
      try journal.commit { try $0.deposit(1, on: ana) }
      try journal.commit { try $0.open(owner: "Bob") }
      let stale = #expect(throws: JournalError.self) {
        try journal.commit(expecting: [.entity(.account(ana), at: 1)]) { try $0.deposit(1, on: ana) }
      }
      #expect(stale?.code == .conflict)
      #expect(stale?.revision == 2)
      let behind = #expect(throws: JournalError.self) {
        try journal.commit(expecting: [.journal(at: 2)]) { try $0.deposit(1, on: ana) }
      }
      #expect(behind?.code == .conflict)
      #expect(journal.head.revision == 3)
      try journal.commit(expecting: [
        .journal(at: 3), .entity(.account(ana), at: 2), .entity(.account(9), at: 0),
      ]) {
        try $0.deposit(1, on: ana)
      }
      #expect(journal.state.accounts[ana]?.balance == 12)
    }
  }

  @Test func datesNeverDecrease() throws {
    try withLedger { journal, _ in
      let late = Date(timeIntervalSince1970: 2_000_000_000)
      try journal.commit(date: late) { try $0.open(owner: "Ana") }
      try journal.commit(date: Date(timeIntervalSince1970: 1)) { try $0.open(owner: "Bob") }
      try journal.commit { draft in
        #expect(draft.date == late)
        _ = try draft.open(owner: "Eve")
      }
      #expect(try journal.entry(at: 2).date == late)
      #expect(try journal.entry(at: 3).date == late)
      #expect(try journal.verify().isSound)
      let error = #expect(throws: JournalError.self) {
        try journal.commit(date: .distantFuture + 1e15) { try $0.open(owner: "Zoe") }
      }
      #expect(error?.code == .rejected)
    }
  }

  @Test func aCommitInsideACommitIsAnErrorAndNotAHang() throws {
    try withLedger { journal, _ in
      let error = #expect(throws: JournalError.self) {
        try journal.commit { _ in try journal.commit { try $0.open(owner: "Ana") } }
      }
      #expect(error?.code == .wrongUse)
      try journal.commit { try $0.open(owner: "Bob") }
      #expect(journal.head.revision == 1)
    }
  }

  @Test func aRecordThatIsTooLargeIsRejected() throws {
    try withLedger { journal, _ in
      let owner = String(repeating: "x", count: EntityRecord.byteLimit)
      let error = #expect(throws: JournalError.self) { try journal.commit { try $0.open(owner: owner) } }
      #expect(error?.code == .rejected)
      #expect(error?.message.contains("image") == true)
    }
  }

  @Test func aStateThatIsHeldNeverChanges() throws {
    try withLedger { journal, _ in
      var held: [Ledger] = [journal.state]
      let ana = try journal.commit { try $0.open(owner: "Ana") }.value
      for _ in 1...20 {
        held.append(journal.state)
        try journal.commit { try $0.deposit(1, on: ana) }
      }
      #expect(held[0].accounts.isEmpty)
      #expect(held.dropFirst().map { $0.accounts[ana]?.balance } == (0..<20).map { Int64($0) })
    }
  }

  @Test func commitsOfManyThreadsAreAllMadeAndInOrder() throws {
    try withLedger { journal, url in
      let account = try journal.commit { try $0.open(owner: "all") }.value
      DispatchQueue.concurrentPerform(iterations: 16) { thread in
        for turn in 0..<25 {
          do {
            let commit = try journal.commit(by: "\(thread)", note: "\(turn)") {
              try $0.deposit(1, on: account)
            }
            // A caller sees its own commit as soon as `commit` has returned.
            #expect(journal.head.revision >= commit.revision)
          } catch {
            Issue.record(error)
          }
        }
      }
      #expect(journal.state.accounts[account]?.balance == 400)
      #expect(journal.head.revision == 401)
      var turns: [String: Int] = [:]
      let cursor = journal.entries(2...401)
      while let entry = try cursor.next() {
        #expect(turns[entry.author, default: 0] == Int(entry.note))
        turns[entry.author, default: 0] += 1
      }
      #expect(turns.count == 16)
      #expect(try journal.verify().isSound)
      let head = journal.head
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).head == head)
    }
  }

  @Test func manyTasksCommitAtOnce() async throws {
    try await withLedger { journal, _ in
      let account = try await journal.commit { try $0.open(owner: "all") }.value
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<64 {
          group.addTask {
            for _ in 0..<5 { try await journal.commit { try $0.deposit(1, on: account) } }
          }
        }
        try await group.waitForAll()
      }
      #expect(journal.state.accounts[account]?.balance == 320)
      #expect(journal.head.revision == 321)
    }
  }

  @Test func afterClosingCommitsAndReadsOfTheLogAreErrors() throws {
    try withLedger { journal, _ in
      try journal.commit { try $0.open(owner: "Ana") }
      try journal.close()
      try journal.close()
      #expect(throws: JournalError.self) { try journal.commit { try $0.open(owner: "Bob") } }
      let reading = #expect(throws: JournalError.self) { try journal.entry(at: 1) }
      #expect(reading?.code == .closed)
      #expect(journal.state.accounts.count == 1)
    }
  }
}
