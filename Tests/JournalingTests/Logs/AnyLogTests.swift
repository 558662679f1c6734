import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import Journaling

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
      let found = try journal.verify(.deep)
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

  /// Pruning and erasing replace the log, and a pruned one does not begin with entry 1.
  @Test(arguments: LogKind.all.filter(\.hasFiles)) func aJournalIsPrunedErasedAndCopiedOnAnyLog(
    _ kind: LogKind
  )
    throws
  {
    let options = try options(kind)
    try withLedger(options: options) { journal, url in
      for _ in 1...20 { try journal.commit { _ = try $0.open(owner: "Ana", balance: 5) } }
      try journal.close()
      try Journal<Ledger>.prune(before: .revision(10), at: url, options: options)
      let folder = try JournalFolder(url, hook: nil)
      let place = LogPlace(folder, try folder.readFormat(), options: options)
      let site = LogSite(storage: options.logStorage, place: place)
      let last = try site.use(.read) { log throws in
        let newest = try log.newestRevision()
        #expect(place.firstRevision > 1)
        #expect(try log.revisions(1...99) == Array(place.firstRevision...newest))
        #expect(try log.revisions(1...99, newestFirst: true) == (place.firstRevision...newest).reversed())
        return newest
      }
      let pruned = try Journal<Ledger>.open(at: url, options: options)
      #expect(pruned.head.revision == last && pruned.state.accounts.count == 20)
      try pruned.commit { try $0.deposit(1, on: 1) }
      #expect(try pruned.verify(.deep).isSound)
      try pruned.close()
      try Journal<Ledger>.erase([.account(2)], at: url, reason: "by law", options: options)
      let erased = try Journal<Ledger>.open(at: url, options: options)
      // Copies are always in LevelDB.
      let backup = url.deletingLastPathComponent().appending(path: "Backup.journal")
      for _ in 1...2 {
        try erased.commit { try $0.deposit(1, on: 1) }
        try erased.backup(to: backup)
      }
      #expect(try erased.verify(.deep).isSound)
      let copy = try Journal<Ledger>.open(at: backup, mode: .readOnly)
      #expect(copy.head == erased.head && copy.state.accounts[1]?.balance == 8)
      try copy.close()
      try erased.close()
    }
  }

  @Test(arguments: LogKind.all.filter(\.hasFiles)) func aJournalMayBeMovedWhileItIsOpenOnAnyLog(
    _ kind: LogKind
  )
    throws
  {
    let options = try options(kind)
    try withLedger(options: options) { journal, url in
      try journal.commit { _ = try $0.open(owner: "Ana", balance: 5) }
      let follower = try Journal<Ledger>.open(at: url, mode: .follow, options: options)
      let moved = url.deletingLastPathComponent().appending(path: "Moved.journal")
      try FileManager.default.moveItem(at: url, to: moved)
      try journal.commit { _ = try $0.open(owner: "Bob", balance: 5) }
      #expect(try journal.verify(.deep).isSound)
      try journal.close()
      let again = try Journal<Ledger>.open(at: moved, options: options)
      for _ in 1...30 { try again.commit { try $0.deposit(1, on: 1) } }
      let end = Date() + 120
      while follower.head.revision < 32, Date() < end { usleep(5_000) }
      #expect(follower.head == again.head)
      try follower.close()
      try again.close()
    }
  }

  /// Diagnosis and salvage used to look only for LevelDB.
  @Test func aJournalOnAnotherLogIsDiagnosedAndSalvaged() throws {
    var options = JournalOptions()
    options.logStorage = FolderStorage()
    try withLedger(options: options) { journal, url in
      for _ in 1...9 { try journal.commit { try $0.open(owner: "Ana") } }
      try journal.close()
      #expect(try Journal<Ledger>.diagnose(url, options: options).isSound)
      try FileManager.default.removeItem(at: url.appending(path: "FORMAT"))
      #expect(try !Journal<Ledger>.diagnose(url, options: options).isSound)
      let saved = url.deletingLastPathComponent().appending(path: "Saved.journal")
      let report = try Journal<Ledger>.salvage([url], to: saved, options: options, progress: { _ in })
      #expect(report.head.revision == 9)
    }
  }

  @Test(arguments: LogKind.all) func commitsOfManyThreadsShareAppendsOnAnyLog(_ kind: LogKind) throws {
    let storage = WatchedStorage(try kind.makeStorage())
    var options = JournalOptions()
    options.logStorage = storage
    try withLedger(options: options) { journal, _ in
      let account = try journal.commit { try $0.open(owner: "Ana") }.value
      // While one is being stored, the others arrive.
      try commitAtOnce(30, owner: "Bob", to: journal, watching: storage)
      #expect(storage.appends.withLock { $0.map(\.count) } == [1, 1, 30])
      Threads.forEach(below: 200, width: 8) { _ in
        _ = try? journal.commit { try $0.deposit(1, on: account) }
      }
      #expect(journal.state.accounts[account]?.balance == 200 && journal.head.revision == 232)
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }

  /// For each outcome of an append, the engine does what the protocol says.
  @Test func theOutcomeOfAnAppendDecidesTheOutcomeOfTheCommit() throws {
    let (refusal, damage) = (JournalError(.permission, "no"), JournalError(.io, "who knows"))
    let outcomes: [(AppendFailure, JournalError.Code, next: JournalError.Code?)] = [
      (.conflict(newest: 7), .conflict, .poisoned),
      (.refused(refusal), .poisoned, .poisoned),
      (.refused(JournalError(.outOfResources, "not now")), .outOfResources, nil),
      (.unknown(damage), .outcomeUnknown, .poisoned),
    ]
    for (failure, code, next) in outcomes {
      var options = JournalOptions()
      let storage = WatchedStorage()
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

  /// Each caller can look for its own entry later, although one append had the entries of all.
  @Test func anUnknownOutcomeNamesTheRevisionOfEachCommit() throws {
    let storage = WatchedStorage()
    storage.failureAfter.withLock { $0 = (1, { .unknown(JournalError(.io, "who knows")) }) }
    var options = JournalOptions()
    options.logStorage = storage
    try withLedger(options: options) { journal, _ in
      let failures = Lock<[JournalError]>([])
      try commitAtOnce(3, owner: "Bob", to: journal, watching: storage) { error in
        failures.withLock { $0 += [error as? JournalError].compactMap { $0 } }
      }
      let found = failures.withLock { $0 }
      // The last caller has no entry of its own.
      let codes = found.map(\.code.rawValue).sorted()
      #expect(codes == ["outcomeUnknown", "outcomeUnknown", "outcomeUnknown", "poisoned"])
      #expect(found.filter { $0.code == .outcomeUnknown }.compactMap(\.revision).sorted() == [2, 3, 4])
      #expect(journal.head.revision == 1)
    }
  }

  @Test func anEntryBeyondTheLimitOfTheLogIsTooLarge() throws {
    let limit = 10_000
    let storage = WatchedStorage(byteLimit: limit)
    var options = JournalOptions()
    options.logStorage = storage
    try withLedger(options: options) { journal, _ in
      let error = #expect(throws: JournalError.self) {
        try journal.commit { _ = try $0.open(owner: String(repeating: "a", count: limit)) }
      }
      #expect(error?.code == .tooLarge)
      // Two of these entries do not fit into one batch.
      try commitAtOnce(8, owner: String(repeating: "b", count: limit / 2), to: journal, watching: storage)
      let appends = storage.appends.withLock { $0 }
      #expect(appends.map(\.count) == [Int](repeating: 1, count: 9))
      #expect(appends.allSatisfy { $0.reduce(0, +) <= limit })
      try journal.close()
    }
  }

  @Test func aBatchIsClosedWhenItIsLarge() throws {
    let limit = 16 << 20
    let storage = WatchedStorage()
    var options = JournalOptions()
    options.logStorage = storage
    try withLedger(options: options) { journal, _ in
      try commitAtOnce(8, owner: String(repeating: "x", count: 6 << 20), to: journal, watching: storage)
      let appends = storage.appends.withLock { $0 }
      // The first entry is being written while the others are accepted. Three of them would be too large for a batch.
      #expect(appends.map(\.count) == [1, 2, 2, 2, 2])
      #expect(appends.allSatisfy { $0.reduce(0, +) <= limit })
      #expect(journal.state.accounts.count == 9)
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }

  /// Opens one account, and `count` more while that entry is being written. All of them are accepted before it is
  /// durable.
  private func commitAtOnce(
    _ count: Int, owner: String, to journal: Journal<Ledger>, watching storage: WatchedStorage,
    failed: @escaping @Sendable (any Error) -> Void = { Issue.record($0) }
  ) throws {
    let (isReached, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    storage.beforeAppend.withLock {
      $0 = {
        isReached.signal()
        mayGoOn.wait()
      }
    }
    let bodies = Lock(0)
    let ended = DispatchGroup()
    for turn in 0...count {
      ended.enter()
      let isStarted = Threads.start {
        do {
          try journal.commit { draft in
            bodies.withLock { $0 += 1 }
            _ = try draft.open(owner: owner)
          }
        } catch {
          failed(error)
        }
        ended.leave()
      }
      try #require(isStarted)
      if turn == 0 { isReached.wait() }
    }
    storage.beforeAppend.withLock { $0 = nil }
    while bodies.withLock({ $0 }) <= count { usleep(1_000) }
    do {
      try journal.withPipeline { pipeline in
        // This gets the write lock after the last of them has released it, and then that one's entry is in the queue.
        try pipeline.commit { _ in }
        mayGoOn.signal()
      }
    } catch { failed(error) }
    ended.wait()
  }
}
