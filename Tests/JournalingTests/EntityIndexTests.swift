import TestSupport
import Testing

@testable import Journaling

/// Indexes on a base, compared with sets; and the numbers of texts.
struct EntityIndexTests {
  @Test func anIndexOnAnyBaseEqualsTheModel() throws {
    var random = SeededGenerator()
    for _ in 0..<4 {
      var index = EntityIndex()
      var model: Set<IndexKey> = []
      var kept: [(EntityIndex, Set<IndexKey>)] = []
      for _ in 0..<600 {
        let key = IndexKey(
          group: Int.random(in: -2..<9, using: &random), member: Int.random(in: 1..<40, using: &random))
        if random.chance(3, in: 5) {
          index.insert(key.member, in: key.group)
          model.insert(key)
        } else {
          index.remove(key.member, from: key.group)
          model.remove(key)
        }
        if random.chance(1, in: 60) { index = try index.frozen() }
        if random.chance(1, in: 80) {
          check(index, model, using: &random)
          kept.append((index, model))
        }
      }
      for (index, model) in kept { check(index, model, using: &random) }
    }
  }

  private func check(_ index: EntityIndex, _ model: Set<IndexKey>, using random: inout SeededGenerator) {
    let lines = model.sorted()
    #expect(index.lineCount == lines.count)
    #expect(Array(index.lines) == lines)
    for group in -3...9 {
      #expect(Array(index.members(of: group)) == lines.filter { $0.group == group }.map(\.member))
      let found = (0...40).filter { index.contains($0, in: group) }
      #expect(found == lines.filter { $0.group == group }.map(\.member))
    }
    for _ in 0..<20 {
      let bounds = (0..<2).map { _ in
        IndexKey(group: .random(in: 0..<10, using: &random), member: .random(in: 0..<41, using: &random))
      }.sorted()
      let part = index.lines(from: bounds[0], through: bounds[1])
      #expect(Array(part) == lines.filter { bounds[0] <= $0 && $0 <= bounds[1] })
    }
  }

  @Test func elementsAreNeitherInsertedNorRemovedTwice() throws {
    var plain = EntityIndex()
    plain.insert(7, in: 1)
    for var index in [plain, try plain.frozen()] {
      index.insert(7, in: 1)
      #expect(index.lineCount == 1)
      index.remove(8, from: 1)
      #expect(index.lineCount == 1)
      for _ in 0..<2 { index.remove(7, from: 1) }
      #expect(index.lineCount == 0 && !index.contains(7, in: 1))
      for _ in 0..<2 { index.insert(7, in: 1) }
      #expect(Array(index.lines) == [IndexKey(group: 1, member: 7)])
    }
  }

  /// A snapshot used to lose the members of negative groups.
  @Test func aNegativeGroupKeepsItsMembersInALayer() throws {
    var index = EntityIndex()
    for group in [-1, .min, 0, .max] { index.insert(7, in: group) }
    index = try index.frozen()
    index.insert(8, in: -1)
    index = try index.frozen()
    #expect(Array(index.members(of: -1)) == [7, 8])
    #expect(Array(index.members(of: .min)) == [7])
    #expect(index.lines.map(\.group) == [0, .max, .min, -1, -1])
  }

  @Test func textsKeepTheNumbersThatTheyWereAssigned() throws {
    var numbers = TextInterner()
    // Two of them are equal in Swift, but not in a journal.
    let texts = ["film", "caf\u{E9}", "cafe\u{301}", "", String(repeating: "x", count: 300)]
    for (number, text) in (texts + texts).enumerated() { #expect(numbers.assign(text) == number % 5) }
    #expect(numbers.count == 5)
    #expect(numbers.texts.map { Array($0.utf8) } == texts.map { Array($0.utf8) })
    var restored = try #require(TextInterner(numbers.texts))
    for (number, text) in texts.enumerated() { #expect(restored.number(of: text) == number) }
    #expect(restored.number(of: "book") == nil)
    #expect(restored.assign("book") == 5)
    #expect(TextInterner(["a", "b", "a"]) == nil)
  }

  @Test func aTextInARecordHasTheNumberOfTheText() throws {
    var numbers = try #require(TextInterner(["film", "book"]))
    for (text, number) in [("book", 1), ("game", 2), ("game", 2), ("film", 0)] {
      let record = EntityRecord(fields: [0: .string(text)])
      // The text comes after the head of the map and the field's number.
      let place = 2..<record.bytes.count
      #expect(numbers.assign(textAt: place, in: record) == number)
      #expect(numbers.number(ofTextAt: place, in: record) == number)
      #expect(numbers.number(of: text) == number)
    }
    let unknown = EntityRecord(fields: [0: .string("none")])
    #expect(numbers.number(ofTextAt: 2..<unknown.bytes.count, in: unknown) == nil)
    #expect(numbers.texts == ["film", "book", "game"])
  }
}
