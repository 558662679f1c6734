import Tables

extension EntityTable {
  /// The entities whose records differ between another table and this one, in the order of their numbers.
  ///
  /// - Complexity: O(d log n) for d changes if both tables have the same base, or if layers lead from one base to the
  ///   other; d then includes all entities in those layers. O(n) otherwise.
  package func changes(since other: EntityTable) -> [(number: Int, old: EntityRow?, new: EntityRow?)] {
    guard let numbers = numbers(changedSince: other) else { return changesOfAll(since: other) }
    return numbers.sorted().compactMap { number in
      let (old, new) = (other[number], self[number])
      return old?.record == new?.record ? nil : (number, old, new)
    }
  }

  /// The numbers of all entities that may differ between another table and this one, also in their revisions; nil if
  /// only reading all of both can tell.
  /// - Parameter revision: that of the other table, if this one is of a later revision of the same history. Entities
  ///   without newer events are then left out.
  package func numbers(changedSince other: EntityTable, of revision: Revision? = nil) -> Set<Int>? {
    guard distance(to: other) != nil else { return nil }
    // Only entities in `rows`, `deletions` or `deferred`, or in the layers between the two bases can differ.
    var numbers: Set<Int> = []
    if base === other.base {
      for change in rows.changes(since: other.rows, by: ==) { numbers.insert(change.key) }
      for change in deletions.changes(since: other.deletions) { numbers.insert(change.key) }
    } else if let base, let otherBase = other.base {
      numbers = base.numbers(changedSince: otherBase)
      for table in [self, other] {
        numbers.formUnion(table.rows.lazy.map(\.key))
        numbers.formUnion(table.deletions.lazy.map(\.key))
      }
      if let revision { numbers = numbers.filter { self.revision(of: $0) > revision } }
    }
    for table in [self, other] { numbers.formUnion(table.deferred.map { Array($0.keys) } ?? []) }
    return numbers
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

  /// Whether two tables have equal changes above the same base. O(1) for a copy.
  package func isEqual(to other: EntityTable) -> Bool {
    base === other.base && deferred == nil && other.deferred == nil && rows == other.rows
      && deletions == other.deletions
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
