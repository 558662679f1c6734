extension SortedTable: Sequence {
  /// Iterates over the elements in the order of their keys. O(1) for each element.
  @inlinable
  public func makeIterator() -> Iterator {
    Iterator(root: root, from: nil, through: nil)
  }

  /// The elements whose keys are not before a bound. O(log n), and O(1) for each element read.
  @inlinable
  public func elements(from bound: Key) -> Iterator { Iterator(root: root, from: bound, through: nil) }

  /// The elements whose keys are in a range, including both bounds. O(log n), and O(1) for each element read.
  /// - Parameters:
  ///   - range: the keys, including both bounds.
  ///   - reversed: whether the largest key comes first.
  @inlinable
  public func elements(in range: ClosedRange<Key>, reversed: Bool = false) -> Iterator {
    reversed
      ? Iterator(root: root, from: range.upperBound, through: range.lowerBound, isReversed: true)
      : Iterator(root: root, from: range.lowerBound, through: range.upperBound)
  }

  /// Calls `body` with the elements whose keys are not before a bound, in order, until `body` returns false. Values are
  /// not copied, so that references are not counted. O(log n), and O(1) for each element read.
  @inlinable
  public func forEach(from bound: Key, _ body: (Key, borrowing Value) -> Bool) {
    guard let root else { return }
    var (leaf, path) = unsafe root.find(bound)
    var position = path.position
    while true {
      let isDone = unsafe leaf._withUnsafeGuaranteedRef { leaf in
        while position < leaf.count {
          if unsafe !body(leaf.keys[position], leaf.values[position]) { return true }
          position &+= 1
        }
        return false
      }
      guard !isDone, let next = root.path(nextTo: path, isReversed: false) else { return }
      path = next
      unsafe leaf = root.leaf(at: next)
      position = 0
    }
  }

  /// Iterates over elements in the order of their keys, or in reverse. Later changes of the table have no effect.
  @safe
  public struct Iterator: Sequence, IteratorProtocol {
    @usableFromInline let root: TableNode?
    /// The bound at which the iteration ends; nil if it ends with the table.
    @usableFromInline let end: Key?
    @usableFromInline let isReversed: Bool

    /// The current leaf, which `root` retains.
    @usableFromInline var leaf: Unmanaged<TableNode>?

    /// The path to the leaf. The position inside `path` is outdated: `position` has the current one.
    @usableFromInline var path: Path
    /// The position in the leaf between the elements that were read and the remaining ones.
    @usableFromInline var position: Int
    /// The position in the leaf at which to stop.
    @usableFromInline var limit: Int

    /// - Parameter start: the bound at which the iteration starts; nil for the first key, which is not allowed in
    ///   reverse.
    @inlinable
    init(root: TableNode?, from start: Key?, through end: Key?, isReversed: Bool = false) {
      self.root = root
      self.end = end
      self.isReversed = isReversed
      unsafe leaf = nil
      path = Path()
      position = 0
      limit = 0
      guard let root else { return }
      guard let start else {
        unsafe read(root.leaf(at: path))
        return
      }
      let place = unsafe root.find(start)
      path = unsafe place.path
      position = path.position
      if isReversed, unsafe place.leaf._withUnsafeGuaranteedRef({ $0.holds(start, at: path.position) }) {
        position &+= 1
      }
      unsafe read(place.leaf)
    }

    /// The next element, or nil at the end.
    @inlinable
    public mutating func next() -> Element? {
      while position == limit {
        guard advanceToNextLeaf() else { return nil }
      }
      if isReversed { position &-= 1 }
      let index = position
      if !isReversed { position &+= 1 }
      return unsafe leaf.unsafelyUnwrapped._withUnsafeGuaranteedRef { leaf in
        (leaf.key(at: index), leaf.value(at: index))
      }
    }

    /// Enters a leaf, and finds the limit in it.
    @inlinable
    mutating func read(_ leaf: Unmanaged<TableNode>) {
      unsafe self.leaf = leaf
      limit = unsafe leaf._withUnsafeGuaranteedRef { leaf in
        guard let end else { return leaf.count }
        let index = leaf.position(of: end)
        return !isReversed && leaf.holds(end, at: index) ? index + 1 : index
      }
    }

    /// Enters the next leaf. Returns false if no later leaf can have elements of the iteration.
    @inlinable
    @inline(never)
    mutating func advanceToNextLeaf() -> Bool {
      // If the limit is inside of a leaf, the iteration ends there.
      guard let root, let leaf = unsafe leaf,
        limit == (isReversed ? 0 : unsafe leaf._withUnsafeGuaranteedRef { $0.count }),
        let next = root.path(nextTo: path, isReversed: isReversed)
      else { return false }
      path = next
      let neighbor = unsafe root.leaf(at: next)
      position = isReversed ? unsafe neighbor._withUnsafeGuaranteedRef { $0.count } : 0
      unsafe read(neighbor)
      return true
    }
  }
}

extension Node {
  /// The path to the next leaf, or in reverse to the previous one; nil if there is no such leaf.
  @inlinable
  func path(nextTo path: Path, isReversed: Bool) -> Path? {
    var node = self
    var taken = Path()
    // The lowest branch on the path that has a child next to the one on the path.
    var turn: (level: Int, path: Path)?
    while node.level > 0 {
      let index = path[node.level]
      let neighbor = isReversed ? index - 1 : index + 1
      if neighbor >= 0, neighbor < node.count {
        taken[node.level] = neighbor
        turn = (node.level, taken)
      }
      taken[node.level] = index
      node = node.child(at: index)
    }
    guard let turn, isReversed else { return turn?.path }
    // Below the turn, the path takes the last child of each branch.
    var previous = turn.path
    node = self
    while node.level > 0 {
      if node.level < turn.level { previous[node.level] = node.count - 1 }
      node = node.child(at: previous[node.level])
    }
    return previous
  }
}
