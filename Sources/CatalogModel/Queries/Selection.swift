package import CBOR

/// Takes items one by one, and selects the first ones in the order of the sort keys.
package struct Selection {
  private let orders: [QueryOrder]
  private let needed: Int
  private var numbers: [Int] = []
  private var sorted: [(keys: [ValueKey], number: Int)] = []
  /// The last selected item as of the most recent sort. No item after it can be selected.
  private var bound: (keys: [ValueKey], number: Int)?

  package init(_ orders: [QueryOrder], needed: Int) {
    self.orders = orders
    self.needed = needed
  }

  /// Takes an item, and returns false if no further item can be selected.
  mutating func take(_ number: Int, _ record: EntityRecord) -> Bool {
    let orders = orders
    return take(number) { orders.map { record.key(at: $0.path) } }
  }

  /// Takes an item with its values by the sort keys. Returns false if no further item can be selected.
  package mutating func take(_ number: Int, keys: () -> [ValueKey]) -> Bool {
    if orders.isEmpty {
      numbers.append(number)
      return numbers.count < needed
    }
    let candidate = (keys: keys(), number: number)
    if let bound, orders.isBefore(bound, candidate) { return true }
    sorted.append(candidate)
    // If few items are needed, up to twice as many are kept. Then they are sorted, and the second half is dropped.
    if needed <= Self.boundedCount, sorted.count >= 2 * Swift.max(needed, 512) { sort() }
    return true
  }

  private static let boundedCount = 1 << 20

  private mutating func sort() {
    sorted.sort { orders.isBefore($0, $1) }
    if sorted.count > needed { sorted.removeLast(sorted.count - needed) }
    if sorted.count == needed { bound = sorted.last }
  }

  package mutating func finish() -> [Int] {
    if orders.isEmpty { return numbers }
    sort()
    return sorted.map(\.number)
  }
}

extension [QueryOrder] {
  /// Whether one item comes before another, by their sort keys and then by number.
  func isBefore(
    _ left: (keys: [ValueKey], number: Int), _ right: (keys: [ValueKey], number: Int)
  ) -> Bool {
    for index in indices where left.keys[index] != right.keys[index] {
      return (left.keys[index] < right.keys[index]) != self[index].isDescending
    }
    return (left.number < right.number) != (last?.isDescending ?? false) && left.number != right.number
  }
}
