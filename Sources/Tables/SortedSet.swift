/// An ordered set that shares structure with its copies: a `SortedTable` without values.
///
/// For example, an index can be a set of pairs of a value and a number, which `elements(in:)` reads. Copies, threads
/// and costs are those of `SortedTable`.
public struct SortedSet<Element: Comparable & Sendable>: Sendable {
  @usableFromInline var table: SortedTable<Element, Void>

  /// Makes an empty set. O(1).
  @inlinable
  public init() {
    table = SortedTable()
  }

  /// Makes a set of strictly ascending elements, or nil if they are not. O(n).
  @inlinable
  public init?(sorted elements: some Sequence<Element>) {
    guard let table = SortedTable(sorted: elements.lazy.map { (key: $0, value: ()) }) else { return nil }
    self.table = table
  }

  /// The number of elements. O(1).
  @inlinable public var count: Int { table.count }

  /// Whether there are no elements. O(1).
  @inlinable public var isEmpty: Bool { table.isEmpty }

  /// The smallest element, or nil in an empty set. O(log n).
  @inlinable public var first: Element? { table.first?.key }

  /// The largest element, or nil in an empty set. O(log n).
  @inlinable public var last: Element? { table.last?.key }

  /// Whether an element is in the set. O(log n).
  @inlinable
  public func contains(_ element: Element) -> Bool {
    table.contains(element)
  }

  /// Inserts an element, and returns whether it was new. O(log n).
  @inlinable
  @discardableResult
  public mutating func insert(_ element: Element) -> Bool {
    table.updateValue((), forKey: element) == nil
  }

  /// Removes an element, and returns whether it was there. O(log n).
  @inlinable
  @discardableResult
  public mutating func remove(_ element: Element) -> Bool {
    table.removeValue(forKey: element) != nil
  }

  /// The elements that are not before a bound, in order. O(log n), and O(1) for each element read.
  @inlinable
  public func elements(from bound: Element) -> some Sequence<Element> {
    table.elements(from: bound).lazy.map(\.key)
  }

  /// The elements in a range, in order. O(log n), and O(1) for each element read.
  @inlinable
  public func elements(in range: Range<Element>) -> some Sequence<Element> {
    table.elements(in: range).lazy.map(\.key)
  }

  /// The elements in a range, its upper bound included, in order. O(log n), and O(1) for each element read.
  @inlinable
  public func elements(in range: ClosedRange<Element>) -> some Sequence<Element> {
    table.elements(in: range).lazy.map(\.key)
  }
}

extension SortedSet {
  /// The elements in a range, its upper bound included, the largest first. O(log n), and O(1) for each element read.
  @inlinable
  public func elements(reversedIn range: ClosedRange<Element>) -> some Sequence<Element> {
    table.elements(reversedIn: range).lazy.map(\.key)
  }
}

extension SortedSet: Sequence {
  /// Iterates over the elements in order. O(1) for each element.
  public struct Iterator: IteratorProtocol {
    @usableFromInline var base: SortedTable<Element, Void>.Iterator

    @inlinable
    init(_ base: SortedTable<Element, Void>.Iterator) {
      self.base = base
    }

    /// The next element, or nil at the end.
    @inlinable
    public mutating func next() -> Element? {
      base.next()?.key
    }
  }

  /// Starts at the smallest element. O(log n).
  @inlinable
  public func makeIterator() -> Iterator {
    Iterator(table.makeIterator())
  }

  /// The number of elements. O(1).
  @inlinable public var underestimatedCount: Int { count }
}

extension SortedSet: Equatable {
  /// Whether two sets have the same elements. O(1) for a copy, O(n) at most.
  @inlinable
  public static func == (left: SortedSet, right: SortedSet) -> Bool {
    guard left.count == right.count else { return false }
    var changes = left.table.changes(since: right.table) { _, _ in true }.makeIterator()
    return changes.next() == nil
  }
}
