import Foundation
import JournalMaintenance
import Journaling
import Locks
import TestSupport
import Testing

/// Accounts that are found by their balance.
private struct Branch: EventSourced {
  static let schema = "branch/1"
  static let kindNames = ["account"]
  /// How often the index was built from the accounts.
  static let builtCount = Lock(0)

  private(set) var accounts = EntityTable()
  private(set) var accountsByBalance = ValueIndex()

  init() {}

  func record(of entity: EntityKey) -> EntityRecord? { accounts[entity.number]?.record }

  func revision(of entity: EntityKey) -> Revision { accounts.revision(of: entity.number) }

  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    let (before, after) = try accounts.apply(event, at: revision, in: Self.self)
    if let before { accountsByBalance.remove(event.entity.number, from: before.record["balance"]) }
    if let after { accountsByBalance.insert(event.entity.number, under: after.record["balance"]) }
  }

  var parts: StateParts? { StateParts(tables: [accounts]) }

  init?(parts: StateParts) {
    guard let accounts = parts.tables.first else { return nil }
    self.accounts = accounts
    for (number, row) in accounts { accountsByBalance.insert(number, under: row.record["balance"]) }
    Self.builtCount.withLock { $0 += 1 }
  }

  func replacing(parts: StateParts) -> Branch? {
    guard let accounts = parts.tables.first else { return nil }
    var branch = self
    branch.accounts = accounts
    return branch
  }

  func indexProblems() -> [String] {
    guard let parts, let built = Branch(parts: parts), built.accountsByBalance == accountsByBalance else {
      return ["the index by balance is wrong"]
    }
    return []
  }
}

/// The index on values that your own state can have.
struct ValueIndexTests {
  @Test func membersAreFoundByNegativeValues() {
    var index = ValueIndex()
    for (account, balance) in [-30, 0, 100, -5, 100].enumerated() {
      index.insert(account, under: .integer(Int64(balance)))
    }
    #expect(Array(index.members(in: .below(0))) == [0, 3])
    #expect(Array(index.members(in: .equal(to: 100))) == [2, 4])
    #expect(Array(index.members(in: .from(-5, through: 0), reversed: true)) == [1, 3])
    index.remove(4, from: 100)
    index.insert(4, under: nil)
    #expect(Array(index.members(in: .all)) == [4, 0, 3, 1, 2])
    #expect(Array(index.members(in: .missing)) == [4])
    #expect(index.count == 5)
  }

  /// While each layer made the state anew, a commit waited until the index was built from all accounts.
  @Test func commitsKeepTheIndexOfAStateThatIsBackedByNewLayers() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appendingPathComponent("Branch.journal")
      let journal = try Journal<Branch>.create(at: url)
      for step in 0...4 {
        try journal.commit { draft in
          for number in 1...600 {
            let record = EntityRecord(["balance": .integer(Int64(number - 100 * step))])
            if step == 0 {
              try draft.add(.account(number), record)
            } else {
              try draft.update(.account(number), to: record)
            }
          }
        }
      }
      #expect(Branch.builtCount.withLock { $0 } == 0)
      #expect(Array(journal.state.accountsByBalance.members(in: .below(0))) == Array(1..<400))
      #expect(try journal.verify().isSound)
      try journal.takeSnapshot()
      try journal.close()
      // Now the index is built from a snapshot.
      let again = try Journal<Branch>.open(at: url)
      #expect(try again.statistics().replayedEventCount < 3_000)
      #expect(try again.verify().isSound)
      try again.close()
    }
  }

  @Test func anIndexAnswersLikeASearchOfAllItsMembers() {
    var random = SeededGenerator()
    var index = ValueIndex()
    var values: [Int: FieldValue] = [:]
    for step in 0..<3_000 {
      let member = Int.random(in: -200...200, using: &random)
      if let value = values.removeValue(forKey: member) { index.remove(member, from: value) }
      if Bool.random(using: &random) {
        let value = FieldValue.random(using: &random)
        values[member] = value
        index.insert(member, under: value)
      }
      guard step % 30 == 0 else { continue }
      let bound = FieldValue.random(using: &random)
      for range in [ValueRange.equal(to: bound), .below(bound), .from(bound), .containing(bound), .missing] {
        // The members with a key in the range, in the order of keys and then of numbers.
        var expected: [(key: ValueKey, member: Int)] = []
        for (member, value) in values {
          let elements = (value.array ?? []).map { ValueKey($0).asElement }
          for key in Set(elements + [ValueKey(value)]) where range.contains(key) {
            expected.append((key, member))
          }
        }
        expected.sort { ($0.key, $0.member) < ($1.key, $1.member) }
        let found = Array(index.members(in: range))
        #expect(found == expected.map(\.member))
        #expect(Array(index.members(in: range, reversed: true)) == found.reversed())
      }
    }
  }
}
