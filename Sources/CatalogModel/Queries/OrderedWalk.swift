package import CBOR

/// Iterates over the index of the first sort key, in steps.
package struct OrderedWalk: Sendable {
  /// The numbers of the items found so far, in order.
  package private(set) var numbers: [Int] = []
  /// How many lines were read.
  package private(set) var lineCount = 0
  /// Whether every line was read.
  package private(set) var isAtEnd = false
  private let index: QueryIndex
  private let isReversed: Bool
  /// The lines that were not yet read, or nil if there are none.
  private var rest: ClosedRange<ValueLine>?
  /// The other sort keys, which sort items that are equal by the first.
  private let others: [QueryOrder]
  private var equals: [(number: Int, keys: [ValueKey])] = []
  private var key: ValueKey?

  /// - Parameter orders: the sort keys, at least one. The first is that of the index.
  package init(_ index: QueryIndex, _ orders: [QueryOrder], in range: ValueRange = .all) {
    self.index = index
    isReversed = orders.first?.isDescending ?? false
    others = Array(orders.dropFirst())
    rest = range.lines
  }

  /// Reads more lines. Returns whether as many numbers as needed, or all that there are, were found.
  /// - Parameters:
  ///   - isOver: called after each line; returns whether to pause the walk.
  ///   - keys: tests an item. Returns its values by the other sort keys, or nil if the item does not match.
  package mutating func walk(until needed: Int, isOver: () -> Bool, keys: (_ number: Int) -> [ValueKey]?)
    -> Bool
  {
    var lines = index.lines(in: rest, reversed: isReversed)
    var last: ValueLine?
    defer { if let last { rest = isAtEnd ? nil : rest?.after(last, reversed: isReversed) } }
    repeat {
      if numbers.count >= needed { return true }
      guard let line = lines.next() else {
        settle()
        isAtEnd = true
        return true
      }
      lineCount += 1
      if !others.isEmpty, line.key != key {
        settle()
        key = line.key
        // The next call reads this line again.
        if numbers.count >= needed { return true }
      }
      last = line
      guard let found = keys(line.member) else { continue }
      if others.isEmpty { numbers.append(line.member) } else { equals.append((line.member, found)) }
    } while !isOver()
    return numbers.count >= needed
  }

  private mutating func settle() {
    if equals.isEmpty { return }
    equals.sort { left, right in
      others.isBefore((left.keys, left.number), (right.keys, right.number))
    }
    numbers.append(contentsOf: equals.map(\.number))
    equals = []
  }
}

extension ClosedRange<ValueLine> {
  /// The range after one of its lines, in order or in reverse; nil if it is empty.
  fileprivate func after(_ line: ValueLine, reversed: Bool) -> ClosedRange? {
    let next = ValueLine(key: line.key, member: line.member + (reversed ? -1 : 1))
    if reversed { return lowerBound <= next ? lowerBound...next : nil }
    return next <= upperBound ? next...upperBound : nil
  }
}
