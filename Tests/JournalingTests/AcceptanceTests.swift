import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import Journaling

/// What a commit refuses, so that everything that it accepts can be opened again.
@Suite struct AcceptanceTests {
  @discardableResult
  private func reject<State: EventSourced>(
    _ journal: Journal<State>, code: JournalError.Code = .rejected, date: Date? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (inout Draft<State>) throws -> Void
  ) -> String {
    let head = journal.head
    let error = #expect(throws: JournalError.self, sourceLocation: sourceLocation) {
      try journal.commit(date: date, body)
    }
    #expect(error?.code == code, sourceLocation: sourceLocation)
    #expect(journal.head == head, sourceLocation: sourceLocation)
    return error?.message ?? ""
  }

  @Test func aNumberThatNoEntityCanHaveIsRejected() throws {
    try withLedger { journal, url in
      for number in [Int.min, -1, 0, EntityKey.numbers.upperBound + 1, .max - 1, .max] {
        #expect(
          reject(journal) { try $0.add(.account(number), EntityRecord()) }.contains("numbers go from 1 to"))
        reject(journal) { try $0.update(.account(number), to: EntityRecord()) }
        reject(journal) { try $0.delete(.account(number)) }
      }
      try journal.commit { try $0.add(.account(EntityKey.numbers.upperBound), EntityRecord()) }
      // No number is left. That is an error and not a trap.
      #expect(reject(journal) { _ = try $0.open(owner: "Bob") }.contains("numbers go from 1 to"))
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).state.accounts.highest == EntityKey.numbers.upperBound)
    }
  }

  @Test func aForgedNumberIsDamageAndDoesNotEndTheProcess() {
    var accounts = EntityTable()
    for number in [Int.max, EntityKey.numbers.upperBound + 1, 0, -1] {
      let error = #expect(throws: JournalError.self) {
        try accounts.apply(
          JournalEvent(entity: .account(number), previous: 0, change: .add(EntityRecord())), at: 1,
          in: Ledger.self)
      }
      #expect(error?.code == .damaged)
    }
    #expect(accounts.highest == 0)
  }

  @Test func aKindThatTheModelDoesNotHaveIsRejected() throws {
    try withLedger { journal, _ in
      for kind: UInt8 in [1, 2, 255] {
        let message = reject(journal) {
          try $0.add(EntityKey(kind: EntityKind(rawValue: kind), number: 1), EntityRecord())
        }
        #expect(message.contains("the kinds of ledger/1 are account"))
      }
    }
  }

  @Test func aFieldNumberAbove23IsRejectedAndDoesNotEndTheProcess() throws {
    try withLedger { journal, _ in
      for number: UInt8 in [24, 100, 255] {
        let record = EntityRecord(["owner": .string("Ana")], fields: [0: .null, number: .integer(1)])
        #expect(
          reject(journal) { try $0.add(.account(1), record) }
            == "the field \(number) of account:1 can't be kept: fields have the numbers 0 to 23, each once")
      }
      // Applying the changes keeps the wrong field, so that the commit finds it.
      let merged = EntityRecord(["a": .null, "z": .null]).applying(RecordChanges(setFields: [30: .null]))
      reject(journal) { try $0.add(.account(1), merged) }
    }
  }

  @Test func aValueNestedTooDeepIsRejectedHoweverItIsAdded() throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      for depth in [128, 129, 130, 131, 1_000, 20_000] {
        let deep = (0..<depth).reduce(FieldValue.null) { value, _ in .array([value]) }
        let record = EntityRecord(["deep": deep, "z": .integer(1)])
        let message = "the attribute \"deep\" of account:\(2) is nested more than 127 deep"
        #expect(reject(journal) { try $0.add(.account(2), record) } == message)
        reject(journal) { try $0.update(.account(1), to: record) }
        let merged = EntityRecord(["z": .null]).applying(RecordChanges(set: ["deep": deep]))
        reject(journal) { try $0.update(.account(1), to: merged) }
      }
      let deepest = (0..<127).reduce(FieldValue.null) { value, _ in .array([value]) }
      try journal.commit { try $0.update(.account(1), to: EntityRecord(["deep": deepest])) }
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).state.accounts[1]?.record["deep"] == deepest)
    }
  }

  @Test func aRuleOfTheModelHoldsHoweverAnEntityIsChanged() throws {
    try withLedger { journal, _ in
      let ana = try journal.commit { try $0.open(owner: "Ana", balance: 10) }.value
      let debt = EntityRecord(["owner": .string("Ana"), "balance": .integer(-5)])
      #expect(reject(journal) { try $0.update(.account(ana), to: debt) } == "account 1 would have -5")
      #expect(reject(journal) { try $0.add(.account(2), debt) } == "account 2 would have -5")
      // Only the state at the end of a commit counts.
      try journal.commit { draft in
        try draft.update(.account(ana), to: debt)
        try draft.deposit(7, on: ana)
      }
      #expect(journal.state.accounts[ana]?.balance == 2)
      #expect(try journal.verify().isSound)
    }
  }

  /// A faulty model: each event also changes the account after its own.
  private struct Careless: OfAccounts {
    static let schema = "careless/1"
    var accounts = EntityTable()
    mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
      try accounts.apply(event, at: revision, in: Self.self)
      let next = EntityKey(kind: event.entity.kind, number: event.entity.number + 1)
      try accounts.apply(
        JournalEvent(entity: next, previous: 0, change: .add(EntityRecord())), at: revision, in: Self.self)
    }
  }

  /// A faulty model that does not say what has changed.
  private struct Forgetful: EventSourced {
    static let schema = "forgetful/1"
    static let kindNames = ["account"]
    func record(of entity: EntityKey) -> EntityRecord? { nil }
    func revision(of entity: EntityKey) -> Revision { 0 }
    mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {}
  }

  /// A faulty model with a wrong index.
  private struct Misfiled: OfAccounts {
    static let schema = "misfiled/1"
    var accounts = EntityTable()
    mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
      try accounts.apply(event, at: revision, in: Self.self)
    }
    func indexProblems() -> [String] { accounts.isEmpty ? [] : ["account:1 is listed under another owner"] }
  }

  /// `verify` used to call the default implementation instead of the model's own.
  @Test func verifyReportsTheProblemsThatAModelFindsInItsIndexes() throws {
    try withTemporaryFolder { folder in
      let journal = try Journal<Misfiled>.create(at: folder.url.appendingPathComponent("A.journal"))
      #expect(try journal.verify().problems.isEmpty)
      try journal.commit { try $0.add(.account(1), EntityRecord()) }
      #expect(try journal.verify().problems.map(\.message) == ["account:1 is listed under another owner"])
      try journal.close()
    }
  }

  @Test func aModelWhoseEventsChangeOtherEntitiesIsRejectedWithTheReason() throws {
    try withTemporaryFolder { folder in
      let journal = try Journal<Careless>.create(at: folder.url.appendingPathComponent("A.journal"))
      let message = reject(journal, code: .wrongUse) { draft in
        try draft.add(.account(1), EntityRecord())
        // The commit is refused even if the body ignores the error.
        try? draft.update(.account(2), to: EntityRecord(["a": .null]))
      }
      #expect(message.contains("changed account:2 by an event of another entity"))
      let other = try Journal<Forgetful>.create(at: folder.url.appendingPathComponent("B.journal"))
      let forgotten = reject(other, code: .wrongUse) { try $0.add(.account(1), EntityRecord()) }
      #expect(forgotten.contains("does not say that revision 1 changed account:1"))
    }
  }

  @Test func textsOfMoreThanAMebibyteAreRefused() throws {
    try withLedger { journal, url in
      let half = String(repeating: "x", count: 1 << 19)
      for (author, note, metadata) in [
        (half, half + "x", [:]), ("", "x", [half: half]), ("", half + half + "x", [:]),
      ] as [(String, String, [String: String])] {
        let error = #expect(throws: JournalError.self) {
          try journal.commit(by: author, note: note, metadata: metadata) { try $0.open(owner: "Ana") }
        }
        #expect(error?.code == .tooLarge)
      }
      try journal.commit(by: "", note: half, metadata: ["": half]) { try $0.open(owner: "Ana") }
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).entry(at: 1).metadata == ["": half])
    }
  }

  @Test func aDateBefore1970IsKeptAsItIs() throws {
    try withLedger { journal, url in
      let old = Date(timeIntervalSince1970: -1_800_000_000)
      try journal.commit(date: old) { draft in
        #expect(draft.date == old)
        _ = try draft.open(owner: "Ana")
      }
      try journal.close()
      let opened = try Journal<Ledger>.open(at: url)
      #expect(opened.head.date == old)
      #expect(try opened.entry(at: 1).date == old)
      #expect(try opened.revision(at: .date(old)) == 1)
      #expect(try opened.verify().isSound)
    }
  }

  @Test func aClockOrDateBeyondFourDigitYearsIsRefused() throws {
    let request = try CommitRequest("", "", [:], nil, [], false)
    let last = Timestamp.fourDigitYears.upperBound
    let empty = Head(revision: 0, timestamp: Timestamp(microseconds: 0), digest: .zero)
    #expect(try request.clock(after: empty, now: last).date == last)
    let error = #expect(throws: JournalError.self) {
      try request.clock(after: empty, now: Timestamp(microseconds: last.microseconds + 1))
    }
    #expect(error?.code == .rejected)
    #expect(error?.message.contains("clock") == true)
    try withLedger { journal, _ in
      for date in [Date.distantFuture * 10, Date(timeIntervalSinceReferenceDate: .nan), .distantPast * 10] {
        reject(journal, date: date) { _ = try $0.open(owner: "Ana") }
      }
    }
  }

  @Test func theLocalizedDescriptionOfAnErrorIsItsMessage() {
    let error: any Error = JournalError(.conflict, "item:1 was changed", revision: 2)
    #expect(error.localizedDescription == "item:1 was changed (in revision 2)")
  }
}

extension Date {
  fileprivate static func * (date: Date, factor: Double) -> Date {
    Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate * factor)
  }
}

/// A model whose only entities are accounts.
private protocol OfAccounts: EventSourced {
  var accounts: EntityTable { get }
}

extension OfAccounts {
  static var kindNames: [String] { ["account"] }
  func record(of entity: EntityKey) -> EntityRecord? { accounts[entity.number]?.record }
  func revision(of entity: EntityKey) -> Revision { accounts.revision(of: entity.number) }
}
