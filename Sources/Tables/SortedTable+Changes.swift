extension SortedTable {
  /// The change of one key between two tables.
  public struct Change: Sendable {
    /// The key that was added, removed or given another value.
    public let key: Key

    /// The value in the earlier table; nil for a key that was added.
    public let old: Value?

    /// The value in the later table; nil for a key that was removed.
    public let new: Value?

    @inlinable
    init(key: Key, old: Value?, new: Value?) {
      self.key = key
      self.old = old
      self.new = new
    }
  }

  /// The changes from `other` to this table, in the order of their keys.
  ///
  /// Nodes that both tables share are skipped: O(d log n) for *d* changes if one table was made from the other by
  /// writes; O(n) at most. The changes are found on demand, and retain both tables.
  ///
  /// - Parameters:
  ///   - other: the earlier table.
  ///   - areEqual: whether two values of a key are equal.
  @inlinable
  public func changes(
    since other: SortedTable, by areEqual: @escaping @Sendable (Value, Value) -> Bool
  ) -> Changes {
    Changes(from: other, to: self, areEqual: areEqual)
  }

  /// The changes between two tables, in the order of their keys. Iterates over both trees, and skips shared nodes.
  public struct Changes: Sequence, IteratorProtocol {
    @usableFromInline var old: Walk
    @usableFromInline var new: Walk
    @usableFromInline let areEqual: @Sendable (Value, Value) -> Bool

    @inlinable
    init(from old: SortedTable, to new: SortedTable, areEqual: @escaping @Sendable (Value, Value) -> Bool) {
      self.areEqual = areEqual
      let isSame = old.root === new.root
      self.old = Walk(isSame ? nil : old.root)
      self.new = Walk(isSame ? nil : new.root)
    }

    /// The number of nodes that were entered in both trees, which is the cost of the iteration.
    package var visitedNodes: Int { old.visitedNodes + new.visitedNodes }

    /// The next change, or nil at the end.
    @inlinable
    public mutating func next() -> Change? {
      while !old.isAtEnd || !new.isAtEnd {
        if old.isAtEnd {
          if new.isAtElement { return added() }
          new.enterChild()
        } else if new.isAtEnd {
          if old.isAtElement { return removed() }
          old.enterChild()
        } else if let change = step() {
          return change
        }
      }
      return nil
    }

    /// Advances by one step; returns nil if the step found no change. Neither tree must be at its end.
    @inlinable
    mutating func step() -> Change? {
      if old.node === new.node && old.index == new.index {
        old.leaveNode()
        new.leaveNode()
        return nil
      }
      switch (old.isAtElement, new.isAtElement) {
      case (true, true): return compareElements()
      case (true, false): new.enterChild()
      case (false, true): old.enterChild()
      case (false, false):
        let (oldLevel, newLevel) = (old.node.level, new.node.level)
        if oldLevel == newLevel && old.isAtSameChild(as: new) {
          old.advance()
          new.advance()
        } else {
          // The position at the higher level advances first, so that both can meet at a shared node.
          if oldLevel >= newLevel { old.enterChild() }
          if newLevel >= oldLevel { new.enterChild() }
        }
      }
      return nil
    }

    @inlinable
    mutating func compareElements() -> Change? {
      let (oldKey, newKey) = (old.key, new.key)
      if oldKey < newKey { return removed() }
      if newKey < oldKey { return added() }
      let (oldValue, newValue) = (old.value, new.value)
      old.advance()
      new.advance()
      return areEqual(oldValue, newValue) ? nil : Change(key: newKey, old: oldValue, new: newValue)
    }

    @inlinable
    mutating func added() -> Change {
      defer { new.advance() }
      return Change(key: new.key, old: nil, new: new.value)
    }

    @inlinable
    mutating func removed() -> Change {
      defer { old.advance() }
      return Change(key: old.key, old: old.value, new: nil)
    }
  }

  /// A position in a tree: before an element of a leaf, or before a child of a branch that is not yet entered.
  @usableFromInline
  struct Walk {
    /// The entered nodes. The position in each is before its end.
    @usableFromInline var nodes: [TableNode]
    @usableFromInline var positions: [Int]
    @usableFromInline var visitedNodes: Int

    @inlinable
    init(_ root: TableNode?) {
      nodes = []
      positions = []
      visitedNodes = 0
      if let root { enter(root) }
    }

    @inlinable var isAtEnd: Bool { nodes.isEmpty }
    @inlinable var isAtElement: Bool { node.level == 0 }
    @inlinable var node: TableNode { nodes[nodes.count - 1] }
    @inlinable var index: Int { positions[positions.count - 1] }
    @inlinable var key: Key { node.key(at: index) }
    @inlinable var value: Value { node.value(at: index) }
    @inlinable var child: TableNode { node.child(at: index) }

    /// Whether both positions are before the same child. Retaining the children would cost more than comparing them.
    @inlinable
    func isAtSameChild(as other: Walk) -> Bool {
      unsafe node.children[index] === other.node.children[other.index]
    }

    @inlinable
    mutating func enterChild() {
      enter(child)
    }

    @inlinable
    mutating func enter(_ node: TableNode) {
      nodes.append(node)
      positions.append(0)
      visitedNodes += 1
    }

    @inlinable
    mutating func advance() {
      positions[positions.count - 1] += 1
      if index == node.count { leaveNode() }
    }

    @inlinable
    mutating func leaveNode() {
      repeat {
        nodes.removeLast()
        positions.removeLast()
        guard !nodes.isEmpty else { return }
        positions[positions.count - 1] += 1
      } while index == node.count
    }
  }
}

extension SortedTable where Value: Equatable {
  /// The changes from `other` to this table, in the order of their keys.
  ///
  /// Nodes that both tables share are skipped: O(d log n) for *d* changes if one table was made from the other by
  /// writes; O(n) at most. The changes are found on demand, and retain both tables.
  @inlinable
  public func changes(since other: SortedTable) -> Changes {
    changes(since: other) { $0 == $1 }
  }
}

extension SortedTable: Equatable where Value: Equatable {
  /// Whether two tables have the same elements. O(1) for an unchanged copy, otherwise as for `changes(since:)`.
  @inlinable
  public static func == (left: SortedTable, right: SortedTable) -> Bool {
    guard left.count == right.count else { return false }
    var changes = left.changes(since: right)
    return changes.next() == nil
  }
}
