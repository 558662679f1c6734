/// The sources of a merge by the next key of each: the lowest first and, of equal ones, the first source.
///
/// A layer that has collected many checkpoints is written from as many sources, so a merge can't look at all of them for
/// each key.
struct SourceHeap<Key: Comparable> {
  typealias Node = (key: Key, source: Int)

  /// A binary heap: a node does not come before its parent, at half of its index.
  private var nodes: [Node] = []

  var first: Node? { nodes.first }

  /// Adds a source that is not in it. O(log n).
  mutating func insert(_ key: Key, of source: Int) {
    nodes.append((key, source))
    var index = nodes.count - 1
    while index > 0, Self.isBefore(nodes[index], nodes[(index - 1) / 2]) {
      nodes.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// Replaces the key of the first source by its next one, nil at its end. O(log n).
  mutating func replaceFirst(with key: Key?) {
    guard let first else { return }
    if let key {
      nodes[0] = (key, first.source)
    } else {
      nodes.swapAt(0, nodes.count - 1)
      nodes.removeLast()
    }
    var index = 0
    while true {
      var child = 2 * index + 1
      guard child < nodes.count else { return }
      if child + 1 < nodes.count, Self.isBefore(nodes[child + 1], nodes[child]) { child += 1 }
      guard Self.isBefore(nodes[child], nodes[index]) else { return }
      nodes.swapAt(index, child)
      index = child
    }
  }

  @inline(__always)
  private static func isBefore(_ left: Node, _ right: Node) -> Bool {
    left.key < right.key || left.key == right.key && left.source < right.source
  }
}
