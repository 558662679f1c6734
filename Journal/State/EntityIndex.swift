import Tables

/// One line of an index: a group, and the number of a member.
package struct IndexKey: Comparable, Hashable, Sendable {
  package let group: Int
  package let member: Int

  package init(group: Int, member: Int) {
    self.group = group
    self.member = member
  }

  // Group and member are compared as one number, without a branch, because such comparisons take a third of the time of
  // an event. Negative numbers come last.
  @inline(__always)
  private var number: UInt128 {
    UInt128(UInt64(truncatingIfNeeded: group)) << 64 | UInt128(UInt64(truncatingIfNeeded: member))
  }

  /// No key comes after this one.
  package static let last = IndexKey(group: -1, member: -1)

  @inline(__always)
  package static func < (left: IndexKey, right: IndexKey) -> Bool { left.number < right.number }
}

/// Finds the members of a group in the order of their numbers, such as the items of a category.
///
/// ```swift
/// accountsByBranch.insert(account, in: branch)
/// for account in accountsByBranch.members(of: branch) { … }
/// ```
///
/// An index is a value, like ``EntityTable``, and may be backed by layers. Each member of each group
/// is a line of one table, so a group of one member costs one line. Changes and base together give the lines:
///
/// 1. If a line's key is in `changes`, the value there says whether the line exists. Otherwise the base decides;
///    without a base the line does not exist.
/// 2. Without a base, `changes` has only existing lines.
///
/// Below, *n* is the number of lines. Groups and members are any numbers; negative ones come last.
public struct EntityIndex: Sendable {
  /// The lines of the layers, nil for an index that was built from revision 0.
  let base: (any IndexBase)?
  /// The lines that were inserted (true) or removed (false) above the base.
  private(set) var changes = SortedTable<IndexKey, Bool>()

  /// An empty index.
  public init() { base = nil }

  /// An index that is backed by layers, without changes yet.
  package init(base: any IndexBase) { self.base = base }

  /// Whether a group has a member. O(log n).
  public func contains(_ member: Int, in group: Int) -> Bool {
    let key = IndexKey(group: group, member: member)
    return changes[key] ?? base?.contains(key) ?? false
  }

  /// Inserts a member into a group, if it is not there. O(log n).
  public mutating func insert(_ member: Int, in group: Int) {
    changes.updateValue(true, forKey: IndexKey(group: group, member: member))
  }

  /// Removes a member from a group, if it is there. O(log n).
  public mutating func remove(_ member: Int, from group: Int) {
    let key = IndexKey(group: group, member: member)
    // Whether the base has the line is not checked, because that would search each of its layers.
    if base == nil { changes.removeValue(forKey: key) } else { changes.updateValue(false, forKey: key) }
  }
}

extension StateParts {
  /// The parts, with each index as the base of a new one, which records removals like one backed by layers.
  var withBasedIndexes: StateParts {
    var parts = self
    parts.indexes = indexes.map { ($0.name, EntityIndex(base: FixedIndex($0.index))) }
    return parts
  }
}

/// An index as the base of another.
private final class FixedIndex: IndexBase {
  private let index: EntityIndex

  init(_ index: EntityIndex) { self.index = index }

  func contains(_ key: IndexKey) -> Bool { index.contains(key.member, in: key.group) }

  func lines(from first: IndexKey, through last: IndexKey) -> BaseIterator<IndexKey, Bool>? {
    var lines = index.lines(from: first, through: last).makeIterator()
    return BaseIterator { lines.next().map { ($0, true) } }
  }
}
