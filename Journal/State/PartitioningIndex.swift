extension Array {
  /// The first index at which a predicate holds that is false before it and true from it on.
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
