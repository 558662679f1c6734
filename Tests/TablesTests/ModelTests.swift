import Tables
import TestSupport
import Testing

/// A dictionary and a sort: slow, and obviously right.
private struct Model<Key: Hashable & Comparable & Sendable> {
  var values: [Key: Int] = [:]

  var sorted: [(key: Key, value: Int)] { values.sorted { $0.key < $1.key } }

  func agrees(with table: SortedTable<Key, Int>) -> Bool {
    table.count == values.count && table.elementsEqual(sorted) { $0.key == $1.key && $0.value == $1.value }
  }
}

/// Writes at random to a table and to a model of it, keeping copies that must never change.
private func compareWithModel<Key: Hashable & Comparable & Sendable>(
  operations: Int, keys: Int, using generator: inout SeededGenerator, makeKey: (Int) -> Key
) {
  var table = SortedTable<Key, Int>()
  var model = Model<Key>()
  var held: [(table: SortedTable<Key, Int>, model: Model<Key>)] = []
  // Growing, shrinking and steady times take turns, so that nodes are split and merged at every level.
  var removals = 20
  for operation in 0..<operations {
    if operation % 5_000 == 0 { removals = [10, 75, 45].randomElement(using: &generator) ?? 10 }
    let key = makeKey(Int.random(in: 0..<keys, using: &generator))
    var agrees = true
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<removals:
      agrees = table.removeValue(forKey: key) == model.values.removeValue(forKey: key)
    case 99 where held.count < 6:
      held.append((table, model))
    case 99:
      held[Int.random(in: 0..<held.count, using: &generator)] = (table, model)
    default:
      agrees = table.updateValue(operation, forKey: key) == model.values.updateValue(operation, forKey: key)
    }
    // An expectation for each operation would take most of the time.
    if !agrees || table[key] != model.values[key] || table.count != model.values.count {
      Issue.record("operation \(operation), on \(key), had another result in the model")
      return
    }
    if operation % 2_500 == 0 {
      table.checkInvariants()
      compareParts(
        of: table, with: model, from: key, to: makeKey(Int.random(in: 0..<keys, using: &generator)))
    }
  }
  table.checkInvariants()
  #expect(model.agrees(with: table))
  for (heldTable, heldModel) in held {
    heldTable.checkInvariants()
    #expect(heldModel.agrees(with: heldTable))
    compareChanges(from: heldTable, heldModel, to: table, model)
    compareChanges(from: table, model, to: heldTable, heldModel)
  }
}

private func compareParts<Key>(
  of table: SortedTable<Key, Int>, with model: Model<Key>, from one: Key, to other: Key
) {
  let (lower, upper) = (min(one, other), max(one, other))
  let sorted = model.sorted.map(\.key)
  #expect(table.elements(from: lower).map(\.key) == sorted.filter { $0 >= lower })
  #expect(table.elements(in: lower...upper).map(\.key) == sorted.filter { $0 >= lower && $0 <= upper })
}

private func compareChanges<Key>(
  from old: SortedTable<Key, Int>, _ oldModel: Model<Key>, to new: SortedTable<Key, Int>,
  _ newModel: Model<Key>
) {
  let expected = Set(oldModel.values.keys).union(newModel.values.keys).sorted()
    .filter { oldModel.values[$0] != newModel.values[$0] }
  let changes = Array(new.changes(since: old))
  #expect(changes.map(\.key) == expected)
  #expect(changes.allSatisfy { $0.old == oldModel.values[$0.key] && $0.new == newModel.values[$0.key] })
  #expect((old == new) == expected.isEmpty)
}

@Suite struct ModelTests {
  @Test func aTableBehavesLikeASortedDictionary() {
    var generator = SeededGenerator()
    for keys in [50, 2_000, 12_000] {
      compareWithModel(operations: 40_000, keys: keys, using: &generator) { $0 }
    }
  }

  @Test func aTableOfStringsBehavesLikeASortedDictionary() {
    var generator = SeededGenerator()
    compareWithModel(operations: 30_000, keys: 5_000, using: &generator) {
      "a key too long to be kept in place: \($0)"
    }
  }

  @Test func ascendingKeysAreKeptWhileOldOnesAreRemoved() {
    var generator = SeededGenerator()
    var table = SortedTable<Int, Int>()
    var model = Model<Int>()
    for next in 0..<30_000 {
      table.updateValue(next, forKey: next)
      model.values[next] = next
      // Sometimes at the left end, sometimes just behind the newest.
      let gone = Bool.random(using: &generator) ? next / 2 : next - Int.random(in: 0..<200, using: &generator)
      #expect(table.removeValue(forKey: gone) == model.values.removeValue(forKey: gone))
      if next % 500 == 0 { table.checkInvariants() }
    }
    table.checkInvariants()
    #expect(model.agrees(with: table))
  }
}
