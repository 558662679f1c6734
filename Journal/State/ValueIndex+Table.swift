// Updates an index from a table of entities, for a model that reads keys from records.
extension ValueIndex {
  /// Builds the index of a table on the values at a path of its records.
  /// - Parameters:
  ///   - isListed: whether an entity with that record is in the index.
  ///   - progress: called regularly with the number of entities that were read.
  /// - Complexity: O(n log n) in the entities of the table.
  package init(
    _ table: EntityTable, at path: AttributePath, where isListed: (EntityRecord) -> Bool,
    progress: (_ done: Int) -> Void = { _ in }
  ) {
    var lines: [ValueLine] = []
    var done = 0
    for (number, row) in table {
      if isListed(row.record) {
        row.record.forEachKey(at: path) { lines.append(ValueLine(key: $0, member: number)) }
      }
      done += 1
      if done % 4096 == 0 { progress(done) }
    }
    self.init(lines)
    progress(done)
  }

  /// Changes the index of one table into that of another.
  /// - Complexity: that of finding the differences between the two, and O(log n) for each.
  package mutating func follow(
    from old: EntityTable, to new: EntityTable, at path: AttributePath, where isListed: (EntityRecord) -> Bool
  ) {
    for (number, old, new) in new.changes(since: old) {
      if let old, isListed(old.record) { remove(number, old.record, at: path) }
      if let new, isListed(new.record) { insert(number, new.record, at: path) }
    }
  }
}
