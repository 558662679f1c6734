import Journaling
import TestSupport
import Testing

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
