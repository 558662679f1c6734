import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import LogbookModel
import TestSupport
import Testing

/// Alters the contents of tables of a journal's log and corrects the checksums, as only an attacker does. Opening and
/// reading must give an error or the same answers, and the process must not end.
@Suite struct ForgeryFuzzTests {
  @Test func aForgedTableIsAnErrorOrMakesNoDifference() throws {
    var mutator = Mutator()
    try withTemporaryFolder { folder in
      let url = folder.url.appendingPathComponent("Log.journal")
      let head = try makeJournal(url)
      let file = try #require(try entryTables(of: url).first)
      let whole = Array(try Data(contentsOf: file))
      let forgery = Forgery(table: whole)
      var refused = 0
      for _ in cases(1500) {
        try Data(forgery.altered(by: &mutator)).write(to: file)
        do {
          let journal = try Journal<Logbook>.open(at: url, mode: .readOnly)
          #expect(journal.head == head)
          let cursor = journal.entries()
          while try cursor.next() != nil {}
          _ = try journal.verify()
          try journal.close()
        } catch let error as JournalError {
          #expect(!error.message.isEmpty)
          refused += 1
        }
      }
      print("forgery of \(file.lastPathComponent): \(refused) refused")
      #expect(refused > 100)
      try Data(whole).write(to: file)
      #expect(try Journal<Logbook>.open(at: url).verify().isSound)
    }
  }

  /// Makes a journal with entries in a table and in a log.
  private func makeJournal(_ url: URL) throws -> Head {
    let journal = try Journal<Logbook>.create(at: url)
    for page in 1...6 { try journal.commit(note: "note") { try $0.write(page, "page \(page)") } }
    try journal.close()
    var options = JournalOptions()
    options.database.keptLogByteCount = 0
    let again = try Journal<Logbook>.open(at: url, options: options)
    for page in 1...3 { try again.commit { try $0.write(page, "again") } }
    defer { try? again.close() }
    return again.head
  }
}
