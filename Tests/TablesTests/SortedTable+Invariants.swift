@testable import Tables

extension SortedTable {
  /// Checks the invariants of the tree that `SortedTable` lists, and ends the process if one does not hold. O(n).
  func checkInvariants() {
    guard let root else {
      precondition(count == 0, "a table without a root counts \(count) elements")
      return
    }
    precondition(root.level == 0 || root.count > 1, "a root branch has a single child")
    let elements = root.checkInvariants(from: nil, to: nil, isLast: true)
    precondition(elements == count, "\(elements) elements, but a count of \(count)")
    var previous: Key?
    for (key, _) in self {
      if let previous { precondition(previous < key, "iteration gives \(key) after \(previous)") }
      previous = key
    }
  }

  /// The identities of all nodes: two tables share those that are in both. O(n).
  var nodeIdentities: Set<ObjectIdentifier> {
    var identities: Set<ObjectIdentifier> = []
    var remaining = root.map { [$0] } ?? []
    while let node = remaining.popLast() {
      identities.insert(ObjectIdentifier(node))
      if node.level > 0 { remaining += (0..<node.count).map { node.child(at: $0) } }
    }
    return identities
  }

  /// The levels of the tree, leaves included; 0 when it is empty.
  var height: Int { root.map { $0.level + 1 } ?? 0 }

  /// Elements that fit in a leaf.
  static var leafCapacity: Int { TableNode.leafCapacity }

  /// Children that fit in a branch.
  static var branchCapacity: Int { TableNode.branchCapacity }
}

extension Node {
  /// Checks this node and all below it, whose keys must be in a range, and counts the elements.
  func checkInvariants(from lower: Key?, to upper: Key?, isLast: Bool) -> Int {
    precondition(count <= slots, "a node of \(slots) holds \(count)")
    precondition(count >= (isLast ? 1 : minimum), "a node of \(slots) holds only \(count)")
    let keyCount = level == 0 ? count : count - 1
    for index in 0..<keyCount {
      let key = unsafe keys[index]
      if index > 0 { unsafe precondition(keys[index - 1] < key, "\(key) is not ascending") }
      if let lower { precondition(lower <= key, "\(key) is after \(lower)") }
      if let upper { precondition(key < upper, "\(key) is before \(upper)") }
    }
    guard level > 0 else { return count }
    var elements = 0
    for index in 0..<count {
      let child = child(at: index)
      precondition(child.level == level - 1, "a child of level \(child.level) under level \(level)")
      elements += child.checkInvariants(
        from: index > 0 ? key(at: index - 1) : lower,
        to: index < keyCount ? key(at: index) : upper,
        isLast: isLast && index == count - 1)
    }
    return elements
  }
}
