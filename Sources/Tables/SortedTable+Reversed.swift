extension SortedTable {
  /// The elements whose keys are in a range, its upper bound included, the largest key first. O(log n), and O(1) for
  /// each element read.
  @inlinable
  public func elements(reversedIn range: ClosedRange<Key>) -> ReversedIterator {
    ReversedIterator(root: root, range: range)
  }

  /// Iterates over elements in the reverse order of their keys. Later changes of the table do not affect it.
  @safe
  public struct ReversedIterator: Sequence, IteratorProtocol {
    @usableFromInline let root: TableNode?
    @usableFromInline let first: Key

    /// The leaf that is being read. It is not retained, because `root` retains it.
    @usableFromInline var leaf: Unmanaged<TableNode>?

    /// The path to that leaf. Its position is not updated; `position` is.
    @usableFromInline var path: Path
    /// The position after the next element.
    @usableFromInline var position: Int
    /// The position of the last element to return.
    @usableFromInline var limit: Int

    @inlinable
    init(root: TableNode?, range: ClosedRange<Key>) {
      self.root = root
      first = range.lowerBound
      unsafe leaf = nil
      path = Path()
      position = 0
      limit = 0
      guard let root else { return }
      let place = unsafe root.find(range.upperBound)
      path = unsafe place.path
      position = path.position
      if unsafe place.leaf._withUnsafeGuaranteedRef({ $0.holds(range.upperBound, at: path.position) }) {
        position &+= 1
      }
      unsafe read(place.leaf)
    }

    /// The next element, or nil after the first one of the table.
    @inlinable
    public mutating func next() -> Element? {
      while position <= limit {
        guard advanceToPreviousLeaf() else { return nil }
      }
      position &-= 1
      let index = position
      return unsafe leaf.unsafelyUnwrapped._withUnsafeGuaranteedRef { leaf in
        (leaf.key(at: index), leaf.value(at: index))
      }
    }

    /// Moves to a leaf, and finds where the iteration ends in it.
    @inlinable
    mutating func read(_ leaf: Unmanaged<TableNode>) {
      unsafe self.leaf = leaf
      let first = first
      limit = unsafe leaf._withUnsafeGuaranteedRef { $0.position(of: first) }
    }

    /// Whether there is a leaf before this one that can have more, after this one has been read down to its limit.
    @inlinable
    @inline(never)
    mutating func advanceToPreviousLeaf() -> Bool {
      // If the limit is not the start of a leaf, the iteration ends inside the leaf.
      guard let root, limit == 0, let previous = root.path(before: path) else { return false }
      path = previous
      let leaf = unsafe root.leaf(at: previous)
      position = unsafe leaf._withUnsafeGuaranteedRef { $0.count }
      unsafe read(leaf)
      return true
    }
  }
}

extension Node {
  /// The path to the leaf before the one at `path`, or nil at the first leaf.
  @inlinable
  func path(before path: Path) -> Path? {
    var node = self
    var taken = Path()
    // The lowest branch on the way that has a child before the one that was taken.
    var turn: (level: Int, taken: Path)?
    while node.level > 0 {
      let index = path[node.level]
      taken[node.level] = index
      if index > 0 {
        var before = taken
        before[node.level] = index - 1
        turn = (node.level, before)
      }
      node = node.child(at: index)
    }
    guard let turn else { return nil }
    // After that, take the last child of each branch.
    var previous = turn.taken
    node = self
    while node.level > 0 {
      if node.level < turn.level { previous[node.level] = node.count - 1 }
      node = node.child(at: previous[node.level])
    }
    return previous
  }
}
