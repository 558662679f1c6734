import CatalogModel
import Files
import Foundation
import Locks
import TestSupport
import Testing

@testable import Journaling

/// How LevelDB stores a long log.
@Suite struct LogTablesTests {
  /// LevelDB would merge tables whose ranges of keys overlap, again and again while the log grows.
  @Test func noTableIsWrittenAgain() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Long.journal")
      let text = String(repeating: "x", count: 100_000)
      let written = Lock(0)
      var options = JournalOptions(snapshots: .manual)
      options.fileHook = { operation in
        if operation.kind == .write, operation.path.hasSuffix(".ldb") {
          written.withLock { $0 += operation.bytes.count }
        }
        return .proceed
      }
      for _ in 0..<3 {
        let journal = try CatalogJournal.openOrCreate(at: url, options: options)
        for _ in 0..<TestLength.size(25, long: 1_000) {
          try journal.commit { draft in
            for _ in 0..<10 { try draft.addItem(kind: "note", attributes: ["text": .string(text)]) }
          }
        }
        try journal.close()
      }
      let entries = url.appending(path: "entries")
      let tables = try FileManager.default.contentsOfDirectory(atPath: entries.path).filter {
        $0.hasSuffix(".ldb")
      }
      let byteCount = try tables.reduce(0) { try $0 + Data(contentsOf: entries.appending(path: $1)).count }
      print("\(tables.count) tables with \(byteCount) bytes, \(written.withLock { $0 }) written")
      #expect(tables.count > 6)
      #expect(written.withLock { $0 } == byteCount)
    }
  }
}
