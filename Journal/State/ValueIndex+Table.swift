import Tables

// Updates an index from a table of entities, for a model that reads keys from records.
extension ValueIndex {
  /// Builds the index of a table, from the table's layers if they have the index.
  /// - Parameter progress: called regularly with the number of entities that were read.
  /// - Complexity: O(n log n) in the entities of the table, or O(n) if the layers have the index.
  package init(
    _ table: EntityTable, _ definition: IndexDefinition, progress: (_ done: Int) -> Void = { _ in }
  ) {
    if let layered = LayeredIndex(table, definition) {
      self = layered.inMemory()
    } else {
      self.init(scanning: table, definition, progress: progress)
    }
    progress(table.count)
  }

  /// Builds the index of a table from the records of all entities. O(n log n).
  package init(
    scanning table: EntityTable, _ definition: IndexDefinition, progress: (_ done: Int) -> Void = { _ in }
  ) {
    var lines: [ValueLine] = []
    for (done, entity) in table.enumerated() {
      definition.forEachLine(of: entity.number, entity.row.record) { lines.append($0) }
      if done % 4096 == 4095 { progress(done + 1) }
    }
    self.init(lines)
  }

  /// Builds the index of those entities of a table that were added or changed above its layers.
  package init(aboveBaseOf table: EntityTable, _ definition: IndexDefinition) {
    var lines: [ValueLine] = []
    for (number, row) in table.rows { definition.forEachLine(of: number, row.record) { lines.append($0) } }
    for number in table.deferred?.keys ?? [:].keys {
      if let row = table[number] { definition.forEachLine(of: number, row.record) { lines.append($0) } }
    }
    self.init(lines)
  }

  /// Updates this index from an old table to a new one.
  /// - Complexity: that of finding the differences between the tables, and O(log n) for each difference.
  package mutating func follow(from old: EntityTable, to new: EntityTable, _ definition: IndexDefinition) {
    for (number, old, new) in new.changes(since: old) {
      if let old { definition.forEachLine(of: number, old.record) { remove($0) } }
      if let new { definition.forEachLine(of: number, new.record) { insert($0) } }
    }
  }
}
