import Tables
import Testing

private struct Pair: Comparable, Sendable {
  var value: UInt64
  var number: Int

  static func < (left: Pair, right: Pair) -> Bool {
    (left.value, left.number) < (right.value, right.number)
  }
}

@Suite struct SortedSetTests {
  @Test func aSetContainsEachElementOnce() {
    var set = SortedSet<String>()
    let inserted = ["b", "a", "b"].map { set.insert($0) }
    #expect(inserted == [true, true, false])
    #expect(Array(set) == ["a", "b"])
    #expect(set.first == "a")
    #expect(set.last == "b")
    let removed = ["a", "a"].map { set.remove($0) }
    #expect(removed == [true, false])
    #expect(set.count == 1)
    #expect(!set.isEmpty)
  }

  @Test func anIndexGivesTheNumbersOfOneValueInOrder() {
    var index = SortedSet<Pair>()
    for number in 0..<5_000 { index.insert(Pair(value: UInt64(number % 7), number: number)) }
    let part = index.elements(in: Pair(value: 3, number: 0)...Pair(value: 3, number: .max))
    #expect(part.map(\.number) == Array(stride(from: 3, to: 5_000, by: 7)))
    let empty = index.elements(in: Pair(value: 7, number: 0)..<Pair(value: 8, number: 0))
    #expect(empty.map(\.number) == [])
    let rest = index.elements(from: Pair(value: 6, number: 4_980))
    #expect(rest.map(\.number) == [4_983, 4_990, 4_997])
  }

  @Test func setsAreEqualWhenTheirElementsAre() throws {
    var set = try #require(SortedSet(sorted: 0..<1_000))
    let other = try #require(SortedSet(sorted: Array(0..<1_000)))
    #expect(set == other)
    set.remove(5)
    #expect(set != other)
    set.insert(1_000)
    #expect(set != other)
    set.remove(1_000)
    set.insert(5)
    #expect(set == other)
    #expect(SortedSet(sorted: [2, 1]) == nil)
  }
}
