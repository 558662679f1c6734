extension SortedTable {
  /// Makes a table of elements; nil if their keys are not strictly ascending.
  ///
  /// O(n), without a search: nodes are filled one after the other, from the leaves up.
  @inlinable
  public init?(sorted elements: some Sequence<Element>) {
    self.init()
    var leaves: [(smallest: Key, node: TableNode)] = []
    var leaf = TableNode.make(level: 0)
    for (key, value) in elements {
      if leaf.count > 0 {
        guard leaf.key(at: leaf.count - 1) < key else { return nil }
        if leaf.count == leaf.slots {
          leaves.append((leaf.key(at: 0), leaf))
          leaf = TableNode.make(level: 0)
        }
      }
      leaf.insert(key, value, at: leaf.count)
      elementCount += 1
    }
    guard leaf.count > 0 else { return }
    leaves.append((leaf.key(at: 0), leaf))
    root = Self.tree(over: leaves)
  }

  /// Makes a tree over nodes of one level. `smallest` is the key that separates a node from the one before it.
  @inlinable
  static func tree(over nodes: [(smallest: Key, node: TableNode)]) -> TableNode {
    var row = nodes
    while row.count > 1 {
      let level = row[0].node.level + 1
      precondition(
        level <= Path.maximumLevel, "Too many elements for one table. Divide them among several tables.")
      var above: [(smallest: Key, node: TableNode)] = []
      above.reserveCapacity(row.count / TableNode.branchCapacity + 1)
      for (smallest, node) in row {
        if let parent = above.last?.node, parent.count < parent.slots {
          parent.append(node, separator: smallest)
        } else {
          let parent = TableNode.make(level: level)
          parent.append(node, separator: nil)
          above.append((smallest, parent))
        }
      }
      row = above
    }
    return row[0].node
  }
}
