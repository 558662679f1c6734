import Locks
import Tables
import Testing

/// A key that counts how often keys are compared.
private struct CountingKey: Comparable, Sendable {
  static let comparisons = Lock(0)
  let number: Int

  static func < (left: CountingKey, right: CountingKey) -> Bool {
    comparisons.withLock { $0 += 1 }
    return left.number < right.number
  }

  static func == (left: CountingKey, right: CountingKey) -> Bool {
    comparisons.withLock { $0 += 1 }
    return left.number == right.number
  }

  /// The number of comparisons that `body` makes. Only one test at a time may call this.
  static func count(_ body: () -> Void) -> Int {
    comparisons.withLock { $0 = 0 }
    body()
    return comparisons.withLock { $0 }
  }
}

@Suite(.serialized) struct SharingTests {
  private func table(_ count: Int) -> SortedTable<Int, Int> {
    var table = SortedTable<Int, Int>()
    for key in 0..<count { table.updateValue(key, forKey: key * 10) }
    return table
  }

  @Test func aWriteToACopyCopiesOnePath() {
    let original = table(50_000)
    let before = original.nodeIdentities
    var written = original
    written.updateValue(-1, forKey: 250_000)
    #expect(written.nodeIdentities.subtracting(before).count == original.height)
    var inserted = original
    inserted.updateValue(-1, forKey: 250_001)
    // A full leaf, and perhaps full branches, are split into two.
    #expect(inserted.nodeIdentities.subtracting(before).count <= 2 * original.height + 1)
    var removed = original
    removed.removeValue(forKey: 250_000)
    #expect(removed.nodeIdentities.subtracting(before).count == original.height)
    #expect(original.nodeIdentities == before)
    #expect(original == table(50_000))
  }

  @Test func aSecondWriteOnTheSamePathCopiesNothing() {
    let original = table(50_000)
    var written = original
    written.updateValue(-1, forKey: 250_000)
    let once = written.nodeIdentities
    written.updateValue(-2, forKey: 250_000)
    written.updateValue(-3, forKey: 250_010)
    #expect(written.nodeIdentities == once)
    #expect(original[250_000] == 25_000)
  }

  @Test func aTableHeldOnceIsChangedInPlace() {
    var only = table(50_000)
    let before = only.nodeIdentities
    for key in stride(from: 0, to: 500_000, by: 130) { only.updateValue(-1, forKey: key) }
    for key in stride(from: 0, to: 500_000, by: 5_000) { only.removeValue(forKey: key) }
    #expect(only.nodeIdentities == before)
  }

  @Test func removingAnAbsentKeyCopiesNothing() {
    let original = table(50_000)
    var copy = original
    copy.removeValue(forKey: 250_001)
    #expect(copy.nodeIdentities == original.nodeIdentities)
  }

  @Test func aDroppedCopyLeavesThePathUnshared() {
    var only = table(50_000)
    do {
      let copy = only
      #expect(copy.count == only.count)
    }
    let before = only.nodeIdentities
    only.updateValue(-1, forKey: 250_000)
    #expect(only.nodeIdentities == before)
  }

  @Test func changesAreFoundWithoutAWalkOverSharedNodes() {
    let old = table(100_000)
    var new = old
    let nodes = old.nodeIdentities.count
    for key in [0, 333_330, 999_990] { new.updateValue(-1, forKey: key) }
    new.updateValue(-1, forKey: 555_555)
    new.removeValue(forKey: 777_770)
    for key in 100_000..<100_100 { new.updateValue(key, forKey: key * 10) }
    var changes = new.changes(since: old).makeIterator()
    var found = 0
    while changes.next() != nil { found += 1 }
    #expect(found == 105)
    // A path in each tree for the six places, and the nodes next to them that were split or mended.
    #expect(changes.visitedNodes <= 6 * 2 * 3 * (old.height + 1))
    #expect(changes.visitedNodes < nodes / 5)
  }

  @Test func comparingATableWithItsCopyVisitsNoNode() {
    let original = table(10_000)
    let copy = original
    var changes = copy.changes(since: original).makeIterator()
    #expect(changes.next() == nil)
    #expect(changes.visitedNodes == 0)
  }

  @Test func theChangesSinceAnEmptyTableAreAllElements() {
    let original = table(1_000)
    let added = Array(original.changes(since: SortedTable()))
    #expect(added.map(\.key) == original.map(\.key))
    #expect(added.allSatisfy { $0.old == nil && $0.new == $0.key / 10 })
    let removed = Array(SortedTable().changes(since: original))
    #expect(removed.map(\.key) == original.map(\.key))
    #expect(removed.allSatisfy { $0.old == $0.key / 10 && $0.new == nil })
  }

  @Test func changesAreJudgedByTheGivenEquality() {
    let old = table(1_000)
    var new = old
    new.updateValue(-5, forKey: 50)
    new.updateValue(7, forKey: 60)
    #expect(Array(new.changes(since: old, by: { abs($0) == abs($1) })).map(\.key) == [60])
  }

  @Test func searchesCompareALogarithmOfKeys() {
    var table = SortedTable<CountingKey, Int>()
    for number in 0..<100_000 { table.updateValue(number, forKey: CountingKey(number: number)) }
    // At each level the last key, every eighth key and then eight more; in the end whether the key is equal.
    let perLevel = 17
    for number in stride(from: 0, to: 100_000, by: 9_973) {
      let key = CountingKey(number: number)
      #expect(CountingKey.count { _ = table[key] } <= perLevel * table.height + 1)
      #expect(CountingKey.count { table.updateValue(0, forKey: key) } <= perLevel * table.height + 1)
      let scan = CountingKey.count {
        for _ in table.elements(from: key).prefix(10) {}
      }
      #expect(scan <= perLevel * table.height + 1)
    }
    #expect(table.height <= 5)
    let behind = CountingKey(number: 100_000)
    #expect(CountingKey.count { table.updateValue(0, forKey: behind) } <= table.height + 1)
  }

  @Test func aPartThatEndsInALeafDoesNotReadTheNext() {
    var table = SortedTable<CountingKey, Int>()
    for number in 0..<10_000 { table.updateValue(number, forKey: CountingKey(number: number)) }
    let start = SortedTable<CountingKey, Int>.leafCapacity * 20 + 10
    let (lower, upper) = (CountingKey(number: start), CountingKey(number: start + 20))
    let open = CountingKey.count {
      for _ in table.elements(from: lower).prefix(20) {}
    }
    let closed = CountingKey.count {
      for _ in table.elements(in: lower...upper) {}
    }
    // One more search, in one leaf, and whether it found the last key; making the range compares its bounds.
    #expect(closed - open <= 17 + 2)
  }

  @Test func copiesAreWrittenOnSeveralThreads() async {
    let original = table(20_000)
    let counts = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask {
          var copy = original
          for key in 0..<5_000 { copy.updateValue(task, forKey: key * 10 + task + 1) }
          for key in stride(from: 0, to: 20_000, by: 3) { copy.removeValue(forKey: key * 10) }
          copy.checkInvariants()
          return copy.count
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(counts == Array(repeating: 20_000 + 5_000 - 6_667, count: 8))
    #expect(original == table(20_000))
  }
}
