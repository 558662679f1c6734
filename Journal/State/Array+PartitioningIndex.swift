extension Array {
  /// The partition point: the first index at which the predicate is true. It must be false before and true after.
  /// - Complexity: O(log n)
  @inline(__always)
  package func partitioningIndex(where holds: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = low + (high - low) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
