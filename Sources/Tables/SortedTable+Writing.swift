extension SortedTable {
  /// Sets the value of a key, and returns the previous value; nil if the key is new.
  ///
  /// O(log n). Nodes that no copy of the table shares are changed in place; the shared nodes on one path are copied.
  @inlinable
  @discardableResult
  public mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
    guard let (path, found) = locate(key) else {
      startLeaf(key, value)
      return nil
    }
    let leaf = unsafe ownLeaf(at: path)
    if found {
      return unsafe leaf._withUnsafeGuaranteedRef { $0.replaceValue(at: path.position, with: value) }
    }
    unsafe insert(key, value, into: leaf, at: path)
    return nil
  }

  /// Removes a key, and returns its value. If the key does not exist, returns nil and copies nothing. O(log n).
  @inlinable
  @discardableResult
  public mutating func removeValue(forKey key: Key) -> Value? {
    guard let (path, found) = locate(key), found else { return nil }
    let leaf = unsafe ownLeaf(at: path)
    elementCount &-= 1
    let (value, isLow) = unsafe leaf._withUnsafeGuaranteedRef { leaf in
      (leaf.remove(at: path.position), leaf.count < leaf.minimum)
    }
    if isLow { mend(path) }
    return value
  }
}

// MARK: The steps of a write

extension SortedTable {
  /// The path to a key, or to its insertion position, and whether the key exists; nil in an empty table.
  @inlinable
  func locate(_ key: Key) -> (path: Path, found: Bool)? {
    guard let root else { return nil }
    let (leaf, path) = unsafe root.find(key)
    return (path, unsafe leaf._withUnsafeGuaranteedRef { $0.holds(key, at: path.position) })
  }

  /// Copies the shared nodes on a path, and returns the leaf.
  ///
  /// The leaf is not retained, because a reference would make it look shared. It is valid until the next write.
  @inlinable
  mutating func ownLeaf(at path: Path) -> Unmanaged<TableNode> {
    if !isKnownUniquelyReferenced(&root), let shared = root {
      root = shared.copy()
    }
    var node = unsafe Unmanaged.passUnretained(root.unsafelyUnwrapped)
    var level = unsafe node._withUnsafeGuaranteedRef { $0.level }
    while level > 0 {
      let index = path[level]
      unsafe node = node._withUnsafeGuaranteedRef { node in
        node.ownChild(at: index)
        return unsafe Unmanaged.passUnretained(node.children[index])
      }
      level &-= 1
    }
    return unsafe node
  }

  @inlinable
  mutating func startLeaf(_ key: Key, _ value: Value) {
    let leaf = TableNode.make(level: 0)
    leaf.insert(key, value, at: 0)
    root = leaf
    elementCount = 1
  }

  /// Inserts a new key into an owned leaf, and splits full nodes.
  @inlinable
  mutating func insert(_ key: Key, _ value: Value, into leaf: Unmanaged<TableNode>, at path: Path) {
    elementCount &+= 1
    let fits = unsafe leaf._withUnsafeGuaranteedRef { leaf in
      guard leaf.count < TableNode.leafCapacity else { return false }
      leaf.insert(key, value, at: path.position)
      return true
    }
    if !fits { insertSplitting(key, value, at: path) }
  }

  @inlinable
  @inline(never)
  mutating func insertSplitting(_ key: Key, _ value: Value, at path: Path) {
    guard let root, let (separator, right) = root.insert(key, value, at: path, atRightEdge: true) else {
      return
    }
    precondition(
      root.level < Path.maximumLevel,
      "The table is full: its tree has \(root.level + 1) levels. Divide the elements among several tables."
    )
    let above = TableNode.make(level: root.level + 1)
    above.append(root, separator: nil)
    above.append(right, separator: separator)
    self.root = above
  }

  @inlinable
  @inline(never)
  mutating func mend(_ path: Path) {
    guard let root else { return }
    root.mend(path)
    while let top = self.root, top.level > 0, top.count <= 1 {
      self.root = top.count == 1 ? top.child(at: 0) : nil
    }
    if self.root?.count == 0 { self.root = nil }
  }
}

extension Node {
  /// Inserts along a path of owned nodes whose leaf is full.
  ///
  /// - Returns: the new node after this one, if this one was split; otherwise nil.
  @inlinable
  func insert(
    _ key: Key, _ value: Value, at path: Path, atRightEdge: Bool
  ) -> (separator: Key, right: Node)? {
    guard level > 0 else {
      return insertIntoFullLeaf(key, value, at: path.position, atRightEdge: atRightEdge)
    }
    let index = path[level]
    let isLast = index == count - 1
    guard
      let (separator, newChild) = child(at: index).insert(
        key, value, at: path, atRightEdge: atRightEdge && isLast)
    else { return nil }
    if count < slots {
      insert(newChild, separator: separator, at: index + 1)
      return nil
    }
    if atRightEdge && isLast {
      let right = Node.make(level: level)
      right.append(newChild, separator: nil)
      return (separator, right)
    }
    let half = count / 2
    let (middle, right) = split(at: half)
    if index < half {
      insert(newChild, separator: separator, at: index + 1)
    } else {
      right.insert(newChild, separator: separator, at: index + 1 - half)
    }
    return (middle, right)
  }

  @inlinable
  func insertIntoFullLeaf(
    _ key: Key, _ value: Value, at index: Int, atRightEdge: Bool
  ) -> (separator: Key, right: Node) {
    if atRightEdge && index == count {
      // If keys are inserted in ascending order, this leaf gets no more keys, so it stays full.
      let right = Node.make(level: 0)
      right.insert(key, value, at: 0)
      return (key, right)
    }
    let half = count / 2
    let (separator, right) = split(at: half)
    if index <= half {
      insert(key, value, at: index)
    } else {
      right.insert(key, value, at: index - half)
    }
    return (separator, right)
  }

  /// Rebalances the owned nodes on a path, from the leaf up, after a removal from the leaf.
  @inlinable
  func mend(_ path: Path) {
    guard level > 0 else { return }
    let index = path[level]
    let child = child(at: index)
    child.mend(path)
    if child.count < child.minimum { mendChild(at: index) }
  }
}
