import Locks
import TestSupport
import Testing

@testable import Journaling

/// Histories of entities with very many events: their parts, and how many entries are read for them.
struct HistoryTests {
  @Test(arguments: [LayerPolicy.layered, .manual])
  func theWholeHistoryEqualsItsParts(_ policy: LayerPolicy) throws {
    var random = SeededGenerator()
    try withLedger(options: JournalOptions(layers: policy)) { bank, url in
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
          next = try #require(part.last).previous
        }
        try expect(parts, whole[...])
      }
      #expect(try bank.history(of: .account(4)).isEmpty)
      try bank.close()
    }
  }

  /// The newest changes, those before a point long ago, and the entity at that point.
  @Test func aPartOfALongHistoryReadsFewEntries() throws {
    let turnCount = 2_000
    func readCounts(_ policy: LayerPolicy) throws -> [Int] {
      let storage = WatchedStorage()
      var options = JournalOptions(layers: policy)
      options.logStorage = storage
      return try withLedger(options: options) { bank, _ in
        for number in 1...2 { try bank.commit { _ = try $0.open(owner: "\(number)") } }
        for _ in 0..<turnCount {
          for number in 1...2 { try bank.commit { try $0.deposit(1, on: number) } }
        }
        bank.waitForLayers()
        func readCount(_ body: () throws -> Void) rethrows -> Int {
          let before = storage.reads.withLock { $0 }
          try body()
          return storage.reads.withLock { $0 } - before
        }
        let account = EntityKey.account(1)
        // The entries of the middle: the turn's first has an event of the account, and its second has none.
        let turn = 2 + turnCount
        let (event, between) = (RevisionSelector.revision(turn + 1), RevisionSelector.revision(turn + 2))
        let counts = try [
          readCount { try #expect(bank.history(of: account, limit: 20).count == 20) },
          readCount { try #expect(bank.history(of: account, asOf: event, limit: 20).count == 20) },
          readCount { try #expect(bank.history(of: account, asOf: between, limit: 20).count == 20) },
          readCount {
            try #expect(bank.entity(account, asOf: between)?.balance == Int64(turnCount / 2 + 1))
          },
          readCount { try #expect(bank.history(of: account).count == turnCount + 1) },
        ]
        try bank.close()
        return counts
      }
    }
    let counts = try readCounts(.layered)
    #expect(counts.dropLast().allSatisfy { $0 < 1_000 }, "\(counts)")
    // Without layers all events between are read, so these numbers can fail.
    let without = try readCounts(.manual)
    #expect(without[2] > turnCount && without[3] > turnCount, "\(without)")
  }

  @Test func blameReadsNoFurtherThanToTheOldestValue() throws {
    let storage = WatchedStorage()
    var options = JournalOptions(layers: .layered)
    options.logStorage = storage
    try withLedger(options: options) { bank, _ in
      try bank.commit { _ = try $0.open(owner: "Ana") }
      for _ in 0..<1_000 { try bank.commit { try $0.deposit(1, on: 1) } }
      func readCount(_ expected: [String: Revision]) throws -> Int {
        let before = storage.reads.withLock { $0 }
        let blame = try #require(try bank.blame(.account(1)))
        let found = Dictionary(uniqueKeysWithValues: blame.map { ($0.key, $0.revision) })
        #expect(found == Dictionary(uniqueKeysWithValues: expected.map { (.attribute($0), $1) }))
        return storage.reads.withLock { $0 } - before
      }
      #expect(try readCount(["owner": 1, "balance": 1_001]) >= 1_000)
      try bank.commit {
        try $0.update(.account(1), to: EntityRecord(["owner": .string("Bo"), "balance": .integer(7)]))
      }
      try bank.commit { try $0.deposit(1, on: 1) }
      bank.waitForLayers()
      #expect(try readCount(["owner": 1_002, "balance": 1_003]) < 150)
      try bank.close()
    }
  }

  /// An import, a change of all that it added, and their deletion, each in one entry.
  @Test func entriesWithManyEventsAreNotReadForEachOfThem() throws {
    func readCounts(_ count: Int) throws -> [Int] {
      let storage = WatchedStorage()
      var options = JournalOptions(layers: .manual)
      options.logStorage = storage
      return try withLedger(options: options) { bank, _ in
        var counts: [Int] = []
        func note(_ body: () throws -> Void) rethrows {
          let before = storage.reads.withLock { $0 }
          try body()
          counts.append(storage.reads.withLock { $0 } - before)
        }
        let all = (1...count).map { EntityKey.account($0) }
        try bank.commit(by: "ana") { draft in for _ in all { _ = try draft.open(owner: "Ana") } }
        try note { try #expect(bank.planUndo(by: "ana")?.changes.map(\.entity) == all) }
        try bank.commit(by: "bob") { draft in for entity in all { try draft.deposit(7, on: entity.number) } }
        try note { try #expect(bank.planUndo(by: "bob")?.changes.map(\.entity) == all) }
        try note { try #expect(bank.planUndo(by: "ana")?.conflicts.map(\.entity) == all) }
        try note {
          try #expect(bank.planRestore(of: .everything, asOf: .revision(1)).undoes.map(\.entity) == all)
        }
        try note { try #expect(bank.planRestore(of: .everything, asOf: .revision(0)).changes.count == count) }
        let entry = try bank.entry(at: 2)
        try note {
          for event in entry.events {
            try #expect(bank.parts(changedBy: event).map(\.old) == [.integer(0)])
          }
        }
        try bank.commit(by: "eve") { draft in for entity in all { try draft.delete(entity) } }
        try note {
          for entity in all { try #expect(bank.entity(entity, asOf: .revision(2))?.balance == 7) }
        }
        try bank.close()
        return counts
      }
    }
    let (few, many) = (try readCounts(100), try readCounts(400))
    #expect(many == few && many.allSatisfy { $0 < 40 }, "\(few) \(many)")
  }

  /// Many neighbors are read together, and entries that are far apart one by one.
  @Test func aFaultIsNamedOnlyIfTheEntityHasAnEventThere() throws {
    var random = SeededGenerator()
    let storage = WatchedStorage()
    var options = JournalOptions(layers: .manual)
    options.logStorage = storage
    try withLedger(options: options) { bank, _ in
      for number in 1...2 { try bank.commit { _ = try $0.open(owner: "\(number)") } }
      for _ in 0..<20 {
        for _ in 0..<Int.random(in: 1...60, using: &random) {
          // Now and then there is another entry between neighbors.
          let number = random.chance(1, in: 5) ? 2 : 1
          try bank.commit { try $0.deposit(1, on: number) }
        }
        for _ in 0..<Int.random(in: 1...20, using: &random) { try bank.commit { try $0.deposit(1, on: 2) } }
      }
      let whole = try bank.history(of: .account(1))
      let row = try bank.entity(.account(1), asOf: .head())
      for victim in (1...bank.head.revision).shuffled(using: &random).prefix(150) {
        let fault = Int.random(in: 0..<3, using: &random)
        storage.missing.withLock { $0 = fault == 0 ? victim : nil }
        storage.altered.withLock { $0 = { $0 == victim && fault == 1 ? [0xFF] : nil } }
        storage.unreadable.withLock { $0 = fault == 2 ? victim : nil }
        guard whole.contains(where: { $0.revision == victim }) else {
          try expect(try bank.history(of: .account(1)), whole[...])
          #expect(try bank.entity(.account(1), asOf: .head()) == row)
          continue
        }
        for body in [
          { _ = try bank.history(of: .account(1)) },
          { _ = try bank.entity(.account(1), asOf: .head()) },
          { _ = try bank.history(of: .account(1), asOf: .revision(victim), limit: 1) },
        ] {
          let error = #expect(throws: JournalError.self) { try body() }
          #expect(error?.code == .damaged && error?.revision == victim, "\(victim), fault \(fault)")
        }
      }
      storage.missing.withLock { $0 = nil }
      storage.unreadable.withLock { $0 = nil }
      storage.altered.withLock { $0 = nil }
      try bank.close()
    }
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

extension LayerPolicy {
  /// A layer after every 40 events, with all past states.
  fileprivate static var layered: LayerPolicy {
    var policy = LayerPolicy.automatic
    policy.eventCount = 40
    policy.additionsPerEvent = 1
    return policy
  }
}
