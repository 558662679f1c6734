import Tables

/// Iterates over a base and a table of changes above it, in the order of keys.
///
/// 1. If both have a key, the element above counts.
/// 2. A hidden key of the base is skipped. No key is both hidden and above.
/// 3. Without a base nothing is read in advance, so this is as fast as iterating over the table above.
struct LayeredIterator<
  Below: IteratorProtocol, Key: Comparable & Sendable, Value: Sendable, Hidden: Sendable
>: IteratorProtocol
where Below.Element == (key: Key, value: Value) {
  private var below: Below?
  private var above: SortedTable<Key, Value>.Iterator
  /// The hidden keys; nil without a base.
  private var hidden: SortedTable<Key, Hidden>.Iterator?

  // The next element of each iterator; all nil without a base.
  private var nextBelow: (key: Key, value: Value)?
  private var nextAbove: (key: Key, value: Value)?
  private var nextHidden: Key?

  /// - Parameters:
  ///   - below: iterates over the base; nil without one.
  ///   - above: iterates over the changes, from the key at which `below` begins.
  ///   - hidden: iterates over the hidden keys, from the same key on.
  init(
    _ below: Below?, above: SortedTable<Key, Value>.Iterator,
    hidden: @autoclosure () -> SortedTable<Key, Hidden>.Iterator
  ) {
    self.above = above
    guard below != nil else { return }
    self.below = below
    self.hidden = hidden()
    nextAbove = self.above.next()
    nextHidden = self.hidden?.next()?.key
    stepBelow()
  }

  @inline(__always)
  mutating func next() -> (key: Key, value: Value)? {
    below == nil ? above.next() : nextOfBoth()
  }

  private mutating func nextOfBoth() -> (key: Key, value: Value)? {
    guard let upper = nextAbove else {
      defer { stepBelow() }
      return nextBelow
    }
    if let lower = nextBelow {
      if lower.key < upper.key {
        stepBelow()
        return lower
      }
      if lower.key == upper.key { stepBelow() }
    }
    nextAbove = above.next()
    return upper
  }

  /// Takes the next element of the base whose key is not hidden.
  private mutating func stepBelow() {
    nextBelow = below?.next()
    while let key = nextBelow?.key, isHidden(key) { nextBelow = below?.next() }
  }

  private mutating func isHidden(_ key: Key) -> Bool {
    while let next = nextHidden, next < key { nextHidden = hidden?.next()?.key }
    return nextHidden == key
  }
}
