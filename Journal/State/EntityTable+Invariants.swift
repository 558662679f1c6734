extension EntityTable {
  /// Which of the invariants do not hold, in words. O(n).
  /// - Parameter kind: what an entity of this table is called.
  package func problems(kind: String) -> [String] {
    var problems: [String] = []
    var counted = 0
    var last = 0
    for (number, _) in self {
      counted += 1
      if number <= last { problems.append("\(kind):\(number) stands out of order, behind \(last)") }
      last = number
    }
    if last > highest {
      problems.append("\(kind):\(last) is there, but no number above \(highest) was given")
    }
    if counted != count {
      problems.append("\(counted) entities of the kind \(kind) are there, but \(count) are counted")
    }
    counted = 0
    var erased = 0
    for (number, _, isErased) in goneEntities {
      counted += 1
      if isErased { erased += 1 }
      if self[number] != nil || number > highest {
        problems.append("\(kind):\(number) is listed as deleted, but it is there or never was")
      }
    }
    if counted != deletionCount {
      problems.append("\(counted) entities of the kind \(kind) are gone, but \(deletionCount) are counted")
    }
    if erased != erasedCount {
      problems.append("\(erased) entities of the kind \(kind) are erased, but \(erasedCount) are counted")
    }
    return problems
  }
}
