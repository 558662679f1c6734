import Tables
import Testing

@Suite struct TableTests {
  /// A table with the keys 0, 2, 4, …, each with its digits as the value.
  private func evens(_ count: Int) -> SortedTable<Int, String> {
    var table = SortedTable<Int, String>()
    for number in 0..<count { table.updateValue("\(number * 2)", forKey: number * 2) }
    return table
  }

  @Test func anEmptyTableHasNothing() {
    var table = SortedTable<Int, String>()
    #expect(table.isEmpty)
    #expect(table.count == 0)
    #expect(table[1] == nil)
    #expect(!table.contains(1))
    #expect(table.removeValue(forKey: 1) == nil)
    #expect(Array(table).isEmpty)
    #expect(Array(table.elements(from: 0)).isEmpty)
    #expect(Array(table.elements(in: 0...10)).isEmpty)
    table.checkInvariants()
  }

  @Test func anUpdateReturnsTheOldValue() {
    var table = SortedTable<String, Int>()
    #expect(table.updateValue(1, forKey: "a") == nil)
    #expect(table.updateValue(2, forKey: "a") == 1)
    #expect(table["a"] == 2)
    #expect(table.count == 1)
    #expect(table.removeValue(forKey: "a") == 2)
    #expect(table.isEmpty)
    table.checkInvariants()
  }

  @Test func aKeyIsNotMistakenForItsNeighbor() {
    let table = evens(5_000)
    for number in 0..<5_000 {
      #expect(table[number * 2] == "\(number * 2)")
      #expect(table[number * 2 + 1] == nil)
      #expect(!table.contains(number * 2 - 1))
    }
  }

  @Test func iterationIsInOrderAndEnds() {
    let table = evens(3_000)
    #expect(table.map(\.key) == (0..<3_000).map { $0 * 2 })
    var iterator = table.makeIterator()
    while iterator.next() != nil {}
    #expect(iterator.next() == nil)
    #expect(iterator.next() == nil)
  }

  @Test(arguments: [1, 31, 32, 33, 64, 65, 700, 3_000])
  func rangesOfElementsStartAndEndAtTheirBounds(count: Int) {
    let table = evens(count)
    let keys = table.map(\.key)
    let bounds = [
      -1, 0, 1, 62, 63, 64, 65, 127, 128, 129, 1_000, count * 2 - 2, count * 2 - 1, count * 2 + 5,
    ]
    for lower in bounds {
      #expect(table.elements(from: lower).map(\.key) == keys.filter { $0 >= lower })
      for upper in bounds where upper >= lower {
        #expect(table.elements(in: lower...upper).map(\.key) == keys.filter { (lower...upper) ~= $0 })
      }
    }
  }

  @Test func anIterationDoesNotSeeChangesToTheTable() {
    var table = evens(1_000)
    var seen: [Int] = []
    for (key, _) in table {
      seen.append(key)
      table.removeValue(forKey: key)
      table.updateValue("new", forKey: key + 1)
    }
    #expect(seen == (0..<1_000).map { $0 * 2 })
    #expect(table.map(\.key) == (0..<1_000).map { $0 * 2 + 1 })
    table.checkInvariants()
  }

  @Test func keysInsertedInAscendingOrderFillEveryLeaf() {
    let leaves = 300
    var table = SortedTable<Int, Int>()
    for key in 0..<(leaves * SortedTable<Int, Int>.leafCapacity) { table.updateValue(key, forKey: key) }
    // The fewest nodes possible: full leaves, and full branches above them.
    var row = leaves
    var nodes = row
    while row > 1 {
      row = (row + SortedTable<Int, Int>.branchCapacity - 1) / SortedTable<Int, Int>.branchCapacity
      nodes += row
    }
    #expect(table.nodeIdentities.count == nodes)
    table.checkInvariants()
  }

  @Test func aTableThatShrinksReleasesItsNodes() {
    var table = evens(20_000)
    #expect(table.height > 3)
    for key in table.map(\.key) where key % 1_000 != 0 { table.removeValue(forKey: key) }
    #expect(table.count == 40)
    #expect(table.nodeIdentities.count <= 5)
    table.checkInvariants()
    for key in table.map(\.key).reversed() { table.removeValue(forKey: key) }
    #expect(table.height == 0)
    table.checkInvariants()
  }

  @Test func keysInsertedInDescendingOrderAreSorted() {
    var table = SortedTable<Int, Int>()
    for key in stride(from: 10_000, to: 0, by: -1) { table.updateValue(key, forKey: key) }
    table.checkInvariants()
    #expect(table.map(\.key) == Array(1...10_000))
    for key in stride(from: 10_000, to: 0, by: -1) {
      #expect(table.removeValue(forKey: key) == key)
      if key % 97 == 0 { table.checkInvariants() }
    }
    #expect(table.isEmpty)
  }

  @Test(arguments: [0, 1, 32, 33, 512, 513, 10_000])
  func aTableBuiltFromSortedElementsEqualsOneBuiltByInsertion(count: Int) throws {
    let written = evens(count)
    var built = try #require(SortedTable(sorted: written))
    built.checkInvariants()
    #expect(built == written)
    built.updateValue("more", forKey: 1)
    built.updateValue("more", forKey: count * 2 + 1)
    built.checkInvariants()
    #expect(built.count == count + (count == 0 ? 1 : 2))
  }

  @Test func elementsOutOfOrderAreRefused() {
    #expect(SortedTable(sorted: [(key: 1, value: "a"), (key: 1, value: "b")]) == nil)
    #expect(SortedTable(sorted: [(key: 1, value: "a"), (key: 3, value: "b"), (key: 2, value: "c")]) == nil)
  }

  @Test func valuesOfAnyAlignmentAndSizeAreKept() {
    var wide = SortedTable<UInt8, SIMD4<Double>>()
    var empty = SortedTable<UInt8, Void>()
    var odd = SortedTable<UInt8, (UInt16, UInt8)>()
    for key in UInt8.min...UInt8.max {
      wide.updateValue(SIMD4(repeating: Double(key)), forKey: key)
      empty.updateValue((), forKey: key)
      odd.updateValue((UInt16(key) * 3, key), forKey: key)
    }
    wide.checkInvariants()
    #expect(wide.allSatisfy { $0.value == SIMD4(repeating: Double($0.key)) })
    #expect(empty.count == 256)
    #expect(odd.allSatisfy { $0.value == (UInt16($0.key) * 3, $0.key) })
  }

  @Test func everyValueIsReleasedOnce() {
    final class Counted: Sendable {
      let released: @Sendable () -> Void
      init(_ released: @escaping @Sendable () -> Void) { self.released = released }
      deinit { released() }
    }
    final class Counter: @unchecked Sendable { var count = 0 }
    // Used on this thread only.
    let counter = Counter()
    do {
      var table = SortedTable<Int, Counted>()
      for key in 0..<2_000 { table.updateValue(Counted { counter.count += 1 }, forKey: key * 7 % 2_000) }
      let held = table
      for key in 0..<1_500 { table.removeValue(forKey: key) }
      table.updateValue(Counted { counter.count += 1 }, forKey: 1_800)
      #expect(counter.count == 0)
      #expect(held.count == 2_000)
    }
    #expect(counter.count == 2_001)
  }
}
