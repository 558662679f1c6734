import Tables

extension EntityTable {
  /// The entities whose records differ between another table and this one, in the order of their numbers.
  ///
  /// - Complexity: O(d log n) for d changes if both tables have the same base, or if layers lead from one base to the
  ///   other; d then includes all entities in those layers. O(n) otherwise.
  package func changes(since other: EntityTable) -> [(number: Int, old: EntityRow?, new: EntityRow?)] {
    guard distance(to: other) != nil else { return changesOfAll(since: other) }
    // Only entities in `rows`, in `deletions`, or in the layers between the two bases can differ.
    var numbers: Set<Int> = []
    if base === other.base {
      for change in rows.changes(since: other.rows, by: { $0.record == $1.record }) {
        numbers.insert(change.key)
      }
      for change in deletions.changes(since: other.deletions) { numbers.insert(change.key) }
    } else if let base, let otherBase = other.base {
      numbers = base.numbers(changedSince: otherBase)
      for table in [self, other] {
        numbers.formUnion(table.rows.lazy.map(\.key))
        numbers.formUnion(table.deletions.lazy.map(\.key))
      }
    }
    return numbers.sorted().compactMap { number in
      let (old, new) = (other[number], self[number])
      return old?.record == new?.record ? nil : (number, old, new)
    }
  }

  /// About how many events lead from one table to another, 0 for a copy; nil if only reading all of both can tell how
  /// they differ.
  package func distance(to other: EntityTable) -> Int? {
    if base === other.base { return abs(changeCount - other.changeCount) }
    guard let base, let otherBase = other.base, let distance = base.distance(to: otherBase) else {
      return nil
    }
    return distance + changeCount + other.changeCount
  }

  private func changesOfAll(since other: EntityTable) -> [(number: Int, old: EntityRow?, new: EntityRow?)] {
    var changes: [(number: Int, old: EntityRow?, new: EntityRow?)] = []
    var (olds, news) = (other.makeIterator(), makeIterator())
    var (old, new) = (olds.next(), news.next())
    while old != nil || new != nil {
      let number = Swift.min(old?.number ?? .max, new?.number ?? .max)
      let before = old?.number == number ? old?.row : nil
      let after = new?.number == number ? new?.row : nil
      if before?.record != after?.record { changes.append((number, before, after)) }
      if before != nil { old = olds.next() }
      if after != nil { new = news.next() }
    }
    return changes
  }
}
