@usableFromInline
struct NodeHeader {
  /// The number of elements of a leaf, or of children of a branch.
  @usableFromInline var count: Int

  /// 0 for a leaf; for a branch, one more than the level of its children.
  @usableFromInline let level: Int

  @inlinable init(level: Int) {
    self.count = 0
    self.level = level
  }
}

/// A node of a table's tree, and the only type that touches raw memory.
///
/// One allocation has the header, the keys, and then the values (of a leaf) or the children (of a branch), so that the
/// parts that a search reads are close together.
///
/// 1. A leaf has `count` keys, strictly ascending, and the value of each at the same position.
/// 2. A branch has `count` children, one level below it, and `count - 1` keys that separate them: all keys
///    under child `i` are before `keys[i]`, and all under child `i + 1` are not.
/// 3. `count` is at most `slots`. Slots below it are initialized, and those above are not.
/// 4. Pointers into a node are used only while the searched tree retains that node.
///
/// Only a thread that has the only reference to a node changes the node. All other threads only read it.
@usableFromInline
final class Node<Key: Comparable, Value>: ManagedBuffer<NodeHeader, Key> {
  // Larger leaves make reading faster. But copying a shared leaf retains each value that counts references, so leaves
  // of such values are smaller. Measured with 1,000,000 elements.
  @inlinable static var leafCapacity: Int { _isPOD(Key.self) && _isPOD(Value.self) ? 64 : 32 }

  /// At most 16, because a ``Path`` has four bits for the child at each level.
  @inlinable static var branchCapacity: Int { 16 }

  @inlinable
  static func make(level: Int) -> Node {
    let capacity = level == 0 ? leafCapacity : branchCapacity
    let stride = level == 0 ? MemoryLayout<Value>.stride : MemoryLayout<Node>.stride
    let alignment = level == 0 ? MemoryLayout<Value>.alignment : MemoryLayout<Node>.alignment
    // The memory for values or children is requested in units of keys, with room to align its start.
    let keyStride = MemoryLayout<Key>.stride
    let behind = (capacity * stride + alignment + keyStride - 1) / keyStride
    let buffer = Node.create(minimumCapacity: capacity + behind) { _ in NodeHeader(level: level) }
    return unsafe unsafeDowncast(buffer, to: Node.self)
  }

  deinit {
    if level == 0 {
      unsafe keys.deinitialize(count: count)
      unsafe values.deinitialize(count: count)
    } else {
      unsafe keys.deinitialize(count: max(count - 1, 0))
      unsafe children.deinitialize(count: count)
    }
  }

  // The header is read by a pointer, because each use of `ManagedBuffer.header` is checked for exclusive access at run
  // time, which made an append twice as slow.
  @inlinable var level: Int {
    unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.level }
  }

  @inlinable var count: Int {
    get { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.count } }
    set { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.count = newValue } }
  }

  @inlinable var slots: Int { level == 0 ? Self.leafCapacity : Self.branchCapacity }

  /// The minimum of `count`, except at the right edge. A node with fewer is merged with a neighbor or filled from it.
  /// The minimum is a third, and not a half, so that alternating insertions and removals do not always split and merge.
  @inlinable var minimum: Int { slots / 3 }

  @inlinable var keys: UnsafeMutablePointer<Key> {
    unsafe withUnsafeMutablePointerToElements { unsafe $0 }
  }

  @inlinable var values: UnsafeMutablePointer<Value> {
    unsafe UnsafeMutableRawPointer(keys + Self.leafCapacity).alignedUp(for: Value.self)
      .assumingMemoryBound(to: Value.self)
  }

  @inlinable var children: UnsafeMutablePointer<Node> {
    unsafe UnsafeMutableRawPointer(keys + Self.branchCapacity).alignedUp(for: Node.self)
      .assumingMemoryBound(to: Node.self)
  }

  @inlinable
  func key(at index: Int) -> Key {
    assert(index >= 0 && index < count)
    return unsafe keys[index]
  }

  @inlinable
  func value(at index: Int) -> Value {
    assert(level == 0 && index >= 0 && index < count)
    return unsafe values[index]
  }

  @inlinable
  func child(at index: Int) -> Node {
    assert(level > 0 && index >= 0 && index < count)
    return unsafe children[index]
  }
}

// MARK: Searching

extension Node {
  /// The number of keys of a leaf that are before `key`.
  @inlinable
  func position(of key: Key) -> Int {
    countKeys(of: count) { $0 < key }
  }

  /// The index of the child in whose subtree `key` is or would be.
  @inlinable
  func childIndex(for key: Key) -> Int {
    countKeys(of: count &- 1) { !(key < $0) }
  }

  /// The partition point of the first `total` keys: the number of leading keys for which the predicate is true.
  @inlinable
  @inline(__always)
  func countKeys(of total: Int, where isBefore: (Key) -> Bool) -> Int {
    let keys = unsafe self.keys
    // Writes in ascending order, the most frequent case, need only this comparison at each level.
    if unsafe total > 0 && isBefore(keys[total &- 1]) { return total }
    var low = 0
    if _isPOD(Key.self) {
      // Comparing trivial keys is cheap, but a cache miss is expensive. One key of each cache line is compared first,
      // so that misses overlap; then all keys of the right line. No branch depends on a comparison.
      var last = 7
      while last < total {
        low &+= unsafe isBefore(keys[last]) ? 8 : 0
        last &+= 8
      }
      let end = min(low &+ 8, total)
      var index = low
      while index < end {
        low &+= unsafe isBefore(keys[index]) ? 1 : 0
        index &+= 1
      }
      return low
    }
    var length = total
    while length > 0 {
      let half = length &>> 1
      if unsafe isBefore(keys[low &+ half]) {
        low &+= half &+ 1
        length &-= half &+ 1
      } else {
        length = half
      }
    }
    return low
  }

  /// Whether `key` is at an index, which may be just after the last key.
  @inlinable
  func holds(_ key: Key, at index: Int) -> Bool {
    unsafe index < count && keys[index] == key
  }

  /// Finds the leaf where `key` is or would be, and the path to its position there.
  ///
  /// The leaf is valid while the caller retains this node. The leaf is not retained, because counting references at
  /// each level would cost more than the search.
  @inlinable
  func find(_ key: Key) -> (leaf: Unmanaged<Node>, path: Path) {
    var path = Path()
    var node = unsafe Unmanaged.passUnretained(self)
    var level = self.level
    while level > 0 {
      let index = unsafe node._withUnsafeGuaranteedRef { $0.childIndex(for: key) }
      path[level] = index
      unsafe node = node._withUnsafeGuaranteedRef { unsafe Unmanaged.passUnretained($0.children[index]) }
      level &-= 1
    }
    path.position = unsafe node._withUnsafeGuaranteedRef { $0.position(of: key) }
    return unsafe (node, path)
  }

  /// The leaf at a path. It is valid while the caller retains this node.
  @inlinable
  func leaf(at path: Path) -> Unmanaged<Node> {
    var node = unsafe Unmanaged.passUnretained(self)
    var level = self.level
    while level > 0 {
      let index = path[level]
      unsafe node = node._withUnsafeGuaranteedRef { unsafe Unmanaged.passUnretained($0.children[index]) }
      level &-= 1
    }
    return unsafe node
  }
}
