import Locks
import TestSupport
import Testing

@testable import Journaling

/// Histories of entities with very many events: their parts, and how many entries are read for them.
struct HistoryTests {
  @Test(arguments: [SnapshotPolicy.layered, .manual])
  func theWholeHistoryEqualsItsParts(_ policy: SnapshotPolicy) throws {
    var random = SeededGenerator()
    try withLedger(options: JournalOptions(snapshots: policy)) { bank, url in
      try fill(bank, turnCount: 600, using: &random)
      bank.waitForLayers()
      for number in 1...3 {
        let whole = try bank.history(of: .account(number))
        var record: EntityRecord?
        for change in whole.reversed() {
          #expect(change.before == record)
          record = change.event.change.applied(to: record)
          #expect(change.after == record)
        }
        #expect(record == bank.state.record(of: .account(number)))
        for _ in 0..<20 {
          let end = Int.random(in: 0...bank.head.revision, using: &random)
          let limit = Int.random(in: 0...200, using: &random)
          let part = try bank.history(of: .account(number), asOf: .revision(end), limit: limit)
          try expect(part, whole.drop { $0.revision > end }.prefix(limit))
        }
        var parts: [EntityChange] = []
        var next = bank.head.revision
        while next > 0 {
          let part = try bank.history(
            of: .account(number), asOf: .revision(next), limit: .random(in: 1...150, using: &random))
          parts += part
          next = try #require(part.last).event.previous
        }
        try expect(parts, whole[...])
      }
      #expect(try bank.history(of: .account(4)).isEmpty)
      try bank.close()
    }
  }

  /// The newest changes, those before a point long ago, and the entity at that point.
  @Test func aPartOfALongHistoryReadsNoMoreEntriesThanThatOfAShortOne() throws {
    func readCounts(turnCount: Int, _ policy: SnapshotPolicy) throws -> [Int] {
      let storage = WatchedStorage()
      var options = JournalOptions(snapshots: policy)
      options.logStorage = storage
      return try withLedger(options: options) { bank, _ in
        let account = EntityKey.account(try bank.commit { try $0.open(owner: "Ana") }.value)
        for _ in 0..<turnCount { try bank.commit { try $0.deposit(1, on: account.number) } }
        bank.waitForLayers()
        func readCount(_ body: () throws -> Void) rethrows -> Int {
          let before = storage.reads.withLock { $0 }
          try body()
          return storage.reads.withLock { $0 } - before
        }
        let middle = RevisionSelector.revision(turnCount / 2)
        let counts = try [
          readCount { try #expect(bank.history(of: account, limit: 20).count == 20) },
          readCount { try #expect(bank.history(of: account, asOf: middle, limit: 20).count == 20) },
          readCount {
            try #expect(bank.entity(account, asOf: middle)?.balance == Int64(turnCount / 2 - 1))
          },
          readCount { try #expect(bank.history(of: account).count == turnCount + 1) },
        ]
        try bank.close()
        return counts
      }
    }
    let few = try readCounts(turnCount: 1_000, .layered)
    let many = try readCounts(turnCount: 4_000, .layered)
    for (few, many) in zip(few, many).prefix(3) {
      #expect(many < 300 && many < few * 2 + 20, "\(few) entries are read of 1,000, and \(many) of 4,000")
    }
    #expect(many[3] > 4_000)
    // Without layers all events between are read, so these numbers can fail.
    #expect(try readCounts(turnCount: 4_000, .manual)[1] > 1_900)
  }

  /// Opens three accounts, and changes them in turns with several events an entry.
  private func fill(_ bank: Journal<Ledger>, turnCount: Int, using random: inout SeededGenerator) throws {
    for number in 1...3 { try bank.commit { _ = try $0.open(owner: "\(number)") } }
    for turn in 0..<turnCount {
      try bank.commit(note: "turn \(turn)") { draft in
        for number in 1...3 where Bool.random(using: &random) {
          if draft.state.accounts[number] == nil {
            try draft.add(.account(number), EntityRecord(["balance": .integer(Int64(turn))]))
          } else if number > 1, random.chance(1, in: 100) {
            try draft.delete(.account(number))
          } else {
            try draft.deposit(Int64(turn), on: number)
          }
        }
      }
    }
  }

  private func expect(_ found: [EntityChange], _ expected: ArraySlice<EntityChange>) throws {
    #expect(found.map(\.revision) == expected.map(\.revision))
    for (found, expected) in zip(found, expected) {
      #expect(found.event == expected.event && found.note == expected.note)
      #expect(found.before == expected.before && found.after == expected.after)
    }
  }
}

extension SnapshotPolicy {
  /// A layer after every 40 events, with all past states.
  fileprivate static var layered: SnapshotPolicy {
    var policy = SnapshotPolicy.automatic
    policy.eventCount = 40
    return policy
  }
}
