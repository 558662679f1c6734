import Foundation
import Journaling
import TestSupport
import Testing

/// A model goes on; its old snapshots don't count any more, and nobody notices.
@Suite struct SchemaTests {
  @Test func aSnapshotOfAnotherSchemaIsNotUsedAndIsWrittenAnew() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bank.journal")
      let old = try Journal<Ledger>.create(at: url)
      for owner in ["Ana", "Ben", "Eve"] { try old.commit { try $0.open(owner: owner) } }
      let first = try old.takeSnapshot()
      #expect(first.schema == "ledger/1")
      try old.close()

      let new = try Journal<NewerLedger>.open(at: url)
      #expect(new.state.accounts.count == 3)
      #expect(new.snapshotProblems.isEmpty)
      let second = try new.takeSnapshot()
      #expect(second.schema == "ledger/2")
      #expect(second.url == first.url)
      #expect(try new.snapshots().map(\.schema) == ["ledger/2"])
      #expect(try new.verify(deep: true).problems.map(\.description) == [])
      try new.close()

      // And back, with an app that was not updated: the log is all it needs.
      let again = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(again.state.accounts.map(\.row.owner) == ["Ana", "Ben", "Eve"])
      #expect(again.snapshotProblems.isEmpty)
    }
  }
}

/// The ledger, after its records have changed their meaning.
private struct NewerLedger: EventSourced {
  static let schema = "ledger/2"
  static let kindNames = ["account"]
  private(set) var accounts = EntityTable()

  init() {}

  init?(parts: StateParts) {
    guard let accounts = parts.tables.first else { return nil }
    self.accounts = accounts
  }

  var parts: StateParts? { StateParts(tables: [accounts]) }

  func record(of entity: Entity) -> Record? { accounts[entity.number]?.record }
  func revision(of entity: Entity) -> Revision { accounts.revision(of: entity.number) }

  mutating func apply(_ event: Event, at revision: Revision) throws(JournalError) {
    try accounts.apply(event, at: revision, in: Self.self)
  }
}
