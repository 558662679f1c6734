import JournalMaintenance
import SHA256
import TestSupport
import Testing

@testable import Journaling

/// The digest of a state, as `Documentation/Format.md` defines it. `FormatTests` tests the example there.
struct StateDigestTests {
  @Test func aStateHasTheDocumentedDigestWhateverItIsBackedBy() throws {
    var random = SeededGenerator()
    var model = NaiveTable()
    var tables = [EntityTable(), EntityTable()]
    for revision in 1...300 {
      let event = model.randomEvent(using: &random)
      let follows = model.apply(event, at: revision)
      for index in tables.indices { #expect(tables[index].accepts(event, at: revision) == follows) }
      if random.chance(1, in: 20) {
        tables[1] = try tables[1].frozen()
      }
    }
    // Add records that are larger than the pieces that are hashed at once.
    for index in tables.indices {
      let record = EntityRecord(["large": .string(String(repeating: "x", count: 200_000))])
      tables[index].add(tables[index].highest + 1, record, at: 301)
      tables[index].add(tables[index].highest + 1, EntityRecord(), at: 301)
    }
    let expected = documentedDigest("ledger/1", tables)
    #expect(StateDigest.digest(schema: "ledger/1", tables: [tables[0], tables[0]]) == expected)
    #expect(StateDigest.digest(schema: "ledger/1", tables: tables) == expected)
    #expect(StateDigest.digest(schema: "ledger/1", tables: [tables[0]]) != expected)
  }

  private func documentedDigest(_ schema: String, _ tables: [EntityTable]) -> ContentDigest {
    var bytes: [UInt8] = []
    func append(_ numbers: Int...) {
      for number in numbers {
        for shift in stride(from: 56, through: 0, by: -8) {
          bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
      }
    }
    append(schema.utf8.count)
    bytes += schema.utf8
    for table in tables {
      append(table.highest, table.count)
      for number in 1...table.highest {
        guard let row = table[number] else { continue }
        append(number, row.created, row.modified, row.record.bytes.count)
        bytes += row.record.bytes
      }
      let gone = (1...table.highest).filter { table[$0] == nil && table.revision(of: $0) > 0 }
      append(gone.count)
      for number in gone { append(number, table.revision(of: number)) }
      let erased = gone.filter { table.isErased($0) }
      append(erased.count)
      for number in erased { append(number) }
    }
    return SHA256Hash.digest(bytes)
  }

  @Test func anyDifferenceChangesTheDigest() throws {
    func table(_ change: (inout EntityTable) -> Void = { _ in }) -> EntityTable {
      var table = EntityTable()
      for number in 1...4 { table.add(number, EntityRecord(["n": .integer(1)]), at: number) }
      table.delete(3, at: 5)
      change(&table)
      return table
    }
    func row(_ value: Int64 = 1, _ created: Revision = 2, _ modified: Revision = 2) -> EntityRow {
      EntityRow(record: EntityRecord(["n": .integer(value)]), created: created, modified: modified)
    }
    var digests = [
      table(), table { $0.update(2, to: row(2)) }, table { $0.update(2, to: row(1, 1)) },
      table { $0.update(2, to: row(1, 2, 3)) }, table { $0.delete(2, at: 5) }, table { $0.delete(2, at: 6) },
      table { $0.add(3, EntityRecord(["n": .integer(1)]), at: 6) },
      table { $0.add(5, EntityRecord(), at: 6) },
      table {
        $0.add(5, EntityRecord(), at: 6)
        $0.delete(5, at: 6)
      },
      try table().frozen(highest: 9), table { $0.erase(3, at: 5) }, table { $0.erase(2, at: 5) },
    ].map { StateDigest.digest(schema: "ledger/1", tables: [$0]) }
    digests.append(StateDigest.digest(schema: "ledger/2", tables: [table()]))
    digests.append(StateDigest.digest(schema: "ledger/1", tables: [table(), EntityTable()]))
    #expect(Set(digests).count == digests.count)
    #expect(StateDigest.digest(schema: "ledger/1", tables: [table { $0.update(2, to: row()) }]) == digests[0])
  }

  @Test func aModelWithoutPartsHasNoStateDigest() throws {
    #expect(StateDigest.digest(of: Plain()) == nil)
    #expect(Plain(parts: StateParts(tables: [EntityTable()])) == nil)
    #expect(Plain.fieldNames(of: EntityKind(rawValue: 0)) == [])
    var ledger = Ledger()
    try ledger.apply(JournalEvent(entity: .account(1), previous: 0, change: .add(EntityRecord())), at: 1)
    let parts = try #require(ledger.parts)
    let restored = try #require(Ledger(parts: try parts.frozen()))
    #expect(restored.accounts[1] == ledger.accounts[1])
    #expect(StateDigest.digest(of: restored) == StateDigest.digest(of: ledger))
  }
}

/// A model with only what the protocol requires.
private struct Plain: EventSourced {
  static let schema = "plain/1"
  static let kindNames = ["thing"]
  func record(of entity: EntityKey) -> EntityRecord? { nil }
  func revision(of entity: EntityKey) -> Revision { 0 }
  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {}
}
