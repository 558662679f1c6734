import Synchronization
import TestSupport
import Testing

@testable import Journaling

/// Tables on a base, compared with dictionaries.
struct EntityTableTests {
  @Test func aTableOnAnyBaseEqualsTheModel() throws {
    var random = SeededGenerator()
    for _ in 0..<3 {
      var table = EntityTable()
      var model = NaiveTable()
      var kept: [(EntityTable, NaiveTable)] = []
      for revision in 1...200 {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let event = model.randomEvent(using: &random)
          #expect(table.accepts(event, at: revision) == model.apply(event, at: revision))
        }
        if random.chance(1, in: 25) {
          table = try table.frozen()
          model.check(table)
        }
        if random.chance(1, in: 40) {
          model.check(table)
          kept.append((table, model))
        }
      }
      model.check(table)
      // The kept copies are unchanged, whatever happened to the original table.
      for (table, model) in kept { model.check(table) }
    }
  }

  @Test func aRefusedEventChangesNothing() throws {
    var table = EntityTable()
    for number in [1, 2, 4] { table.add(number, EntityRecord(), at: number) }
    table.delete(2, at: 5)
    for table in [table, try table.frozen()] {
      for (event, words) in [
        (JournalEvent(entity: .account(1), previous: 1, change: .add(EntityRecord())), "it exists"),
        (JournalEvent(entity: .account(0), previous: 0, change: .add(EntityRecord())), "numbers go from 1"),
        (
          JournalEvent(entity: .account(3), previous: 0, change: .add(EntityRecord())),
          "and 4 was assigned already"
        ),
        (JournalEvent(entity: .account(2), previous: 2, change: .add(EntityRecord())), "the newest one is 5"),
        (JournalEvent(entity: .account(9), previous: 1, change: .add(EntityRecord())), "the newest one is 0"),
        (JournalEvent(entity: .account(2), previous: 5, change: .delete), "it does not exist"),
        (JournalEvent(entity: .account(4), previous: 1, change: .delete), "the newest one is 4"),
      ] {
        var changed = table
        let error = #expect(throws: JournalError.self) {
          try changed.apply(event, at: 6, in: Ledger.self)
        }
        #expect(error?.code == .damaged && error?.revision == 6)
        #expect(error?.message.contains(words) == true, "\(words)")
        #expect(Array(changed.goneEntities).map(\.number) == [2])
        #expect(changed.map { $0.number } == [1, 4] && changed.highest == 4)
      }
    }
  }

  @Test func applyingAnEventGivesTheRowsBeforeAndAfter() throws {
    var plain = EntityTable()
    plain.add(1, EntityRecord(["a": .integer(1)]), at: 1)
    for var table in [plain, try plain.frozen()] {
      let changes = RecordChanges(set: ["b": .integer(2)])
      let update = try table.apply(
        JournalEvent(entity: .account(1), previous: 1, change: .update(changes)), at: 2, in: Ledger.self)
      #expect(update.before == EntityRow(record: EntityRecord(["a": .integer(1)]), created: 1, modified: 1))
      let both = EntityRecord(["a": .integer(1), "b": .integer(2)])
      #expect(update.after == EntityRow(record: both, created: 1, modified: 2))
      let delete = try table.apply(
        JournalEvent(entity: .account(1), previous: 2, change: .delete), at: 3, in: Ledger.self)
      #expect(delete.before == update.after && delete.after == nil)
      let add = try table.apply(
        JournalEvent(entity: .account(1), previous: 3, change: .add(EntityRecord())), at: 4, in: Ledger.self)
      #expect(add.before == nil && add.after == EntityRow(record: EntityRecord(), created: 4, modified: 4))
      #expect(table[1] == add.after)
      #expect(table.totals.deletionCount == 0)
    }
  }

  @Test func onlyTheRequestedEntityOfABaseIsRead() throws {
    var table = EntityTable()
    for number in 1...1_000 { table.add(number, EntityRecord(), at: number) }
    let base = CountingBase(try #require(try table.frozen().base))
    table = EntityTable(base: base)
    table.add(1_001, EntityRecord(), at: 1_001)
    table.update(1_001, to: EntityRow(record: EntityRecord(), created: 1_001, modified: 1_002))
    #expect(table.count == 1_001 && table[1_001] != nil && table.revision(of: 1_001) == 1_002)
    #expect(base.decoded == 0)
    #expect(table[500]?.modified == 500)
    #expect(base.decoded == 1)
    table.delete(500, at: 1_003)
    #expect(table[500] == nil && table.revision(of: 500) == 1_003)
    #expect(base.decoded == 1)
  }

  @Test func entitiesReadInOnePassAreLookedUpInTheirOwnTable() throws {
    var table = EntityTable()
    for number in 1...100 { table.add(number, EntityRecord(["a": .integer(0)]), at: number) }
    let frozen = try table.frozen()
    table = frozen
    for number in stride(from: 1, through: 99, by: 3) {
      let record = EntityRecord(["a": .integer(1)])
      table.update(number, to: EntityRow(record: record, created: number, modified: 200))
      table.delete(number + 1, at: 201)
    }
    table.forEach(Array(1...102)) { number in
      switch number % 3 {
      case _ where number >= 100: #expect(table[number] == frozen[number])
      case 1: #expect(table[number]?.modified == 200)
      case 2: #expect(table[number] == nil)
      default: #expect(table[number]?.modified == number)
      }
      #expect(frozen[number]?.modified == (number > 100 ? nil : number))
    }
  }

  @Test func aTableThatDefersUpdatesEqualsTheModel() throws {
    var random = SeededGenerator()
    for _ in 0..<5 {
      var (table, model) = (EntityTable(), NaiveTable())
      var deferredCount = 0
      for revision in 1...300 {
        let event = model.randomEvent(using: &random)
        guard model.apply(event, at: revision) else { continue }
        if case .update(let changes) = event.change, !table.isErased(event),
          table.deferUpdate(event, changes, at: revision)
        {
          deferredCount += 1
        } else {
          let isAccepted = table.accepts(event, at: revision)
          #expect(isAccepted)
        }
        if random.chance(1, in: 10) { model.check(table) }
        if random.chance(1, in: 20) {
          table = EntityTable(base: try #require(try table.frozen().base), defersUpdates: true)
        }
      }
      model.check(table)
      #expect(deferredCount > 0)
    }
  }

  @Test func anEntityWhoseUpdateIsDeferredIsReadWhenItIsAskedFor() throws {
    var table = EntityTable()
    for number in 1...100 { table.add(number, EntityRecord(["a": .integer(0)]), at: number) }
    let base = CountingBase(try #require(try table.frozen().base))
    table = EntityTable(base: base, defersUpdates: true)
    for number in 1...100 {
      // The entity that 100 updates follows another revision than the base has.
      let previous = number < 100 ? number : 1
      let changes = RecordChanges(set: ["b": .integer(Int64(number))])
      let event = JournalEvent(entity: .account(number), previous: previous, change: .update(changes))
      let isDeferred = table.deferUpdate(event, changes, at: 100 + number)
      let isDeferredAgain = table.deferUpdate(event, changes, at: 300)
      #expect(isDeferred && !isDeferredAgain)
    }
    #expect(base.decoded == 0 && table.revision(of: 7) == 107)
    let both = EntityRecord(["a": .integer(0), "b": .integer(7)])
    #expect(table[7] == EntityRow(record: both, created: 7, modified: 107))
    #expect(base.decoded == 1 && base.failure == nil)
    _ = table[100]
    #expect(base.failure?.description.contains("follows revision 1") == true)
  }

  @Test func problemsNameAWrongCount() {
    var table = EntityTable()
    table.add(1, EntityRecord(), at: 1)
    #expect(table.problems(kind: "account") == [])
    table.add(1, EntityRecord(), at: 2)
    #expect(
      table.problems(kind: "account") == ["1 entities of the kind account exist, but 2 are counted"])
  }

  @Test func theHighestNumberComesFromTheCheckpointAndNotFromTheEntities() throws {
    var table = EntityTable()
    table.add(1, EntityRecord(), at: 1)
    table.add(2, EntityRecord(), at: 1)
    table.delete(2, at: 2)
    #expect(try table.frozen().highest == 2)
    #expect(try table.frozen(highest: 9).highest == 9)
    #expect(
      try table.frozen(highest: 0).problems(kind: "account").contains(
        "account:1 exists, but no number above 0 was assigned"))
  }
}

/// A base that counts the rows that are read.
private final class CountingBase: EntityBase {
  private let base: any EntityBase
  private let decodedRows = Atomic(0)

  init(_ base: any EntityBase) { self.base = base }

  var decoded: Int { decodedRows.load(ordering: .relaxed) }

  var totals: EntityTotals { base.totals }
  var failure: JournalError? { base.failure }
  func fail(_ error: JournalError) { base.fail(error) }
  func row(_ number: Int) -> EntityRow? {
    decodedRows.wrappingAdd(1, ordering: .relaxed)
    return base.row(number)
  }
  func keep(_ row: EntityRow, of number: Int) { base.keep(row, of: number) }
  func revision(of number: Int) -> Revision { base.revision(of: number) }
  func rows(from number: Int) -> BaseIterator<Int, EntityRow> {
    var rows = base.rows(from: number)
    return BaseIterator {
      self.decodedRows.wrappingAdd(1, ordering: .relaxed)
      return rows.next()
    }
  }
  func deletions() -> BaseIterator<Int, Deletion> { base.deletions() }
  func isErased(_ number: Int) -> Bool { base.isErased(number) }
  func revisions() -> BaseIterator<Int, Revision> { base.revisions() }
  func valueLines(_ definition: IndexDefinition) -> (any ValueLinesBase)? { nil }
  func words(_ definition: IndexDefinition) -> (any WordsBase)? { nil }
  func distance(to other: any EntityBase) -> Int? { nil }
  func numbers(changedSince other: any EntityBase) -> Set<Int> { [] }
}
