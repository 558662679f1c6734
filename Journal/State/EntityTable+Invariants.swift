extension EntityTable {
  /// The invariants that do not hold, in words. O(n).
  /// - Parameter kind: the name of this table's kind.
  package func problems(kind: String) -> [String] {
    var problems: [String] = []
    func compare(_ found: Int, _ counted: Int, _ what: String) {
      guard found != counted else { return }
      problems.append("\(found) entities of the kind \(kind) \(what), but \(counted) are counted")
    }
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
    compare(counted, count, "exist")
    counted = 0
    var erased = 0
    for (number, _, isErased) in goneEntities {
      counted += 1
      if isErased { erased += 1 }
      if self[number] != nil || number > highest {
        problems.append("\(kind):\(number) is listed as deleted, but it exists or never existed")
      }
    }
    compare(counted, totals.deletionCount, "are deleted")
    compare(erased, totals.erasedCount, "are erased")
    let bytes = rows.reduce(0) { $0 + $1.value.record.bytes.count }
    if bytes != rowByteCount {
      problems.append(
        "the changed records of the kind \(kind) have \(bytes) bytes, but \(rowByteCount) are counted")
    }
    return problems
  }
}
