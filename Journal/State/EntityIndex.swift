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
/// An index is a value, as an ``EntityTable`` is, and may stand on that of a snapshot. All groups stand in one
/// table, side by side, so a group of one costs no more than a line.
///
/// 1. A line is there when it is in `added`, or in the base and not in `removed`.
/// 2. No line in `added` is in the base. Each line in `removed` is.
///
/// *n* is the number of lines below. Groups and members are any numbers; negative ones come after all others.
public struct EntityIndex: Sendable {
  /// The lines of a snapshot, nil for an index that was built from revision 0.
  let base: (any IndexBase)?
  private(set) var added = Table<IndexKey, Void>()
  private(set) var removed = Table<IndexKey, Void>()

  /// An empty index.
  public init() { base = nil }

  /// The index that a snapshot has.
  package init(base: any IndexBase) { self.base = base }

  /// How many lines there are: members of all groups together. O(1).
  public var count: Int { added.count + (base?.count ?? 0) - removed.count }

  /// Whether a group has that member. O(log n).
  public func contains(_ member: Int, in group: Int) -> Bool {
    let key = IndexKey(group: group, member: member)
    if added.contains(key) { return true }
    guard let base else { return false }
    return !removed.contains(key) && base.contains(key)
  }

  /// Puts a member into a group; nothing changes when it is there. O(log n).
  public mutating func insert(_ member: Int, in group: Int) {
    let key = IndexKey(group: group, member: member)
    if base == nil { added.updateValue((), forKey: key) } else { insertAboveBase(key) }
  }

  @inline(never)
  private mutating func insertAboveBase(_ key: IndexKey) {
    if base?.contains(key) == true {
      removed.removeValue(forKey: key)
    } else {
      added.updateValue((), forKey: key)
    }
  }

  /// Takes a member out of a group; nothing changes when it is not there. O(log n).
  public mutating func remove(_ member: Int, from group: Int) {
    let key = IndexKey(group: group, member: member)
    // Without a base there is nothing below that could have to be hidden.
    if added.removeValue(forKey: key) == nil, base?.contains(key) == true {
      removed.updateValue((), forKey: key)
    }
  }
}
