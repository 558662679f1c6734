import CBOR
import Tables

/// An index of a table: its lines in layers, and those of later changes. The lines are read on demand, so a query right
/// after an opening need not wait until an index is in memory.
///
/// Each layer lists its own versions of entities. A line counts only if it is of the entity's newest version: if a
/// later layer or change has the entity, its older lines are skipped.
package struct LayeredIndex: Sendable {
  private let table: EntityTable
  private let base: any ValueLinesBase
  /// The lines of the entities that were added or changed above the layers, whether or not an update was deferred.
  private let recent: ValueIndex

  /// Nil if the table is not backed by layers, or if one of them lacks the index.
  package init?(_ table: EntityTable, _ definition: IndexDefinition) {
    guard let base = table.base?.valueLines(definition) else { return nil }
    self.table = table
    self.base = base
    recent = ValueIndex(aboveBaseOf: table, definition)
  }

  /// The lines in a range; none if the range is nil.
  package func makeIterator(in range: ClosedRange<ValueLine>?, reversed: Bool) -> Iterator {
    Iterator(self, range, isReversed: reversed)
  }

  /// This index in memory. O(n).
  func inMemory() -> ValueIndex { ValueIndex(lines().map(\.line)) }

  /// All lines in order, with the revisions of their entities. O(n).
  func lines() -> [LayerValueLine] {
    // Looking up each line's entity in all layers would take longer than listing all entities once.
    var revisions: [Int: Revision] = [:]
    // The count comes from a file, so the reservation has a limit.
    revisions.reserveCapacity(min(max(table.count, 0), 1 << 24))
    var versions = table.base?.revisions()
    while let (number, revision) = versions?.next() { revisions[number] = revision }
    for (number, _) in table.rows { revisions[number] = nil }
    for (number, _) in table.deletions { revisions[number] = nil }
    for number in table.deferred?.keys ?? [:].keys { revisions[number] = nil }
    var below = base.lines(from: .first, through: .last, reversed: false)
    var above = recent.lines.makeIterator()
    var next = above.next()?.key
    var lines: [LayerValueLine] = []
    func append(_ line: ValueLine) {
      lines.append(LayerValueLine(line: line, revision: table.revision(of: line.member)))
      next = above.next()?.key
    }
    while let (line, revision) = below.next() {
      guard revisions[line.member] == revision else { continue }
      while let newer = next, newer < line { append(newer) }
      lines.append(LayerValueLine(line: line, revision: revision))
    }
    while let newer = next { append(newer) }
    return lines
  }

  package struct Iterator: IteratorProtocol {
    private let table: EntityTable
    private let isReversed: Bool
    private var below: BaseIterator<ValueLine, Revision>?
    private var above: ValueIndex.Lines.Iterator
    private var nextBelow: ValueLine?
    private var nextAbove: ValueLine?

    fileprivate init(_ index: LayeredIndex, _ range: ClosedRange<ValueLine>?, isReversed: Bool) {
      table = index.table
      self.isReversed = isReversed
      below = range.map {
        index.base.lines(from: $0.lowerBound, through: $0.upperBound, reversed: isReversed)
      }
      above = index.recent.lines(in: range, reversed: isReversed).makeIterator()
      nextAbove = above.next()
      advanceBelow()
    }

    private mutating func advanceBelow() {
      nextBelow = nil
      while let (line, revision) = below?.next() {
        guard table.revision(of: line.member) == revision else { continue }
        nextBelow = line
        return
      }
    }

    package mutating func next() -> ValueLine? {
      if let lower = nextBelow, nextAbove.map({ isReversed ? $0 < lower : lower < $0 }) ?? true {
        advanceBelow()
        return lower
      }
      guard let upper = nextAbove else { return nil }
      nextAbove = above.next()
      return upper
    }
  }
}

extension ValueLine {
  /// No line comes before `first` or after `last`.
  static let first = ValueLine(key: .missing, member: .min)
  static let last = ValueLine(key: .greatest, member: .max)
}

extension ValueRange {
  /// The lines whose values are in this range; nil if there can be none.
  ///
  /// `Int.min` and `Int.max` are sentinels: no member has these numbers.
  package var lines: ClosedRange<ValueLine>? {
    let first = ValueLine(key: lower, member: includesLower ? .min : .max)
    let last = ValueLine(key: upper, member: includesUpper ? .max : .min)
    return first <= last ? first...last : nil
  }
}
