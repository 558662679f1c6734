import Tables

/// Finds entities by a value that they have, in the order of values: by a title, a date, a number below zero.
///
/// ```swift
/// accountsByBalance.insert(account, under: .integer(-30))
/// for account in accountsByBalance.members(in: .below(0)) { … }
/// ```
///
/// Values have one order: what is missing, then false and true, numbers, dates, texts by the bytes of their UTF-8, data,
/// and last arrays and dictionaries. It knows no locale. An array is listed under each of its elements too, for
/// ``CBOR/ValueRange/containing(_:)``.
///
/// An index is a value, as an ``EntityTable`` is: copying it takes no time, and no later change reaches a copy. It is
/// kept in memory only, so it is no part of a snapshot; a state that keeps one builds it from its entities when it is
/// opened. *n* is the number of lines below.
public struct ValueIndex: Sendable {
  private(set) var lines = SortedTable<ValueLine, Void>()

  /// An empty index.
  public init() {}

  /// How many lines there are: one for each member, and one for each different element of arrays. O(1).
  public var count: Int { lines.count }

  /// Lists a member under a value; nil is one that is missing. O(log n).
  public mutating func insert(_ member: Int, under value: FieldValue?) {
    forEachKey(of: value) { lines.updateValue((), forKey: ValueLine(key: $0, member: member)) }
  }

  /// Takes a member from under a value. O(log n).
  public mutating func remove(_ member: Int, from value: FieldValue?) {
    forEachKey(of: value) { lines.removeValue(forKey: ValueLine(key: $0, member: member)) }
  }

  private func forEachKey(of value: FieldValue?, _ body: (ValueKey) -> Void) {
    body(ValueKey(value))
    if case .array(let elements)? = value {
      for element in elements { body(ValueKey(element).asElement) }
    }
  }

  /// The members whose values are in a range, in the order of the values, and where these are equal of their numbers.
  /// - Parameter reversed: gives the last one first.
  /// - Complexity: O(log n) and what is looked at.
  public func members(in range: ValueRange, reversed: Bool = false) -> Members {
    Members(lines: Lines(index: self, range: range, isReversed: reversed))
  }

  /// Some members of an index. It keeps the index as it was.
  public struct Members: Sequence, Sendable {
    fileprivate let lines: Lines

    /// Starts at the first value of the range.
    public func makeIterator() -> Iterator { Iterator(lines: lines.makeIterator()) }

    /// Gives numbers one after the other.
    public struct Iterator: IteratorProtocol {
      fileprivate var lines: Lines.Iterator
      /// The next number, nil behind the last.
      public mutating func next() -> Int? { lines.next()?.member }
    }
  }
}

extension ValueIndex: Equatable {
  /// Whether two indexes list the same members under the same values. O(1) for a copy, O(n) at most.
  public static func == (left: ValueIndex, right: ValueIndex) -> Bool {
    guard left.count == right.count else { return false }
    var changes = left.lines.changes(since: right.lines) { _, _ in true }.makeIterator()
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

// For a model that reads keys out of records, without values.
extension ValueIndex {
  /// Takes lines, which are sorted here. O(n log n).
  package init(_ lines: [ValueLine]) {
    var sorted = lines
    sorted.sort()
    var last: ValueLine?
    // An element that an array has twice is one line.
    sorted.removeAll { line in
      defer { last = line }
      return line == last
    }
    self.lines = SortedTable(sorted: sorted.lazy.map { (key: $0, value: ()) }) ?? SortedTable()
  }

  /// Lists a member under what its record has at a path.
  package mutating func insert(_ member: Int, _ record: EntityRecord, at path: AttributePath) {
    record.forEachKey(at: path) { lines.updateValue((), forKey: ValueLine(key: $0, member: member)) }
  }

  /// Takes a member from under what its record had at a path.
  package mutating func remove(_ member: Int, _ record: EntityRecord, at path: AttributePath) {
    record.forEachKey(at: path) { lines.removeValue(forKey: ValueLine(key: $0, member: member)) }
  }

  /// The lines in a range.
  package func lines(in range: ValueRange, reversed: Bool = false) -> Lines {
    Lines(index: self, range: range, isReversed: reversed)
  }

  /// A part of an index, in order or in reverse. It keeps the index as it was.
  package struct Lines: Sequence, Sendable {
    fileprivate let index: ValueIndex
    fileprivate let range: ValueRange
    fileprivate let isReversed: Bool

    package func makeIterator() -> Iterator { Iterator(self) }

    /// Gives lines one after the other.
    package struct Iterator: IteratorProtocol {
      private var rising: SortedTable<ValueLine, Void>.Iterator?
      private var falling: SortedTable<ValueLine, Void>.ReversedIterator?

      fileprivate init(_ lines: Lines) {
        let range = lines.range
        // No member is .min or .max, so a line with one of these stands just outside of a value's lines.
        let lower = ValueLine(key: range.lower, member: range.includesLower ? .min : .max)
        let upper = ValueLine(key: range.upper, member: range.includesUpper ? .max : .min)
        guard lower <= upper else { return }
        if lines.isReversed {
          falling = lines.index.lines.elements(reversedIn: lower...upper).makeIterator()
        } else {
          rising = lines.index.lines.elements(in: lower...upper).makeIterator()
        }
      }

      package mutating func next() -> ValueLine? {
        if rising != nil { return rising?.next()?.key }
        return falling?.next()?.key
      }
    }
  }
}
