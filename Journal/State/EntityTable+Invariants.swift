extension EntityTable {
  /// The invariants that do not hold, in words. O(n).
  /// - Parameter kind: the name of this table's kind.
  package func problems(kind: String) -> [String] {
    var problems: [String] = []
    var counted = 0
    var last = 0
    for (number, _) in self {
      counted += 1
      if number <= last { problems.append("\(kind):\(number) is out of order, after \(last)") }
      last = number
    }
    if last > highest {
      problems.append("\(kind):\(last) exists, but no number above \(highest) was assigned")
    }
    if counted != count {
      problems.append("\(counted) entities of the kind \(kind) exist, but \(count) are counted")
    }
    counted = 0
    var erased = 0
    for (number, _, isErased) in goneEntities {
      counted += 1
      if isErased { erased += 1 }
      if self[number] != nil || number > highest {
        problems.append("\(kind):\(number) is listed as deleted, but it exists or never existed")
      }
    }
    if counted != deletionCount {
      problems.append("\(counted) entities of the kind \(kind) are deleted, but \(deletionCount) are counted")
    }
    if erased != erasedCount {
      problems.append("\(erased) entities of the kind \(kind) are erased, but \(erasedCount) are counted")
    }
    let bytes = rows.reduce(0) { $0 + $1.value.record.bytes.count }
    if bytes != rowByteCount {
      problems.append(
        "the changed records of the kind \(kind) have \(bytes) bytes, but \(rowByteCount) are counted")
    }
    return problems
  }
}
