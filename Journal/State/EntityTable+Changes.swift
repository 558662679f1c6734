import Tables

extension EntityTable {
  /// The entities whose records differ between another table and this one, in the order of their numbers.
  ///
  /// What the two share is skipped: O(d log n) for d changes when both have the same base, O(n) otherwise.
  package func changes(since other: EntityTable) -> [(number: Int, old: Row?, new: Row?)] {
    guard base === other.base else { return changesOfAll(since: other) }
    // What is above the base tells which entities can differ: each was written, deleted or brought back there.
    var numbers: Set<Int> = []
    for change in rows.changes(since: other.rows, by: { $0.record == $1.record }) {
      numbers.insert(change.key)
    }
    for change in deletions.changes(since: other.deletions) { numbers.insert(change.key) }
    return numbers.sorted().compactMap { number in
      let (old, new) = (other[number], self[number])
      return old?.record == new?.record ? nil : (number, old, new)
    }
  }

  /// Walks both tables side by side.
  private func changesOfAll(since other: EntityTable) -> [(number: Int, old: Row?, new: Row?)] {
    var changes: [(number: Int, old: Row?, new: Row?)] = []
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
