import Foundation
import Journaling
import Locks
import TestSupport
import Testing

/// Whole journals on each kind of log.
@Suite struct AnyLogTests {
  private func options(_ kind: LogKind) throws -> JournalOptions {
    var options = JournalOptions()
    options.logStorage = try kind.makeStorage()
    return options
  }

  @Test(arguments: LogKind.all) func aJournalWorksOnAnyLog(_ kind: LogKind) throws {
    let options = try options(kind)
    try withLedger(options: options) { journal, url in
      let (ana, bob) = try journal.commit {
        (try $0.open(owner: "Ana", balance: 100), try $0.open(owner: "Bob"))
      }.value
      for _ in 1...20 { try journal.commit(by: "ana") { try $0.transfer(5, from: ana, to: bob) } }
      #expect(throws: JournalError.self) { try journal.commit { try $0.deposit(-1_000, on: bob) } }
      #expect(journal.state.accounts[bob]?.balance == 100)
      #expect(try journal.state(asOf: .revision(11)).accounts[bob]?.balance == 50)
      let plan = try #require(try journal.planUndo(by: "ana"))
      try journal.commit(plan, by: "ana")
      #expect(journal.state.accounts[bob]?.balance == 95)
      #expect(try journal.history(of: .account(bob)).count == 22)
      #expect(try journal.statistics().logByteCount > 1_000)
      let found = try journal.verify(deep: true)
      #expect(found.isSound && found.entryCount == 22, "\(found.problems)")
      let head = journal.head
      guard !options.logStorage.isTransient else { return try journal.close() }
      try journal.close()
      let again = try Journal<Ledger>.open(at: url, checking: .everything, options: options)
      #expect(again.head == head && again.state.accounts[bob]?.balance == 95)
      try again.commit { try $0.deposit(1, on: bob) }
      try again.close()
    }
  }

  @Test(arguments: LogKind.all) func commitsOfManyThreadsShareAppendsOnAnyLog(_ kind: LogKind) throws {
    try withLedger(options: options(kind)) { journal, _ in
      let account = try journal.commit { try $0.open(owner: "Ana") }.value
      Threads.forEach(below: 200, width: 8) { _ in
        _ = try? journal.commit { try $0.deposit(1, on: account) }
      }
      #expect(journal.state.accounts[account]?.balance == 200 && journal.head.revision == 201)
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }

  /// The engine does for each outcome of an append what the protocol says.
  @Test func whatAnAppendComesToIsWhatTheCommitSays() throws {
    let (refusal, damage) = (JournalError(.permission, "no"), JournalError(.io, "who knows"))
    let outcomes: [(AppendFailure, JournalError.Code, next: JournalError.Code?)] = [
      (.conflict(newest: 7), .conflict, .poisoned),
      (.refused(refusal), .poisoned, .poisoned),
      (.refused(JournalError(.outOfResources, "not now")), .outOfResources, nil),
      (.unknown(damage), .outcomeUnknown, .poisoned),
    ]
    for (failure, code, next) in outcomes {
      var options = JournalOptions()
      let storage = FailingStorage()
      options.logStorage = storage
      try withLedger(options: options) { journal, _ in
        try journal.commit { try $0.open(owner: "Ana") }
        storage.failure.withLock { $0 = failure }
        let error = #expect(throws: JournalError.self) { try journal.commit { try $0.open(owner: "Bob") } }
        #expect(error?.code == code, "\(failure)")
        storage.failure.withLock { $0 = nil }
        #expect(journal.head.revision == 1)
        if let next {
          let error = #expect(throws: JournalError.self) { try journal.commit { try $0.open(owner: "Bob") } }
          #expect(error?.code == next, "\(failure)")
        } else {
          try journal.commit { try $0.open(owner: "Bob") }
          #expect(journal.head.revision == 2)
        }
        try journal.close()
      }
    }
  }

  @Test func anEntryThatTheLogCantTakeIsTooLarge() throws {
    var options = JournalOptions()
    options.logStorage = FailingStorage()
    try withLedger(options: options) { journal, _ in
      let error = #expect(throws: JournalError.self) {
        try journal.commit { _ = try $0.open(owner: String(repeating: "a", count: FailingStorage.byteLimit)) }
      }
      #expect(error?.code == .tooLarge)
      try journal.commit {
        _ = try $0.open(owner: String(repeating: "a", count: FailingStorage.byteLimit / 2))
      }
      // Two of them are no longer one batch.
      Threads.forEach(below: 8, width: 8) { _ in
        _ = try? journal.commit {
          try $0.open(owner: String(repeating: "b", count: FailingStorage.byteLimit / 2))
        }
      }
      #expect(journal.head.revision == 9)
      try journal.close()
    }
  }
}

/// A log in memory whose appends fail as they are told, and which takes little at a time.
private final class FailingStorage: LogStorage {
  static let byteLimit = 10_000

  let failure = Lock<AppendFailure?>(nil)
  private let memory = MemoryStorage()

  var isShared: Bool { memory.isShared }
  var isTransient: Bool { memory.isTransient }
  var allowsFollowing: Bool { memory.allowsFollowing }

  func create(in place: LogPlace) throws(JournalError) { try memory.create(in: place) }

  func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    FailingLog(log: try memory.open(access, in: place), storage: self)
  }
}

private struct FailingLog: EntryLog {
  let log: any EntryLog
  let storage: FailingStorage

  var limits: LogLimits { LogLimits(appendByteCount: FailingStorage.byteLimit, spareByteCount: 0) }
  var hasTornTail: Bool { log.hasTornTail }
  func acknowledged() throws(JournalError) -> LogMark? { try log.acknowledged() }
  func beginWriting() throws(JournalError) { try log.beginWriting() }
  func byteCount() throws(JournalError) -> Int { try log.byteCount() }
  func close() throws(JournalError) { try log.close() }

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    try unsafe log.read(range, newestFirst: newestFirst, body)
  }

  func newestRevision(after revision: Revision, waitingAtMost time: Duration) throws(JournalError) -> Revision
  {
    try log.newestRevision(after: revision, waitingAtMost: time)
  }

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    if let failure = storage.failure.withLock({ $0 }) { throw failure }
    #expect(entries.reduce(0) { $0 + $1.bytes.count } <= FailingStorage.byteLimit)
    try log.append(entries, after: revision)
  }
}
