import Tables

/// An entity that is there: its record, still encoded, and when it came and changed.
struct Row: Hashable, Sendable {
  let record: Record
  /// The revision that added it; for one that was deleted and brought back, the revision that did that.
  let created: Revision
  let modified: Revision
}

/// All entities of one kind, those that are gone included.
///
/// 1. A number stands in `rows` or in `deletions` or in neither, never in both.
/// 2. No number in them is above `highest`. A number up to `highest` that stands in neither was given in an
///    entry that deleted the entity again, or never reached the log.
struct EntityTable: Sendable {
  private(set) var rows = Table<Int, Row>()
  /// The revision of the newest deletion of each entity that is gone.
  private(set) var deletions = Table<Int, Revision>()
  /// The highest number that was ever given.
  private(set) var highest = 0

  var count: Int { rows.count }

  subscript(number: Int) -> Row? {
    @inline(__always) get { rows[number] }
  }

  /// The revision of an entity's newest event, 0 when it never was.
  func revision(of number: Int) -> Revision { rows[number]?.modified ?? deletions[number] ?? 0 }

  /// Whether `add` may be called: the number is new, or that of an entity that is gone.
  func canAdd(_ number: Int, previous: Revision) -> Bool {
    // Nearly always a number is the next one, and then no table need be searched.
    if number > highest { return number > 0 && previous == 0 }
    return deletions[number] == previous
  }

  mutating func add(_ number: Int, _ record: Record, at revision: Revision) {
    if number > highest { highest = number } else { deletions.removeValue(forKey: number) }
    rows.updateValue(Row(record: record, created: revision, modified: revision), forKey: number)
  }

  mutating func update(_ number: Int, to row: Row) { rows.updateValue(row, forKey: number) }

  mutating func delete(_ number: Int, at revision: Revision) {
    rows.removeValue(forKey: number)
    deletions.updateValue(revision, forKey: number)
  }

  /// Which of the invariants do not hold, in words.
  func problems(kind: String) -> [String] {
    var problems: [String] = []
    if let last = rows.last?.key, last > highest {
      problems.append("\(kind):\(last) is there, but no number above \(highest) was given")
    }
    for (number, _) in deletions where rows.contains(number) || number > highest {
      problems.append("\(kind):\(number) is listed as deleted, but it is there or never was")
    }
    return problems
  }
}
