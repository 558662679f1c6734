extension Range<Int> {
  /// The partition point: the first number at which the predicate is true, or the upper bound if there is none. The
  /// predicate must be false for all numbers before, and true for all after.
  /// - Complexity: O(log n) calls
  @inline(__always)
  package func partitionPoint<Failure>(
    where holds: (Int) throws(Failure) -> Bool
  ) throws(Failure) -> Int {
    var (low, high) = (lowerBound, upperBound)
    while low < high {
      let middle = low + (high - low) / 2
      if try holds(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension Array {
  /// The partition point: the first index at which the predicate is true, or the end if there is none. The predicate
  /// must be false for all elements before, and true for all after.
  /// - Complexity: O(log n)
  @inline(__always)
  package func partitioningIndex(where holds: (Element) -> Bool) -> Int {
    indices.partitionPoint { holds(self[$0]) }
  }
}
