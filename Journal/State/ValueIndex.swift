import Tables

/// Finds entities by a value, or a range of values, in the order of values.
///
/// ```swift
/// accountsByBalance.insert(account, under: .integer(-30))
/// for account in accountsByBalance.members(in: .below(0)) { … }
/// ```
///
/// Values have one order, which is independent of locales: missing, false, true, numbers, dates, texts by their UTF-8
/// bytes, data, and last arrays and dictionaries. An array is also listed under each of its elements, for
/// `ValueRange.containing(_:)`.
///
/// An index is a value, like ``EntityTable``: copying it takes constant time, and later changes do not affect a copy.
/// An index lives in memory: a model builds it from its entities in ``EventSourced/init(parts:)``, and keeps it in
/// ``EventSourced/replacing(parts:)``. Below, *n* is the number of lines.
public struct ValueIndex: Sendable {
  private(set) var lines = SortedTable<ValueLine, Void>()

  /// An empty index.
  public init() {}

  /// How many lines there are: one for each member, and one for each distinct element of arrays. O(1).
  public var count: Int { lines.count }

  /// Lists a member under a value; nil stands for a missing value. O(log n).
  public mutating func insert(_ member: Int, under value: FieldValue?) {
    forEachKey(of: value) { lines.updateValue((), forKey: ValueLine(key: $0, member: member)) }
  }

  /// Removes a member from under a value. O(log n).
  public mutating func remove(_ member: Int, from value: FieldValue?) {
    forEachKey(of: value) { lines.removeValue(forKey: ValueLine(key: $0, member: member)) }
  }

  private func forEachKey(of value: FieldValue?, _ body: (ValueKey) -> Void) {
    body(ValueKey(value))
    if case .array(let elements)? = value {
      for element in elements { body(ValueKey(element).asElement) }
    }
  }

  /// The members whose values are in a range, in the order of values and then of numbers.
  /// - Parameters:
  ///   - range: the range of values.
  ///   - reversed: whether the last member comes first.
  /// - Complexity: O(log n), and O(1) for each member read.
  public func members(in range: ValueRange, reversed: Bool = false) -> Members {
    Members(lines: lines(in: range, reversed: reversed))
  }

  /// Members of an index, in order. Later changes of the index do not affect the sequence.
  public struct Members: Sequence, Sendable {
    fileprivate let lines: Lines

    /// Starts at the first value of the range.
    public func makeIterator() -> Iterator { Iterator(lines: lines.makeIterator()) }

    /// Iterates over the numbers of members.
    public struct Iterator: IteratorProtocol {
      fileprivate var lines: Lines.Iterator
      /// The next number, nil at the end.
      public mutating func next() -> Int? { lines.next()?.member }
    }
  }
}

extension ValueIndex: Equatable {
  /// Whether two indexes list the same members under the same values. O(1) for copies, otherwise O(n).
  public static func == (left: ValueIndex, right: ValueIndex) -> Bool {
    guard left.count == right.count else { return false }
    var changes = left.lines.changes(since: right.lines) { _, _ in true }
    return changes.next() == nil
  }
}

/// One line of an index: a value, and the number of an entity that has it.
package struct ValueLine: Comparable, Hashable, Sendable {
  package let key: ValueKey
  package let member: Int

  package init(key: ValueKey, member: Int) {
    self.key = key
    self.member = member
  }

  @inline(__always)
  package static func < (left: ValueLine, right: ValueLine) -> Bool {
    if left.key < right.key { return true }
    return left.member < right.member && !(right.key < left.key)
  }
}

// For a model that reads keys from records, without decoding values.
extension ValueIndex {
  /// An index of these lines, which need not be sorted. O(n log n).
  package init(_ lines: [ValueLine]) {
    var sorted = lines
    // Lines of layers are already sorted.
    if !zip(lines, lines.dropFirst()).allSatisfy({ $0 < $1 }) { sorted.sort() }
    var last: ValueLine?
    // A repeated element of an array is one line.
    sorted.removeAll { line in
      defer { last = line }
      return line == last
    }
    self.lines = SortedTable(sorted: sorted.lazy.map { (key: $0, value: ()) }) ?? SortedTable()
  }

  mutating func insert(_ line: ValueLine) { lines.updateValue((), forKey: line) }
  mutating func remove(_ line: ValueLine) { lines.removeValue(forKey: line) }

  package func lines(in range: ValueRange, reversed: Bool = false) -> Lines {
    lines(in: range.lines, reversed: reversed)
  }

  /// The lines in a range; none if the range is nil.
  package func lines(in range: ClosedRange<ValueLine>?, reversed: Bool) -> Lines {
    Lines(index: self, range: range, isReversed: reversed)
  }

  /// Lines of an index, in order or in reverse. Later changes of the index do not affect the sequence.
  package struct Lines: Sequence, Sendable {
    fileprivate let index: ValueIndex
    fileprivate let range: ClosedRange<ValueLine>?
    fileprivate let isReversed: Bool

    package func makeIterator() -> Iterator {
      Iterator(lines: range.map { index.lines.elements(in: $0, reversed: isReversed) })
    }

    package struct Iterator: IteratorProtocol {
      fileprivate var lines: SortedTable<ValueLine, Void>.Iterator?

      package mutating func next() -> ValueLine? { lines?.next()?.key }
    }
  }
}
