import Tables

extension EntityIndex {
  /// The members of a group, found lazily. O(log n), and O(1) for each member.
  public func members(of group: Int) -> Members {
    Members(
      lines: lines(from: IndexKey(group: group, member: 0), through: IndexKey(group: group, member: -1)))
  }

  /// The members of one group, in the order of their numbers. Later changes of the index do not affect the sequence.
  public struct Members: Sequence, Sendable {
    fileprivate let lines: Lines

    /// Starts at the lowest number.
    public func makeIterator() -> Iterator { Iterator(lines: lines.makeIterator()) }

    /// Iterates over the numbers of members.
    public struct Iterator: IteratorProtocol {
      fileprivate var lines: Lines.Iterator
      /// The next number, nil at the end.
      public mutating func next() -> Int? { lines.next()?.member }
    }
  }

  /// The lines of some groups, in order. It takes less time than to look for the members of each.
  /// - Parameter groups: numbers from 0 on, in ascending order.
  /// - Complexity: O(m + k log n) for m lines of these groups, if k times a line of another group comes between them.
  package func lines(ofGroups groups: [Int]) -> [IndexKey] {
    var found: [IndexKey] = []
    var next = 0
    search: while next < groups.count {
      let last = IndexKey(group: groups[groups.count - 1], member: -1)
      for line in lines(from: IndexKey(group: groups[next], member: 0), through: last) {
        while groups[next] < line.group { next += 1 }
        if groups[next] > line.group { continue search }
        found.append(line)
      }
      break
    }
    return found
  }

  /// All lines, by group and then by member.
  package var lines: Lines { lines(from: IndexKey(group: 0, member: 0), through: .last) }

  /// How many lines there are: the members of all groups. O(n).
  package var lineCount: Int { lines.reduce(0) { count, _ in count + 1 } }

  /// The lines from one key through another.
  package func lines(from first: IndexKey, through last: IndexKey) -> Lines {
    Lines(index: self, first: first, last: last)
  }

  /// Lines of an index, in order. Later changes of the index do not affect the sequence.
  package struct Lines: Sequence, Sendable {
    fileprivate let index: EntityIndex
    fileprivate let first: IndexKey
    fileprivate let last: IndexKey

    package func makeIterator() -> Iterator {
      Iterator(
        lines: LayeredIterator(
          index.base?.lines(from: first, through: last), above: index.changes.elements(in: first...last),
          hidden: SortedTable<IndexKey, Void>().makeIterator()))
    }

    package struct Iterator: IteratorProtocol {
      fileprivate var lines: LayeredIterator<BaseIterator<IndexKey, Bool>, IndexKey, Bool, Void>

      package mutating func next() -> IndexKey? {
        while let (key, isThere) = lines.next() {
          if isThere { return key }
        }
        return nil
      }
    }
  }
}
