import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import Locks
import LogbookModel
import TestSupport
import Testing

/// Puts altered entries with right checksums into a journal's log. Opening and reading must give an answer or an error
/// of the journal.
@Suite struct EntryFuzzTests {
  @Test func anAlteredEntryIsRefusedOrReadWithoutACrash() throws {
    let seed = SeededGenerator().seed
    let rounds = cases(40)
    let accepted = Lock(0)
    DispatchQueue.concurrentPerform(iterations: rounds.count) { round in
      do {
        try withTemporaryFolder { folder in
          var mutator = Mutator(seed: seed &+ UInt64(round))
          let count = try alterEntries(folder, &mutator)
          accepted.withLock { $0 += count }
        }
      } catch {
        Issue.record(error)
      }
    }
    #expect(accepted.withLock { $0 } > 0)
  }

  /// - Returns: how often the journal was opened with an altered entry.
  private func alterEntries(_ folder: TemporaryFolder, _ mutator: inout Mutator) throws -> Int {
    let url = folder.url.appendingPathComponent("Log.journal")
    let journal = try Journal<Logbook>.create(at: url)
    let blob = try journal.blobs.add(Data("blob".utf8))
    try journal.commit(by: "ana", note: "first", metadata: ["key": "value"]) {
      try $0.write(1, "one", blob: blob)
    }
    try journal.commit(by: "bob") { draft in
      try draft.write(1, "one again")
      try draft.write(2, "two")
    }
    try journal.commit { try $0.delete(.page(2)) }
    let head = journal.head
    try journal.close()
    // HEAD knows nothing of the fourth entry, so that one is checked the least.
    let mark = try Data(contentsOf: url.appending(path: "HEAD"))
    let again = try Journal<Logbook>.open(at: url)
    try again.commit(by: "eve", note: "fourth") { try $0.write(3, "three") }
    try again.close()
    try mark.write(to: url.appending(path: "HEAD"))
    let database = try Database(path: url.path + "/entries", access: .existing)
    let entries = try (1...4).map { try #require(try database.value(for: key($0))) }

    var accepted = 0
    for turn in 0..<75 {
      let index = turn < 25 ? turn % 3 : 3
      // All entries are restored, except for the one that is altered.
      let restored = entries.enumerated().map { other, bytes in
        (key: key(other + 1), value: other == index ? mutator.mutate(bytes) : bytes)
      }
      try database.write(restored, sync: false)
      do {
        let journal = try Journal<Logbook>.open(at: url, mode: .readOnly)
        // The journal must be as it was, or have one entry more.
        #expect(journal.head == head || journal.head.revision == 4)
        ask(journal)
        try journal.close()
        accepted += 1
      } catch let error as JournalError {
        #expect(!error.message.isEmpty)
      }
    }
    database.close()
    return accepted
  }

  /// Asks the journal everything. Its own errors are acceptable answers.
  private func ask(_ journal: Journal<Logbook>) {
    let questions: [() throws -> Void] = [
      { _ = try journal.verify() },
      { for page in 1...3 { _ = try journal.history(of: .page(page)) } },
      { for revision in 0...4 { _ = try journal.state(asOf: .revision(revision)) } },
      {
        let cursor = journal.entries(newestFirst: true)
        while try cursor.next() != nil {}
      },
      { _ = try journal.revision(at: .date(Date())) },
    ]
    for question in questions {
      do {
        try question()
      } catch {
        #expect(error is JournalError, "\(error)")
      }
    }
  }

  private func key(_ revision: Int) -> [UInt8] {
    [UInt8(ascii: "e")] + (0..<8).map { UInt8(truncatingIfNeeded: revision >> (56 - 8 * $0)) }
  }
}
