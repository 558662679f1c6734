/// A sorted map that is copied in constant time and shares its nodes with its copies.
///
///     var table: SortedTable<Int, String> = SortedTable()
///     table.updateValue("one", forKey: 1)
///     let kept = table                    // O(1), whatever the size
///     table.updateValue("two", forKey: 2) // copies one path; `kept` still has one element
///     for (key, value) in table.elements(from: 2) { print(key, value) }
///
/// It is a B+tree: elements in leaves, branches above them.
///
/// 1. All leaves are at the same depth, and in the order of their keys.
/// 2. A node has at most its capacity of elements or children, and at least a third of that. The root and the last node
///    of a level may have fewer, but at least one. (So insertions in ascending order fill every leaf.)
/// 3. A root that is a branch has at least two children. An empty table has no root.
/// 4. A node that several tables share is never changed. A write copies the shared nodes on the path to its
///    key, and changes unshared nodes in place.
///
/// **Threads.** A table is a value: copies may be read, written and released on any threads at the same time. As with
/// any variable, a variable that has a table must not be accessed by several threads while one writes it. Releasing the
/// last copy frees its nodes, O(n).
///
/// Keys must not change their order. Below, *n* is the number of elements.
public struct SortedTable<Key: Comparable & Sendable, Value: Sendable> {
  /// An element: a key and its value.
  public typealias Element = (key: Key, value: Value)

  @usableFromInline typealias TableNode = Node<Key, Value>

  @usableFromInline var root: TableNode?

  @usableFromInline var elementCount: Int

  /// Makes an empty table. O(1), without an allocation.
  @inlinable
  public init() {
    root = nil
    elementCount = 0
  }
}

// Safe because of invariant 4: a node is changed only while a single table has it, and like any value, a table is not
// read or copied while it is written.
extension SortedTable: @unchecked Sendable {}

extension SortedTable {
  /// The number of elements. O(1).
  @inlinable public var count: Int { elementCount }

  /// Whether there are no elements. O(1).
  @inlinable public var isEmpty: Bool { count == 0 }

  /// The value of a key; nil if the key does not exist. O(log n).
  @inlinable
  public subscript(key: Key) -> Value? {
    guard let root else { return nil }
    let (leaf, path) = unsafe root.find(key)
    return unsafe leaf._withUnsafeGuaranteedRef { leaf in
      leaf.holds(key, at: path.position) ? leaf.value(at: path.position) : nil
    }
  }

  /// Passes a key's value to `part` without copying it, and returns the result; nil for a missing key. O(log n).
  @inlinable
  public func part<Part>(of key: Key, _ part: (borrowing Value) -> Part) -> Part? {
    guard let root else { return nil }
    let (leaf, path) = unsafe root.find(key)
    return unsafe leaf._withUnsafeGuaranteedRef { leaf in
      unsafe leaf.holds(key, at: path.position) ? part(leaf.values[path.position]) : nil
    }
  }

  /// Whether there is an element with this key. O(log n).
  @inlinable
  public func contains(_ key: Key) -> Bool {
    guard let root else { return false }
    let (leaf, path) = unsafe root.find(key)
    return unsafe leaf._withUnsafeGuaranteedRef { $0.holds(key, at: path.position) }
  }
}
