import Tables

/// An existing entity: its record, still encoded, and the revisions that created and changed it.
public struct EntityRow: Hashable, Sendable {
  /// The record of the entity.
  public let record: EntityRecord
  /// The revision that added the entity, or added it again after a deletion.
  public let created: Revision
  /// The revision that changed the entity last.
  public let modified: Revision

  /// Makes a row.
  public init(record: EntityRecord, created: Revision, modified: Revision) {
    self.record = record
    self.created = created
    self.modified = modified
  }
}

/// A deleted or erased entity.
package struct Deletion: Hashable, Sendable {
  /// The revision of the entity's newest event.
  package let revision: Revision
  package let isErased: Bool

  package init(revision: Revision, isErased: Bool = false) {
    self.revision = revision
    self.isErased = isErased
  }
}

/// All updates of an entity since the version that the base of its table has.
struct DeferredUpdate: Sendable {
  let changes: RecordChanges
  /// The revision that the entity must have in the base.
  let previous: Revision
  /// The revision of the newest update.
  let modified: Revision
}

/// All entities of one kind, including deleted ones: the building block of a state.
///
/// ```swift
/// var accounts = EntityTable()
/// try accounts.apply(event, at: revision, in: Ledger.self)
/// accounts[42]?.record["owner"]
/// ```
///
/// A table is a value. Copying it takes constant time, and later changes do not affect a copy. A table may be backed by
/// layers, whose entities it reads on demand; it behaves the same in both cases.
///
/// 1. An entity in `rows` exists. One in `deletions` is deleted or erased. For any other number the base decides;
///    without a base the entity does not exist.
/// 2. A number is in `rows` or in `deletions` or in neither, never in both.
/// 3. No number is above `highest`, not even in the base. A number up to `highest` that neither exists nor is deleted
///    was assigned in an entry that also deleted the entity, or in one that never reached the log.
/// 4. `totals` include the base; `rowByteCount` and `replacedByteCount` do not.
/// 5. A number in `deferred` is in neither `rows` nor `deletions`: its entity is that of the base, updated when it is
///    read.
///
/// Below, *n* is the number of entities.
public struct EntityTable: Sendable {
  /// The entities of the layers, nil for a table that was replayed from revision 0.
  let base: (any EntityBase)?
  /// The entities that were added or changed above the base.
  private(set) var rows = SortedTable<Int, EntityRow>()
  /// The number of bytes of the records in `rows`, all of which are in memory.
  private(set) var rowByteCount = 0
  /// The number of bytes of records in `rows` that were replaced or removed. Copies of the table may hold them.
  private(set) var replacedByteCount = 0
  /// The entities that were deleted or erased above the base.
  private(set) var deletions = SortedTable<Int, Deletion>()
  /// The updates of entities that were not read yet; nil if each update is applied at once.
  private(set) var deferred: [Int: DeferredUpdate]?
  /// How many events have changed the table above the base.
  private(set) var changeCount = 0

  private(set) var totals = EntityTotals()
  /// The highest number that was ever assigned, 0 if no entity was ever added. The next entity gets the next number.
  public var highest: Int { totals.highest }
  /// How many entities exist.
  public var count: Int { totals.count }

  /// An empty table.
  public init() { base = nil }

  /// A table that is backed by layers, without changes yet.
  /// - Parameter defersUpdates: whether an update of an entity that was not read may wait until that entity is read, as
  ///   suits a state of which few entities are read. No layer can be made of such a table.
  package init(base: any EntityBase, defersUpdates: Bool = false) {
    self.base = base
    totals = base.totals
    if defersUpdates { deferred = [:] }
  }

  /// The entities that were added, changed or deleted above the layers.
  var numbersAboveBase: [Int] {
    rows.map(\.key) + deletions.map(\.key) + (deferred.map { Array($0.keys) } ?? [])
  }

  /// Whether another table is backed by the same layers.
  func hasSameBase(as other: EntityTable) -> Bool { base === other.base }

  /// Whether no entity exists. O(1).
  public var isEmpty: Bool { count == 0 }

  /// The entity of that number, nil if it does not exist. O(log n).
  public subscript(number: Int) -> EntityRow? {
    if let row = rows[number] { return row }
    return base == nil ? nil : rowOfBase(number)
  }

  @inline(never)
  private func rowOfBase(_ number: Int) -> EntityRow? {
    if deletions.contains(number) { return nil }
    if let row = base?.row(number) { return updated(number, row) }
    if let update = deferred?[number] {
      base?.fail(
        JournalError(.damaged, "an update of an entity that does not exist", revision: update.modified))
    }
    return nil
  }

  /// An entity of the base with its deferred update.
  func updated(_ number: Int, _ row: EntityRow) -> EntityRow {
    guard let update = deferred?[number] else { return row }
    if row.modified != update.previous {
      base?.fail(
        JournalError(
          .damaged,
          "an update follows revision \(update.previous), but the entity is of revision \(row.modified)",
          revision: update.modified))
    }
    return row.applying(update.changes, at: update.modified)
  }

  /// The revision of an entity's newest event, including its deletion; 0 if it never existed. O(log n).
  public func revision(of number: Int) -> Revision {
    // A number above the highest was never assigned, so nothing is searched.
    if number > highest { return 0 }
    return rows.part(of: number) { $0.modified } ?? deletions[number]?.revision ?? deferred?[number]?.modified
      ?? base?.revision(of: number) ?? 0
  }

  package var erasedNumbers: [Int] {
    totals.erasedCount == 0 ? [] : goneEntities.filter { $0.isErased }.map { $0.number }
  }

  /// Whether an entity was erased. O(log n), or O(1) if no entity is erased.
  public func isErased(_ number: Int) -> Bool {
    if totals.erasedCount == 0 || rows.contains(number) { return false }
    return deletions[number]?.isErased ?? base?.isErased(number) ?? false
  }

  /// Whether the content of an event was erased, or its entity is erased and the event does not add it again.
  public func isErased(_ event: JournalEvent) -> Bool {
    switch event.change {
    case .erased: true
    case .add: false
    case .update, .delete: isErased(event.entity.number)
    }
  }

  /// Whether an event that follows `previous` may add that number: it is new, or its entity is deleted or erased.
  func canAdd(_ number: Int, previous: Revision) -> Bool {
    // Nearly always the number is the next one, and no table need be searched.
    if number > highest { return EntityKey.numbers.contains(number) && previous == 0 }
    return previous != 0 && self[number] == nil && revision(of: number) == previous
  }
}

// The changes that events make. `EntityTable+Apply.swift` checks that an event is possible, before it calls these.
extension EntityTable {
  /// Adds an entity that does not exist.
  package mutating func add(_ number: Int, _ record: EntityRecord, at revision: Revision) {
    if number > highest { totals.highest = number } else { revive(number) }
    set(EntityRow(record: record, created: revision, modified: revision), of: number)
    totals.count &+= 1
  }

  /// Removes an entity from the counts of deleted and erased entities, and from `deletions`.
  private mutating func revive(_ number: Int) {
    if isErased(number) { totals.erasedCount -= 1 }
    if deletions.removeValue(forKey: number) != nil || base.map({ $0.revision(of: number) > 0 }) == true {
      totals.deletionCount -= 1
    }
  }

  /// Replaces the row of an existing entity.
  package mutating func update(_ number: Int, to row: EntityRow) { set(row, of: number) }

  /// Defers an update of an entity of the base, without reading that entity.
  /// - Returns: false if the update has to be applied now.
  package mutating func deferUpdate(_ event: JournalEvent, _ changes: RecordChanges, at revision: Revision)
    -> Bool
  {
    let number = event.entity.number
    guard deferred != nil, number <= highest, !rows.contains(number), !deletions.contains(number) else {
      return false
    }
    let earlier = deferred?[number]
    guard earlier == nil || earlier?.modified == event.previous else { return false }
    deferred?[number] = DeferredUpdate(
      changes: earlier.map { $0.changes.followed(by: changes) } ?? changes,
      previous: earlier?.previous ?? event.previous, modified: revision)
    changeCount &+= 1
    return true
  }

  /// Deletes an existing entity.
  package mutating func delete(_ number: Int, at revision: Revision) {
    removeRow(of: number)
    set(Deletion(revision: revision), of: number)
    totals.count &-= 1
    totals.deletionCount &+= 1
  }

  /// Makes an entity erased, whether it exists, is deleted or never existed.
  package mutating func erase(_ number: Int, at revision: Revision) {
    if !isErased(number) { totals.erasedCount += 1 }
    if number > highest {
      totals.highest = number
      totals.deletionCount += 1
    } else if self[number] != nil {
      totals.count -= 1
      totals.deletionCount += 1
    }
    removeRow(of: number)
    set(Deletion(revision: revision, isErased: true), of: number)
  }

  /// Records an event of an erased entity: after an update it is still erased, after a deletion it is deleted.
  package mutating func passErased(_ number: Int, isDeletion: Bool, at revision: Revision) {
    set(Deletion(revision: revision, isErased: !isDeletion), of: number)
    if isDeletion { totals.erasedCount -= 1 }
  }

  private mutating func set(_ deletion: Deletion, of number: Int) {
    changeCount &+= 1
    deletions.updateValue(deletion, forKey: number)
  }

  private mutating func set(_ row: EntityRow, of number: Int) {
    changeCount &+= 1
    deferred?[number] = nil
    rowByteCount &+= row.record.bytes.count
    if let old = rows.updateValue(row, forKey: number) { note(replaced: old) }
  }

  private mutating func removeRow(of number: Int) {
    deferred?[number] = nil
    if let old = rows.removeValue(forKey: number) { note(replaced: old) }
  }

  private mutating func note(replaced old: EntityRow) {
    rowByteCount &-= old.record.bytes.count
    replacedByteCount &+= old.record.bytes.count
  }
}
