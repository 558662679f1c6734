// Bases in memory. When the file under a state can't be read any more, they take its place.

/// The entities of a table as it was, found by bisection in arrays.
package final class FrozenEntities: EntityBase {
  private let numbers: [Int]
  private let rows: [Row]
  private let deletions: [(number: Int, revision: Revision)]

  /// Takes all entities of a table. O(n) in time and memory.
  package init(_ table: EntityTable) {
    var numbers: [Int] = []
    var rows: [Row] = []
    numbers.reserveCapacity(table.count)
    rows.reserveCapacity(table.count)
    for (number, row) in table {
      numbers.append(number)
      rows.append(row)
    }
    self.numbers = numbers
    self.rows = rows
    deletions = Array(table.goneEntities)
  }

  package var count: Int { numbers.count }

  package func row(_ number: Int) -> Row? {
    let position = position(of: number)
    return position < count && numbers[position] == number ? rows[position] : nil
  }

  package func revision(of number: Int) -> Revision {
    if let row = row(number) { return row.modified }
    let position = countBefore(deletions.count) { deletions[$0].number < number }
    guard position < deletions.count, deletions[position].number == number else { return 0 }
    return deletions[position].revision
  }

  package func position(of number: Int) -> Int { countBefore(count) { numbers[$0] < number } }

  package func row(at position: Int) -> (number: Int, row: Row)? { (numbers[position], rows[position]) }

  package var deletionCount: Int { deletions.count }

  package func deletion(at position: Int) -> (number: Int, revision: Revision)? { deletions[position] }

  package var failure: JournalError? { nil }
}

/// The lines of an index as it was, in an array.
package final class FrozenIndex: IndexBase {
  private let keys: [IndexKey]

  /// Takes all lines of an index. O(n) in time and memory.
  package init(_ index: EntityIndex) {
    var keys: [IndexKey] = []
    keys.reserveCapacity(index.count)
    for key in index.lines { keys.append(key) }
    self.keys = keys
  }

  package var count: Int { keys.count }

  package func contains(_ key: IndexKey) -> Bool {
    let position = position(of: key)
    return position < count && keys[position] == key
  }

  package func position(of key: IndexKey) -> Int { countBefore(count) { keys[$0] < key } }

  package func key(at position: Int) -> IndexKey? { keys[position] }
}

extension StateParts {
  /// The same parts, their entities and lines in arrays in memory, below tables without changes. O(n).
  package func frozen() -> StateParts {
    StateParts(
      tables: tables.map {
        EntityTable(base: FrozenEntities($0), highest: $0.highest, erased: $0.erasedNumbers)
      },
      indexes: indexes.map { ($0.name, EntityIndex(base: FrozenIndex($0.index))) }, lists: lists)
  }
}

/// How many of the first `count` positions fulfil a condition that none fulfils behind the first that does not.
private func countBefore(_ count: Int, where isBefore: (Int) -> Bool) -> Int {
  var (low, high) = (0, count)
  while low < high {
    let middle = low + (high - low) / 2
    if isBefore(middle) { low = middle + 1 } else { high = middle }
  }
  return low
}
