// The caller must have the only reference to the node, and to both nodes if contents move between two.
extension Node {
  /// Returns a copy of the node that shares its values and children.
  @inlinable
  func copy() -> Node {
    let copy = Node.make(level: level)
    let count = self.count
    if level == 0 {
      unsafe copy.keys.initialize(from: keys, count: count)
      unsafe copy.values.initialize(from: values, count: count)
    } else {
      unsafe copy.keys.initialize(from: keys, count: max(count - 1, 0))
      unsafe copy.children.initialize(from: children, count: count)
    }
    copy.count = count
    return copy
  }

  /// Replaces the child by a copy if another tree shares it.
  @inlinable
  func ownChild(at index: Int) {
    let slot = unsafe children + index
    if unsafe !isKnownUniquelyReferenced(&slot.pointee) {
      unsafe slot.pointee = slot.pointee.copy()
    }
  }

  // MARK: Leaves

  @inlinable
  func insert(_ key: Key, _ value: Value, at index: Int) {
    assert(level == 0 && index >= 0 && index <= count && count < slots)
    let tail = count &- index
    let keys = unsafe self.keys + index
    let values = unsafe self.values + index
    if tail > 0 {
      unsafe (keys + 1).moveInitialize(from: keys, count: tail)
      unsafe (values + 1).moveInitialize(from: values, count: tail)
    }
    unsafe keys.initialize(to: key)
    unsafe values.initialize(to: value)
    count &+= 1
  }

  @inlinable
  func replaceValue(at index: Int, with value: Value) -> Value {
    assert(level == 0 && index >= 0 && index < count)
    let slot = unsafe values + index
    let old = unsafe slot.move()
    unsafe slot.initialize(to: value)
    return old
  }

  @inlinable
  func remove(at index: Int) -> Value {
    assert(level == 0 && index >= 0 && index < count)
    let tail = count &- index &- 1
    let keys = unsafe self.keys + index
    let values = unsafe self.values + index
    let value = unsafe values.move()
    unsafe keys.deinitialize(count: 1)
    unsafe keys.moveInitialize(from: keys + 1, count: tail)
    unsafe values.moveInitialize(from: values + 1, count: tail)
    count &-= 1
    return value
  }

  // MARK: Branches

  /// Appends a child to a branch. Only the first child has no separator.
  @inlinable
  func append(_ child: Node, separator: Key?) {
    assert(level == child.level + 1 && count < slots && (separator == nil) == (count == 0))
    if let separator {
      unsafe (keys + (count - 1)).initialize(to: separator)
    }
    unsafe (children + count).initialize(to: child)
    count += 1
  }

  /// Inserts a child into a branch. The separator is between the new child and the one before it.
  @inlinable
  func insert(_ child: Node, separator: Key, at index: Int) {
    assert(level == child.level + 1 && index > 0 && index <= count && count < slots)
    let tail = count - index
    let keys = unsafe self.keys + (index - 1)
    let children = unsafe self.children + index
    unsafe (keys + 1).moveInitialize(from: keys, count: tail)
    unsafe (children + 1).moveInitialize(from: children, count: tail)
    unsafe keys.initialize(to: separator)
    unsafe children.initialize(to: child)
    count += 1
  }

  /// Removes child `index` and the separator before it (for the first child: after it).
  @inlinable
  func removeChild(at index: Int) {
    assert(level > 0 && index >= 0 && index < count)
    let children = unsafe self.children + index
    unsafe children.deinitialize(count: 1)
    unsafe children.moveInitialize(from: children + 1, count: count - index - 1)
    if count > 1 {
      let position = max(index - 1, 0)
      let keys = unsafe self.keys + position
      unsafe keys.deinitialize(count: 1)
      unsafe keys.moveInitialize(from: keys + 1, count: count - 2 - position)
    }
    count -= 1
  }

  // MARK: Splitting and rebalancing

  /// Moves everything from `index` on into a new node, which the caller must insert after this one.
  @inlinable
  func split(at index: Int) -> (separator: Key, right: Node) {
    assert(index > 0 && index < count)
    let right = Node.make(level: level)
    let moved = count - index
    let separator: Key
    if level == 0 {
      unsafe right.keys.moveInitialize(from: keys + index, count: moved)
      unsafe right.values.moveInitialize(from: values + index, count: moved)
      separator = unsafe right.keys[0]
    } else {
      separator = unsafe (keys + (index - 1)).move()
      unsafe right.keys.moveInitialize(from: keys + index, count: moved - 1)
      unsafe right.children.moveInitialize(from: children + index, count: moved)
    }
    right.count = moved
    count = index
    return (separator, right)
  }

  /// Rebalances an owned child with too few elements: merges it with a neighbor, or divides the elements of both evenly
  /// between them. An empty child is removed.
  @inlinable
  func mendChild(at index: Int) {
    guard count > 1 else {
      // Only a branch at the right edge can have a single child. That child may have few elements, but must not be
      // empty.
      if child(at: 0).count == 0 { removeChild(at: 0) }
      return
    }
    let first = max(index - 1, 0)
    // Only the last child can be empty, because any other was rebalanced when it fell below the minimum.
    if child(at: index).count == 0 {
      removeChild(at: index)
      return
    }
    ownChild(at: index == first ? first + 1 : first)
    let left = child(at: first)
    let right = child(at: first + 1)
    let total = left.count + right.count
    if total <= left.slots {
      unsafe left.takeFirst(right.count, of: right, separator: keys + first)
      removeChild(at: first + 1)
    } else if left.count < right.count {
      unsafe left.takeFirst(total / 2 - left.count, of: right, separator: keys + first)
    } else {
      unsafe right.takeLast(total / 2 - right.count, of: left, separator: keys + first)
    }
  }

  /// Moves the first `moved` elements or children of the right neighbor to the end of this node.
  ///
  /// `separator`, which separates the two nodes in their branch, is updated.
  @inlinable
  func takeFirst(_ moved: Int, of right: Node, separator: UnsafeMutablePointer<Key>) {
    assert(moved > 0 && moved <= right.count && count > 0 && count + moved <= slots)
    let rest = right.count - moved
    if level == 0 {
      unsafe (keys + count).moveInitialize(from: right.keys, count: moved)
      unsafe right.keys.moveInitialize(from: right.keys + moved, count: rest)
      unsafe (values + count).moveInitialize(from: right.values, count: moved)
      unsafe right.values.moveInitialize(from: right.values + moved, count: rest)
      if rest > 0 { unsafe separator.pointee = right.keys[0] }
    } else {
      unsafe (keys + (count - 1)).initialize(to: separator.pointee)
      unsafe (keys + count).moveInitialize(from: right.keys, count: moved - 1)
      if rest > 0 {
        unsafe separator.pointee = (right.keys + (moved - 1)).move()
        unsafe right.keys.moveInitialize(from: right.keys + moved, count: rest - 1)
      }
      unsafe (children + count).moveInitialize(from: right.children, count: moved)
      unsafe right.children.moveInitialize(from: right.children + moved, count: rest)
    }
    count += moved
    right.count = rest
  }

  /// Moves the last `moved` elements or children of the left neighbor to the start of this node.
  ///
  /// `separator`, which separates the two nodes in their branch, is updated. The neighbor must not become empty.
  @inlinable
  func takeLast(_ moved: Int, of left: Node, separator: UnsafeMutablePointer<Key>) {
    assert(moved > 0 && moved < left.count && count > 0 && count + moved <= slots)
    let rest = left.count - moved
    if level == 0 {
      unsafe (keys + moved).moveInitialize(from: keys, count: count)
      unsafe keys.moveInitialize(from: left.keys + rest, count: moved)
      unsafe (values + moved).moveInitialize(from: values, count: count)
      unsafe values.moveInitialize(from: left.values + rest, count: moved)
      unsafe separator.pointee = keys[0]
    } else {
      unsafe (keys + moved).moveInitialize(from: keys, count: count - 1)
      unsafe (keys + (moved - 1)).initialize(to: separator.pointee)
      unsafe keys.moveInitialize(from: left.keys + rest, count: moved - 1)
      unsafe separator.pointee = (left.keys + (rest - 1)).move()
      unsafe (children + moved).moveInitialize(from: children, count: count)
      unsafe children.moveInitialize(from: left.children + rest, count: moved)
    }
    count += moved
    left.count = rest
  }
}
