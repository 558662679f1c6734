import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import TestSupport
import Testing

/// Compares this library with a reader that was written from Documentation/Format.md alone, without this library and
/// without LevelDB.
@Suite struct ReaderTests {
  @Test func theIndependentReaderFindsWhatTheJournalHas() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bank.journal")
      var options = JournalOptions(layers: .manual)
      // A small buffer, so that there are tables and not only a log.
      options.database.writeBufferByteCount = 64 << 10
      var journal = try Journal<Ledger>.create(at: url, options: options)
      for turn in 1...300 {
        let date = turn % 50 == 0 ? Date(timeIntervalSince1970: 1_000_000_000) : nil
        try journal.commit(by: "ana", note: turn % 3 == 0 ? "" : "turn \(turn)", date: date) { draft in
          if turn <= 20 {
            _ = try draft.open(owner: String(repeating: "x", count: turn * 30), balance: Int64(turn) * 1_000)
          } else if turn % 40 == 0 {
            try draft.delete(.account(turn / 40))
          } else {
            try draft.transfer(1, from: 20, to: turn % 9 + 10)
          }
        }
        if turn == 100 || turn == 200 {
          try journal.takeSnapshot()
          try journal.close()
          journal = try Journal<Ledger>.open(at: url, options: options)
          // Take a snapshot again, because closing the journal forgets the checkpoint for the next entry.
          try journal.takeSnapshot()
        }
      }
      try expectSame(journal, url, checkpoints: 2)
      let erased = folder.url.appending(path: "Erased.journal")
      try FileManager.default.copyItem(at: url, to: erased)
      try Journal<Ledger>.erase(
        [.account(1), .account(15)], at: erased, reason: "by law", includingWords: true)
      let copy = try Journal<Ledger>.open(at: erased)
      try expectSame(copy, erased, checkpoints: 1)
      // A checkpoint of a state with erased accounts.
      let again = try Journal<Ledger>.open(at: erased)
      try again.takeSnapshot()
      try again.commit { try $0.add(.account(1), EntityRecord(["owner": .string("Bea")])) }
      try expectSame(again, erased, checkpoints: 2)
      try Journal<Ledger>.prune(before: .revision(120), at: erased)
      try expectSame(try Journal<Ledger>.open(at: erased), erased, checkpoints: 3)
      // A copy that ends before the entry of the pruning gets an entry that vouches for its base.
      let pruned = try Journal<Ledger>.open(at: erased, mode: .readOnly)
      let fork = folder.url.appending(path: "Fork.journal")
      try pruned.copy(to: fork, through: .revision(200))
      try pruned.close()
      try expectSame(try Journal<Ledger>.open(at: fork), fork, checkpoints: 1)
      try Journal<Ledger>.erase([.account(12)], at: erased, reason: "by law")
      try expectSame(try Journal<Ledger>.open(at: erased), erased, checkpoints: 1)
    }
  }

  /// Closes the journal and compares it with the answers of the reader.
  private func expectSame(_ journal: Journal<Ledger>, _ url: URL, checkpoints: Int) throws {
    let verification = try journal.verify(.deep)
    #expect(verification.problems.map(\.description) == [])
    #expect(verification.checkpointCount == checkpoints)
    let start = journal.base?.revision ?? 0
    let entries = try (start + 1...journal.head.revision).map { try journal.entry(at: $0) }
    let digest = StateDigest.digest(of: journal.state)?.hex
    try journal.close()
    let found = try read(url)
    #expect(found["model"] as? String == "ledger")
    #expect(found["base"] as? Int == start)
    #expect(found["revision"] as? Int == start + entries.count)
    #expect(found["digests"] as? [String] == entries.map(\.digest.hex))
    #expect(found["versions"] as? [Int] == entries.map(\.schemaVersion))
    #expect(found["stateDigest"] as? String == digest)
    #expect(found["erasedEvents"] as? Int == verification.erasedEventCount)
    #expect(found["checkpoints"] as? Int == checkpoints)
    #expect(found["clockDates"] as? Int == entries.count { $0.clockDate != $0.date })
    let annotations = try #require(found["annotations"] as? [Any])
    for (entry, annotation) in zip(entries, annotations) {
      if entry.isAnnotationErased {
        #expect(annotation as? String == "erased")
      } else {
        let words = annotation as? [Any]
        #expect(words?.first as? String == entry.author)
        #expect(words?.dropFirst().first as? String == entry.note)
      }
    }
  }

  @Test func theIndependentReaderReadsTheDocumentedBytes() throws {
    try withDocumentedJournal { url in
      let found = try read(url)
      #expect(found["digests"] as? [String] == Documented.digests)
      #expect(found["checkpoints"] as? Int == 1)
    }
    try withDocumentedJournal(entries: Documented.entries + [Documented.Fifth.withExtensions]) { url in
      let found = try read(url)
      #expect(found["revision"] as? Int == 5)
    }
    for entry in [Documented.Fifth.withFeature, Documented.Fifth.ofVersion3] {
      try withDocumentedJournal(entries: Documented.entries + [entry]) { url in
        let found = try read(url)
        #expect(found["newer"] != nil, "\(found)")
      }
    }
  }
}

/// The answers of the reader about a journal that no process has open.
func read(_ journal: URL) throws -> [String: Any] {
  let reader = URL(filePath: #filePath).deletingLastPathComponent().appending(
    path: "Reader/journal_reader.py")
  let (process, output) = (Process(), Pipe())
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = ["python3", "-B", reader.path, journal.path, "1"]
  process.standardOutput = output
  try process.run()
  let bytes = output.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  #expect(process.terminationStatus == 0)
  return try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
}
