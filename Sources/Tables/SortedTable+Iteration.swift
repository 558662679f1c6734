extension SortedTable: Sequence {
  /// Iterates over the elements in the order of their keys. O(1) for each element.
  @inlinable
  public func makeIterator() -> Iterator {
    Iterator(root: root, from: nil, through: nil)
  }

  /// The elements whose keys are not before a bound. O(log n), and O(1) for each element read.
  @inlinable
  public func elements(from bound: Key) -> Iterator { Iterator(root: root, from: bound, through: nil) }

  /// The elements whose keys are in a range, its upper bound included. O(log n), and O(1) for each element read.
  @inlinable
  public func elements(in range: ClosedRange<Key>) -> Iterator {
    Iterator(root: root, from: range.lowerBound, through: range.upperBound)
  }

  /// Iterates over elements in the order of their keys. Later changes of the table do not affect it.
  @safe
  public struct Iterator: Sequence, IteratorProtocol {
    @usableFromInline let root: TableNode?
    /// The last key, nil for all.
    @usableFromInline let end: Key?

    /// The leaf that is being read. It is not retained, because `root` retains it.
    @usableFromInline var leaf: Unmanaged<TableNode>?

    /// The path to that leaf. Its position is not updated; `position` is.
    @usableFromInline var path: Path
    @usableFromInline var position: Int

    /// The position in the leaf before which to stop.
    @usableFromInline var limit: Int

    @inlinable
    init(root: TableNode?, from start: Key?, through end: Key?) {
      self.root = root
      self.end = end
      unsafe leaf = nil
      path = Path()
      position = 0
      limit = 0
      guard let root else { return }
      if let start {
        let place = unsafe root.find(start)
        path = unsafe place.path
        position = path.position
        unsafe read(place.leaf)
      } else {
        unsafe read(root.leaf(at: path))
      }
    }

    /// The next element, or nil at the end.
    @inlinable
    public mutating func next() -> Element? {
      if position >= limit {
        guard advanceToNextLeaf() else { return nil }
      }
      let index = position
      position = index &+ 1
      return unsafe leaf.unsafelyUnwrapped._withUnsafeGuaranteedRef { leaf in
        (leaf.key(at: index), leaf.value(at: index))
      }
    }

    /// Moves to a leaf, and finds where the iteration ends in it.
    @inlinable
    mutating func read(_ leaf: Unmanaged<TableNode>) {
      unsafe self.leaf = leaf
      limit = unsafe leaf._withUnsafeGuaranteedRef { leaf in
        guard let end else { return leaf.count }
        let index = leaf.position(of: end)
        return leaf.holds(end, at: index) ? index + 1 : index
      }
    }

    /// Whether there is another element, after this leaf has been read up to its limit.
    @inlinable
    @inline(never)
    mutating func advanceToNextLeaf() -> Bool {
      guard let root, let leaf = unsafe leaf else { return false }
      let endsHere = unsafe leaf._withUnsafeGuaranteedRef { limit < $0.count }
      guard !endsHere, let next = root.path(after: path) else { return false }
      path = next
      position = 0
      unsafe read(root.leaf(at: next))
      return limit > 0
    }
  }
}

extension Node {
  /// The path to the first element of the leaf after the one at `path`, or nil at the last leaf.
  @inlinable
  func path(after path: Path) -> Path? {
    var node = self
    var next: Path?
    var taken = Path()
    while node.level > 0 {
      let index = path[node.level]
      taken[node.level] = index
      if index + 1 < node.count {
        next = taken
        next?[node.level] = index + 1
      }
      node = node.child(at: index)
    }
    return next
  }
}
