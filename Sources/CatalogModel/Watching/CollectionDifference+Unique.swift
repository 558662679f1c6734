import Journaling

extension CollectionDifference where ChangeElement: Hashable {
  /// The difference between two arrays of unique elements, with the fewest moves. A repeated element counts once: only
  /// the index of a forged layer can repeat one.
  ///
  /// The standard library's algorithm takes time proportional to the length times the number of changes, which is
  /// minutes for a long list that is reversed. Here, the longest common increasing subsequence stays in place, and is
  /// found by binary search.
  /// - Complexity: O(n log n)
  static func between(_ old: [ChangeElement], and new: [ChangeElement]) -> CollectionDifference {
    let (old, new) = (unique(old), unique(new))
    let oldPlaces = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1, $0) })
    let newPlaces = Dictionary(uniqueKeysWithValues: new.enumerated().map { ($1, $0) })
    let kept = longestRise(of: new.compactMap { oldPlaces[$0] })
    var changes: [Change] = []
    for (offset, element) in old.enumerated() where !kept.contains(offset) {
      changes.append(.remove(offset: offset, element: element, associatedWith: newPlaces[element]))
    }
    for (offset, element) in new.enumerated() where oldPlaces[element].map({ kept.contains($0) }) != true {
      changes.append(.insert(offset: offset, element: element, associatedWith: oldPlaces[element]))
    }
    guard let difference = CollectionDifference(changes) else {
      preconditionFailure("The results of a query are not unique.")
    }
    return difference
  }

  private static func unique(_ elements: [ChangeElement]) -> [ChangeElement] {
    var known: Set<ChangeElement> = []
    return elements.filter { known.insert($0).inserted }
  }

  /// The longest increasing subsequence of an array of distinct numbers.
  private static func longestRise(of numbers: [Int]) -> Set<Int> {
    // For each length, the index of the least number that an increasing subsequence of that length ends with.
    var ends: [Int] = []
    var previous: [Int?] = []
    for (index, number) in numbers.enumerated() {
      let place = ends.partitioningIndex { numbers[$0] >= number }
      previous.append(place > 0 ? ends[place - 1] : nil)
      if place == ends.count { ends.append(index) } else { ends[place] = index }
    }
    var rise: Set<Int> = []
    var next = ends.last
    while let index = next {
      rise.insert(numbers[index])
      next = previous[index]
    }
    return rise
  }
}
