import Locks
import TestSupport
import Testing

@testable import Journaling

/// Reads all versions of entities from the log, with the help of the layers.
struct PastVersionTests {
  private struct Version: Equatable {
    let (number, revision): (Int, Revision)
    let balance: Int64
  }

  /// All versions of the accounts, and how many entries were read for them.
  private func versions(
    _ bank: Journal<Ledger>, _ storage: WatchedStorage
  ) throws -> (versions: [Version], readCount: Int) {
    let before = storage.reads.withLock { $0 }
    var versions: [Version] = []
    func checkIsWanted() throws(JournalError) {}
    try bank.chain.forEachVersion(
      Ledger.self, of: [0], after: 0, through: bank.head.revision, checkIsWanted: checkIsWanted
    ) { _, number, revision, record in
      let row = EntityRow(record: record, created: revision, modified: revision)
      versions.append(Version(number: number, revision: revision, balance: row.balance))
    }
    return (versions, storage.reads.withLock { $0 } - before)
  }

  private func options(_ storage: WatchedStorage, _ policy: LayerPolicy) -> JournalOptions {
    var options = JournalOptions(layers: policy)
    options.logStorage = storage
    return options
  }

  @Test func eachEntryIsReadOnceEvenIfALowerLayerIsMissing() throws {
    let storage = WatchedStorage()
    var policy = LayerPolicy.automatic
    (policy.eventCount, policy.fanout) = (20, 1_000)
    try withLedger(options: options(storage, policy)) { bank, _ in
      for number in 1...2 { try bank.commit { _ = try $0.open(owner: "\(number)") } }
      var expected = (1...2).map { Version(number: $0, revision: $0, balance: 0) }
      for turn in 0..<200 {
        let number = 1 + turn % 2
        try bank.commit { try $0.deposit(1, on: number) }
        expected.append(Version(number: number, revision: turn + 3, balance: Int64(turn / 2 + 1)))
        if turn % 20 == 19 { bank.waitForLayers() }
      }
      #expect(bank.chain.layers.count > 5)
      for isMissing in [false, true] {
        if isMissing { bank.chain.remove([try #require(bank.chain.layers.first).name]) }
        let found = try versions(bank, storage)
        #expect(found.versions == expected)
        #expect(found.readCount == bank.head.revision)
      }
      try bank.close()
    }
  }

  @Test func whenRecordsWouldTakeTooMuchMemoryAStateTakesTheirPlace() throws {
    let storage = WatchedStorage()
    try withLedger(options: options(storage, .manual)) { bank, _ in
      let owner = String(repeating: "x", count: 1 << 20)
      var expected: [Version] = []
      for number in 1...18 {
        try bank.commit { _ = try $0.open(owner: owner) }
        expected.append(Version(number: number, revision: number, balance: 0))
      }
      for number in 1...18 {
        try bank.commit { try $0.deposit(7, on: number) }
        expected.append(Version(number: number, revision: 18 + number, balance: 7))
      }
      let found = try versions(bank, storage)
      #expect(found.versions == expected)
      #expect(found.readCount > 36 && found.readCount <= 72)
      try bank.close()
    }
  }

  @Test func entriesOfOtherKindsAndAReplayAreNotReadToTheEndIfTheyAreNotWanted() throws {
    let storage = WatchedStorage()
    try withLedger(options: options(storage, .manual)) { bank, _ in
      let count = 1_200
      for number in 1...count { try bank.commit { _ = try $0.open(owner: "\(number)") } }
      /// How many entries are read if they are not wanted after some checks.
      func readCount(after first: Revision, checkCount: Int) throws -> Int {
        let before = storage.reads.withLock { $0 }
        var checks = 0
        func checkIsWanted() throws(JournalError) {
          checks += 1
          if checks > checkCount { throw JournalError(.closed, "not wanted") }
        }
        let error = #expect(throws: JournalError.self) {
          try bank.chain.forEachVersion(
            Ledger.self, of: [], after: first, through: count, checkIsWanted: checkIsWanted
          ) { _, _, _, _ in }
        }
        #expect(error?.code == .closed)
        return storage.reads.withLock { $0 } - before
      }
      #expect(try readCount(after: 0, checkCount: 2) == 129)
      #expect(try readCount(after: count - 1, checkCount: 0) == 0)
      #expect(try readCount(after: count - 1, checkCount: 1) == 1_024)
      try bank.close()
    }
  }
}
