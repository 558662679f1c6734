import CatalogModel
import Foundation
import TestSupport
import Testing

/// How LevelDB stores a long log.
@Suite struct LogTablesTests {
  /// LevelDB would merge tables whose ranges of keys overlap, again and again while the log grows.
  @Test func noTableIsWrittenAgain() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Long.journal")
      let text = String(repeating: "x", count: 100_000)
      var tables: Set<String> = []
      for session in 0..<3 {
        let journal = try CatalogJournal.openOrCreate(at: url, options: JournalOptions(snapshots: .manual))
        for _ in 0..<25 {
          try journal.commit { draft in
            for _ in 0..<10 { try draft.addItem(kind: "note", attributes: ["text": .string(text)]) }
          }
          tables.formUnion(try self.tables(of: url))
        }
        try journal.close()
        #expect(try self.tables(of: url).isSuperset(of: tables), "session \(session)")
      }
      #expect(tables.count > 6)
    }
  }

  private func tables(of url: URL) throws -> Set<String> {
    let entries = url.appending(path: "entries").path
    return Set(try FileManager.default.contentsOfDirectory(atPath: entries).filter { $0.hasSuffix(".ldb") })
  }
}
