import Tables

/// One line of an index: what is looked for, and the number of an entity found there.
package struct IndexKey: Comparable, Hashable, Sendable {
  package let group: Int
  package let member: Int

  package init(group: Int, member: Int) {
    self.group = group
    self.member = member
  }

  // The two words compare as one number without a branch: a third of the time of an event goes into these
  // comparisons. A negative one comes after all others.
  @inline(__always)
  private var number: UInt128 {
    UInt128(UInt64(truncatingIfNeeded: group)) << 64 | UInt128(UInt64(truncatingIfNeeded: member))
  }

  /// No key comes after this one.
  package static let last = IndexKey(group: -1, member: -1)

  @inline(__always)
  package static func < (left: IndexKey, right: IndexKey) -> Bool { left.number < right.number }
}

/// Finds the members of a group, in the order of their numbers: the items of a category, say.
///
/// ```swift
/// accountsByBranch.insert(account, in: branch)
/// for account in accountsByBranch.members(of: branch) { … }
/// ```
///
/// An index is a value, as an ``EntityTable`` is, and may be backed by the layers of a snapshot. All groups are in one
/// table, side by side, so a group of one costs no more than a line.
///
/// 1. A line whose key is in `changes` is there when that says so. Of any other the base decides, and without a base
///    it is not there.
/// 2. Without a base, `changes` has no line that is not there.
///
/// *n* is the number of lines below. Groups and members are any numbers; negative ones come after all others.
public struct EntityIndex: Sendable {
  /// The lines of a snapshot's layers, nil for an index that was built from revision 0.
  let base: (any IndexBase)?
  /// Which lines were inserted since, and which removed.
  private(set) var changes = SortedTable<IndexKey, Bool>()

  /// An empty index.
  public init() { base = nil }

  /// The index that the layers of a snapshot have.
  package init(base: any IndexBase) { self.base = base }

  /// Whether a group has that member. O(log n).
  public func contains(_ member: Int, in group: Int) -> Bool {
    let key = IndexKey(group: group, member: member)
    return changes[key] ?? base?.contains(key) ?? false
  }

  /// Puts a member into a group; nothing changes when it is there. O(log n).
  public mutating func insert(_ member: Int, in group: Int) {
    changes.updateValue(true, forKey: IndexKey(group: group, member: member))
  }

  /// Takes a member out of a group; nothing changes when it is not there. O(log n).
  public mutating func remove(_ member: Int, from group: Int) {
    let key = IndexKey(group: group, member: member)
    // The base is not asked whether it has the line: that costs a search in each of its layers.
    if base == nil { changes.removeValue(forKey: key) } else { changes.updateValue(false, forKey: key) }
  }
}
