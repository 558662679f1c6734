import Tables

/// An entity that is there: its record, still encoded, and when it came and changed.
public struct EntityRow: Hashable, Sendable {
  /// All that is known of the entity.
  public let record: EntityRecord
  /// The revision that added it; for one that was deleted and brought back, the revision that did that.
  public let created: Revision
  /// The revision that changed it last.
  public let modified: Revision

  /// A row of these parts.
  public init(record: EntityRecord, created: Revision, modified: Revision) {
    self.record = record
    self.created = created
    self.modified = modified
  }
}

/// What is known of an entity that is gone.
package struct Deletion: Hashable, Sendable {
  /// The revision of its newest event.
  package let revision: Revision
  /// Whether it is gone because what it was has been erased.
  package let isErased: Bool

  package init(revision: Revision, isErased: Bool = false) {
    self.revision = revision
    self.isErased = isErased
  }
}

/// All entities of one kind, those that are gone included: what a state is made of.
///
/// ```swift
/// var accounts = EntityTable()
/// try accounts.apply(event, at: revision, in: Ledger.self)
/// accounts[42]?.record["owner"]
/// ```
///
/// A table is a value. Copying it takes no time, and no later change reaches a copy. It may stand on the
/// entities of a snapshot, which it then reads only when they are asked for; it looks the same either way.
///
/// 1. What is in `rows` is there. What is in `deletions` is gone: deleted, or erased. Of any other number the base
///    decides, and without a base it is not there.
/// 2. A number is in `rows` or in `deletions` or in neither, never in both.
/// 3. No number, of the base neither, is above `highest`. A number up to `highest` that is neither there nor
///    gone was given in an entry that deleted the entity again, or never reached the log.
/// 4. `count` and `deletionCount` count what is there and what is gone, with the base.
///
/// *n* is the number of entities below.
public struct EntityTable: Sendable {
  /// The entities of a snapshot's layers, nil for a table that was replayed from revision 0.
  let base: (any EntityBase)?
  /// What was added or changed since.
  private(set) var rows = SortedTable<Int, EntityRow>()
  /// Each entity that went since.
  private(set) var deletions = SortedTable<Int, Deletion>()

  /// The highest number that was ever given, 0 when none was. The next entity gets the one above.
  public private(set) var highest: Int
  /// How many entities are there.
  public private(set) var count: Int
  /// How many entities are gone.
  package private(set) var deletionCount: Int
  /// How many of these were erased.
  package private(set) var erasedCount: Int

  /// An empty table.
  public init() {
    base = nil
    highest = 0
    count = 0
    deletionCount = 0
    erasedCount = 0
  }

  /// The table that the layers of a snapshot have.
  /// - Parameter highest: the highest number that was ever given; none of the base is above it.
  package init(base: any EntityBase, highest: Int) {
    self.base = base
    self.highest = highest
    count = base.count
    deletionCount = base.deletionCount
    erasedCount = base.erasedCount
  }

  /// Whether no entity is there. O(1).
  public var isEmpty: Bool { count == 0 }

  /// The entity of that number, nil when it is not there. O(log n).
  public subscript(number: Int) -> EntityRow? {
    if let row = rows[number] { return row }
    return base == nil ? nil : rowOfBase(number)
  }

  @inline(never)
  private func rowOfBase(_ number: Int) -> EntityRow? {
    deletions.contains(number) ? nil : base?.row(number)
  }

  /// The revision of an entity's newest event, its deletion included; 0: it never was. O(log n).
  public func revision(of number: Int) -> Revision {
    // A new number is in no table, and need not be looked for.
    if number > highest { return 0 }
    return rows[number]?.modified ?? deletions[number]?.revision ?? base?.revision(of: number) ?? 0
  }

  /// The entities that are gone because they were erased, in order.
  package var erasedNumbers: [Int] {
    erasedCount == 0 ? [] : goneEntities.filter { $0.isErased }.map { $0.number }
  }

  /// Whether an entity is gone because what it was has been erased. O(log n), O(1) while none was.
  public func isErased(_ number: Int) -> Bool {
    if erasedCount == 0 || rows.contains(number) { return false }
    return deletions[number]?.isErased ?? base?.isErased(number) ?? false
  }

  /// Whether an event has lost its content to an erasure, or concerns an entity that has and is not added again.
  public func isErased(_ event: JournalEvent) -> Bool {
    switch event.change {
    case .erased: true
    case .add: false
    case .update, .delete: isErased(event.entity.number)
    }
  }

  /// Whether an event that follows `previous` may add that number: it is new, or that of an entity that is gone.
  func canAdd(_ number: Int, previous: Revision) -> Bool {
    // Nearly always a number is the next one, and then no table need be searched.
    if number > highest { return EntityKey.numbers.contains(number) && previous == 0 }
    return previous != 0 && self[number] == nil && revision(of: number) == previous
  }
}

// The steps of an event. Whether it follows is checked before: `EntityTable+Apply.swift`.
extension EntityTable {
  /// Adds an entity that is not there.
  package mutating func add(_ number: Int, _ record: EntityRecord, at revision: Revision) {
    if number > highest { highest = number } else { revive(number) }
    rows.updateValue(EntityRow(record: record, created: revision, modified: revision), forKey: number)
    count &+= 1
  }

  /// Takes an entity that may be gone off the count of those.
  private mutating func revive(_ number: Int) {
    if isErased(number) { erasedCount -= 1 }
    if deletions.removeValue(forKey: number) != nil || base.map({ $0.revision(of: number) > 0 }) == true {
      deletionCount -= 1
    }
  }

  /// Gives an entity that is there another row.
  package mutating func update(_ number: Int, to row: EntityRow) { rows.updateValue(row, forKey: number) }

  /// Deletes an entity that is there.
  package mutating func delete(_ number: Int, at revision: Revision) {
    rows.removeValue(forKey: number)
    deletions.updateValue(Deletion(revision: revision), forKey: number)
    count &-= 1
    deletionCount &+= 1
  }

  /// Makes an entity one that was erased, whatever it was before.
  package mutating func erase(_ number: Int, at revision: Revision) {
    if !isErased(number) { erasedCount += 1 }
    if number > highest {
      highest = number
      deletionCount += 1
    } else if self[number] != nil {
      count -= 1
      deletionCount += 1
    }
    rows.removeValue(forKey: number)
    deletions.updateValue(Deletion(revision: revision, isErased: true), forKey: number)
  }

  /// Notes an event of an entity that was erased: an update leaves it so, a deletion makes it one that is gone.
  package mutating func passErased(_ number: Int, isDeletion: Bool, at revision: Revision) {
    deletions.updateValue(Deletion(revision: revision, isErased: !isDeletion), forKey: number)
    if isDeletion { erasedCount -= 1 }
  }
}
