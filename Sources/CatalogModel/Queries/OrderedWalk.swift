import CBOR

/// Iterates over the index of the first sort key.
struct OrderedWalk {
  private(set) var numbers: [Int] = []
  private var lines: QueryIndex.Lines
  private let conditions: [Condition]
  private let orders: [QueryOrder]
  /// The items that are equal by the first sort key, to be sorted by the others.
  private var equals: [(number: Int, keys: [ValueKey])] = []
  private var key: ValueKey?

  /// Nil if there is no sort key, or the first one has no index.
  init?(_ plan: QueryPlan, _ conditions: [Condition], _ indexes: Indexes) {
    guard let first = plan.orders.first, let index = indexes[first.path] else { return nil }
    // A condition on the same property gives the range to walk, and every line in it fulfils the condition.
    let place = conditions.firstIndex { condition in
      if case .value(first.path, let range) = condition { !range.lower.isElement } else { false }
    }
    var range = ValueRange.all
    var rest = conditions
    if let place, case .value(_, let found) = rest.remove(at: place) { range = found }
    self.conditions = rest
    orders = Array(plan.orders.dropFirst())
    lines = index.lines(in: range, reversed: first.isDescending)
  }

  /// Reads this many more lines, and returns whether it has found as many numbers as needed, or all.
  mutating func walk(_ steps: Int, in catalog: Catalog, until needed: Int) -> Bool {
    for _ in 0..<steps {
      guard let line = lines.next() else {
        settle()
        return true
      }
      if !orders.isEmpty, line.key != key {
        settle()
        key = line.key
      }
      if numbers.count >= needed { return true }
      if conditions.isEmpty && orders.isEmpty {
        numbers.append(line.member)
        continue
      }
      guard let record = catalog.itemTable[line.member]?.record,
        conditions.allSatisfy({ $0.holds(for: record) })
      else { continue }
      if orders.isEmpty {
        numbers.append(line.member)
      } else {
        equals.append((line.member, orders.map { record.key(at: $0.path) }))
      }
    }
    return false
  }

  private mutating func settle() {
    if equals.isEmpty { return }
    equals.sort { left, right in
      orders.isBefore((left.keys, left.number), (right.keys, right.number))
    }
    numbers.append(contentsOf: equals.map(\.number))
    equals = []
  }
}
