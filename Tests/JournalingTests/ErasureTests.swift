import Foundation
import JournalMaintenance
import Journaling
import TestSupport
import Testing

/// Erased content is gone from the bytes and from every state, and nothing else is. The chain of digests, the histories
/// and the later entries stay.
@Suite struct ErasureTests {
  /// Calls `body` with a journal of Ana's and Bob's accounts, and with a copy in which Bob's account is erased, which a
  /// fifth entry records.
  private func withErased(
    includingWords: Bool = false, _ body: (_ whole: Journal<Ledger>, _ erased: URL) throws -> Void
  ) throws {
    try withLedger { journal, url in
      try journal.commit(by: "ana", note: "moving in", metadata: ["phone": "555-0199"]) { draft in
        _ = try draft.open(owner: "Ana Lima", balance: 100)
        _ = try draft.open(owner: "Bob Silva", balance: 50)
      }
      try journal.commit(by: "bob", note: "rent") { try $0.transfer(30, from: 2, to: 1) }
      try journal.takeSnapshot()
      try journal.commit { try $0.deposit(1, on: 1) }
      try journal.commit { try $0.deposit(5, on: 2) }
      try journal.close()
      let erased = url.deletingLastPathComponent().appending(path: "Erased.journal")
      try FileManager.default.copyItem(at: url, to: erased)
      try Journal<Ledger>.erase(
        [.account(2)], at: erased, reason: "by letter of 3 May", includingWords: includingWords)
      let whole = try Journal<Ledger>.open(at: url, mode: .readOnly)
      try body(whole, erased)
      try whole.close()
    }
  }

  @Test func erasedContentIsNowhereInTheFolderAndEveryDigestStays() throws {
    try withErased(includingWords: true) { whole, url in
      var bytes = Data()
      for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
        bytes += FileManager.default.contents(atPath: "\(url.path)/\(name)") ?? Data()
      }
      #expect(bytes.range(of: Data("Ana Lima".utf8)) != nil)
      for text in ["Bob Silva", "moving in", "555-0199", "phone"] {
        #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text)")
      }
      let journal = try Journal<Ledger>.open(at: url)
      for revision in 1...4 {
        #expect(try journal.entry(at: revision).digest == whole.entry(at: revision).digest)
      }
      let verification = try journal.verify(.deep)
      #expect(verification.problems.map(\.description) == [])
      #expect(verification.erasedEventCount == 3)
      // The earlier checkpoint is erased, and there is one of the state after the erasure.
      #expect(verification.checkpointCount == 1)
      #expect(try whole.verify(.deep).checkpointCount == 1)
    }
  }

  @Test func anErasedEntityHasARevisionAndAHistoryAndNothingElse() throws {
    try withErased(includingWords: true) { whole, url in
      let journal = try Journal<Ledger>.open(at: url)
      for revision in 1...4 {
        let (state, was) = try (
          journal.state(asOf: .revision(revision)), whole.state(asOf: .revision(revision))
        )
        #expect(state.record(of: .account(2)) == nil)
        #expect(state.isErased(.account(2)))
        #expect(!state.isErased(.account(1)))
        #expect(state.revision(of: .account(2)) == was.revision(of: .account(2)))
        #expect(state.accounts.map(\.number) == [1])
        #expect(state.accounts.count == 1)
        #expect(state.accounts.highest == 2)
        #expect(state.record(of: .account(1)) == was.record(of: .account(1)))
      }
      let changes = try journal.history(of: .account(2))
      #expect(changes.map(\.revision) == [4, 2, 1])
      #expect(changes.map(\.event.change) == [.erased(.update), .erased(.update), .erased(.add)])
      #expect(changes.map(\.isAnnotationErased) == [true, true, true])
      let newest = try journal.history(of: .account(2), limit: 1)
      #expect(newest.map(\.revision) == [4] && newest[0].before == nil && newest[0].after == nil)
      #expect(try !journal.entry(at: 3).isAnnotationErased)
      let entry = try journal.entry(at: 2)
      #expect(entry.isAnnotationErased)
      #expect(entry.author.isEmpty && entry.note.isEmpty && entry.metadata.isEmpty)
      #expect(entry.date == (try whole.entry(at: 2)).date)
      #expect(entry.events.map(\.operation) == [.update, .update])
    }
  }

  @Test func anErasedEntityCanNotBeChangedOrDeletedButAddedAgain() throws {
    try withErased { _, url in
      let journal = try Journal<Ledger>.open(at: url)
      let record = EntityRecord(["owner": .string("Bea")])
      for body in [
        { (draft: inout Draft<Ledger>) in try draft.update(.account(2), to: record) },
        { (draft: inout Draft<Ledger>) in try draft.delete(.account(2)) },
      ] {
        let error = #expect(throws: JournalError.self) { try journal.commit(body) }
        #expect(error?.code == .rejected)
      }
      try journal.commit { try $0.add(.account(2), record) }
      #expect(!journal.state.isErased(.account(2)))
      #expect(journal.state.accounts.map(\.number) == [1, 2])
      try journal.commit { try $0.delete(.account(2)) }
      #expect(!journal.state.isErased(.account(2)))
      #expect(try journal.history(of: .account(2)).count == 5)
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).state.revision(of: .account(2)) == 7)
    }
  }

  @Test func aSnapshotDistinguishesErasedFromDeletedEntities() throws {
    try withErased { _, url in
      let journal = try Journal<Ledger>.open(at: url)
      // One snapshot before the last event of the erased account, and one after it.
      try journal.takeSnapshot(asOf: .revision(3))
      try journal.takeSnapshot()
      let replayed = try journal.version(replayedTo: .head()).state
      try journal.close()

      let again = try Journal<Ledger>.open(at: url)
      #expect(again.state.isErased(.account(2)))
      #expect(again.state.revision(of: .account(2)) == 4)
      #expect(StateDigest.digest(of: again.state) == StateDigest.digest(of: replayed))
      try again.dropSnapshot(at: 5)
      try again.close()
      let below = try Journal<Ledger>.open(at: url)
      #expect(below.state.isErased(.account(2)))
      #expect(below.state.revision(of: .account(2)) == 4)
      #expect(below.health.layerProblems.isEmpty)
      #expect(try below.verify(.deep).problems.map(\.description) == [])
      try below.commit { try $0.add(.account(2), EntityRecord()) }
      #expect(below.state.accounts.count == 2)
    }
  }

  @Test func theDigestOfAStateDistinguishesErasedFromDeletedEntities() throws {
    var (erased, deleted) = (Ledger(), Ledger())
    try erased.apply(JournalEvent(entity: .account(1), previous: 0, change: .erased(.add)), at: 1)
    try erased.apply(JournalEvent(entity: .account(1), previous: 1, change: .erased(.update)), at: 2)
    try deleted.apply(JournalEvent(entity: .account(1), previous: 0, change: .add(EntityRecord())), at: 1)
    try deleted.apply(JournalEvent(entity: .account(1), previous: 1, change: .delete), at: 2)
    #expect(StateDigest.digest(of: erased) != StateDigest.digest(of: deleted))
    // An entity that is erased and then deleted counts as deleted.
    var both = Ledger()
    try both.apply(JournalEvent(entity: .account(1), previous: 0, change: .erased(.add)), at: 1)
    try both.apply(JournalEvent(entity: .account(1), previous: 1, change: .delete), at: 2)
    #expect(StateDigest.digest(of: both) == StateDigest.digest(of: deleted))
  }

  @Test func eventsThatCanNotFollowAnErasureAreRefused() throws {
    var ledger = Ledger()
    try ledger.apply(JournalEvent(entity: .account(1), previous: 0, change: .erased(.add)), at: 1)
    for event in [
      JournalEvent(entity: .account(1), previous: 0, change: .erased(.add)),
      JournalEvent(entity: .account(1), previous: 0, change: .erased(.update)),
      JournalEvent(entity: .account(1), previous: 2, change: .delete),
      JournalEvent(entity: .account(2), previous: 0, change: .erased(.update)),
      JournalEvent(entity: .account(0), previous: 0, change: .erased(.add)),
    ] {
      let error = #expect(throws: JournalError.self) { try ledger.apply(event, at: 2) }
      #expect(error?.code == .damaged)
    }
    // A later update that is not erased changes nothing visible, because the record that it changes is unknown.
    try ledger.apply(
      JournalEvent(entity: .account(1), previous: 1, change: .update(RecordChanges(set: ["a": .integer(1)]))),
      at: 2)
    #expect(ledger.isErased(.account(1)))
    #expect(ledger.revision(of: .account(1)) == 2)
    #expect(ledger.accounts.problems(kind: "account") == [])
  }

  @Test func aCheckpointOfAnotherStateIsDetected() throws {
    // Account 2 is erased in the first entry, and the checkpoint of revision 3 is unchanged.
    var entries = Documented.entries
    entries[0] = Documented.erasedEntry
    try withDocumentedJournal(entries: entries) { url in
      let journal = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(journal.head.digest.hex == Documented.digests[3])
      // Account 2 was deleted by revision 3, so that state is the same.
      #expect(try journal.verify(.deep).problems.isEmpty)
      #expect(try journal.state(asOf: .revision(2)).isErased(.account(2)))
      #expect(!journal.state.isErased(.account(2)))
    }
    // The checkpoint claims to be of revision 2 instead of 3.
    entries = Documented.entries
    entries[3][24] = 2
    try withDocumentedJournal(entries: entries) { url in
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.revision == 4)
    }
  }

  @Test func theEntryAfterARequestedSnapshotHasACheckpoint() throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      #expect(try journal.verify(.deep).checkpointCount == 0)
      try journal.takeSnapshot()
      try journal.commit { try $0.open(owner: "Bob") }
      try journal.commit { try $0.open(owner: "Eve") }
      #expect(try journal.verify(.deep).checkpointCount == 1)
      #expect(try journal.verify().checkpointCount == 0)
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).verify(.deep).isSound)
    }
  }
}
