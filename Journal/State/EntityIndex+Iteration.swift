import Tables

extension EntityIndex {
  /// The members of a group, found as they are asked for. O(log n) and the answer.
  public func members(of group: Int) -> Members {
    Members(
      lines: lines(from: IndexKey(group: group, member: 0), through: IndexKey(group: group, member: -1)))
  }

  /// The members of one group, in the order of their numbers. It keeps the index as it was.
  public struct Members: Sequence, Sendable {
    fileprivate let lines: Lines

    /// Starts at the lowest number.
    public func makeIterator() -> Iterator { Iterator(lines: lines.makeIterator()) }

    /// Gives numbers one after the other.
    public struct Iterator: IteratorProtocol {
      fileprivate var lines: Lines.Iterator
      /// The next number, nil behind the last.
      public mutating func next() -> Int? { lines.next()?.member }
    }
  }

  /// All lines, by group and then by member.
  package var lines: Lines {
    lines(from: IndexKey(group: 0, member: 0), through: .last)
  }

  /// The lines between two, both included.
  package func lines(from first: IndexKey, through last: IndexKey) -> Lines {
    Lines(index: self, first: first, last: last)
  }

  /// A part of an index, in order. It keeps the index as it was.
  package struct Lines: Sequence, Sendable {
    fileprivate let index: EntityIndex
    fileprivate let first: IndexKey
    fileprivate let last: IndexKey

    package func makeIterator() -> Iterator {
      Iterator(
        lines: LayeredIterator(
          index.base.map { BaseLines(base: $0, last: last, position: $0.position(of: first)) },
          above: index.added.elements(in: first...last).makeIterator(),
          hidden: index.removed.elements(in: first...last).makeIterator()))
    }

    /// Gives lines one after the other.
    package struct Iterator: IteratorProtocol {
      fileprivate var lines: LayeredIterator<BaseLines, IndexKey, Void, Void>
      package mutating func next() -> IndexKey? { lines.next()?.key }
    }
  }
}

/// The lines of a base, from a position on up to a line.
private struct BaseLines: IteratorProtocol {
  let base: any IndexBase
  let last: IndexKey
  var position: Int

  mutating func next() -> (key: IndexKey, value: Void)? {
    guard position < base.count, let key = base.key(at: position), key <= last else { return nil }
    position += 1
    return (key, ())
  }
}
