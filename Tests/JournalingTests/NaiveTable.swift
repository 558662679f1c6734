import TestSupport
import Testing

@testable import Journaling

/// A table of plain dictionaries.
struct NaiveTable {
  private var rows: [Int: EntityRow] = [:]
  private var deletions: [Int: Revision] = [:]
  private var erased: Set<Int> = []
  private var highest = 0

  private func revision(of number: Int) -> Revision { rows[number]?.modified ?? deletions[number] ?? 0 }

  /// An event of any kind on any number. Most of them follow from the table.
  func randomEvent(using random: inout SeededGenerator) -> JournalEvent {
    let next = highest + (random.chance(1, in: 8) ? 3 : 1)
    let number = random.chance(1, in: 3) ? next : Int.random(in: -1...highest + 2, using: &random)
    let change: JournalEvent.Change =
      switch Int.random(in: 0..<(rows[number] == nil && !erased.contains(number) ? 7 : 24), using: &random) {
      case 0...5: .add(EntityRecord(["n": .integer(.random(in: 0..<9, using: &random))]))
      case 6: .erased(.add)
      case 7...15: .update(RecordChanges(set: ["n": .integer(.random(in: 0..<9, using: &random))]))
      case 16: .erased(.update)
      default: .delete
      }
    let previous = random.chance(1, in: 20) ? Int.random(in: 0...9, using: &random) : revision(of: number)
    return JournalEvent(entity: .account(number), previous: previous, change: change)
  }

  /// - Returns: whether the event follows.
  mutating func apply(_ event: JournalEvent, at revision: Revision) -> Bool {
    let number = event.entity.number
    guard event.previous == self.revision(of: number) else { return false }
    let isNew = number > highest && number > 0 || deletions[number] != nil
    switch (event.change, rows[number]) {
    case (.erased(.add), nil):
      guard isNew else { return false }
      deletions[number] = revision
      erased.insert(number)
      highest = max(highest, number)
    case (.update, nil) where erased.contains(number), (.erased(.update), nil) where erased.contains(number):
      deletions[number] = revision
    case (.delete, nil) where erased.contains(number):
      deletions[number] = revision
      erased.remove(number)
    case (.erased(.update), _?):
      rows[number] = nil
      deletions[number] = revision
      erased.insert(number)
    case (.add(let record), nil):
      guard isNew else { return false }
      deletions[number] = nil
      erased.remove(number)
      rows[number] = EntityRow(record: record, created: revision, modified: revision)
      highest = max(highest, number)
    case (.update(let changes), let row?):
      rows[number] = EntityRow(record: row.record.applying(changes), created: row.created, modified: revision)
    case (.delete, _?):
      rows[number] = nil
      deletions[number] = revision
    default: return false
    }
    return true
  }

  /// Compares everything that a table shows with this model.
  func check(_ table: EntityTable, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(table.highest == highest, sourceLocation: sourceLocation)
    #expect(table.erasedNumbers == erased.sorted(), sourceLocation: sourceLocation)
    #expect(table.count == rows.count, sourceLocation: sourceLocation)
    #expect(table.totals.deletionCount == deletions.count, sourceLocation: sourceLocation)
    #expect(table.problems(kind: "account") == [], sourceLocation: sourceLocation)
    let numbers = rows.keys.sorted()
    #expect(table.map { $0.number } == numbers, sourceLocation: sourceLocation)
    #expect(table.map { $0.row } == numbers.map { rows[$0] }, sourceLocation: sourceLocation)
    let gone = deletions.keys.sorted()
    #expect(table.goneEntities.map { $0.number } == gone, sourceLocation: sourceLocation)
    #expect(
      table.goneEntities.map { $0.revision } == gone.map { deletions[$0] }, sourceLocation: sourceLocation)
    let all = Array(-1...highest + 3)
    #expect(all.map { table[$0] } == all.map { rows[$0] }, sourceLocation: sourceLocation)
    #expect(
      all.map { table.revision(of: $0) } == all.map { revision(of: $0) }, sourceLocation: sourceLocation)
    // Numbers that are close to each other are read in one pass; one of another order is looked up.
    for asked in [all, all + [1], all.filter { $0 % 16 == 0 }] {
      let entities = table.entities(asked)
      #expect(entities.map { $0.number } == asked, sourceLocation: sourceLocation)
      #expect(entities.map { $0.row } == asked.map { rows[$0] }, sourceLocation: sourceLocation)
    }
    for number in all {
      let rest = table.entities(from: number)
      #expect(rest.map { $0.number } == numbers.filter { $0 >= number }, sourceLocation: sourceLocation)
    }
  }
}

extension EntityTable {
  /// Applies an event if it follows.
  /// - Returns: whether it follows.
  mutating func accepts(_ event: JournalEvent, at revision: Revision) -> Bool {
    (try? apply(event, at: revision, in: Ledger.self)) != nil
  }
}
