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
  /// Large entries, and small ones with updates, whose keys would not ascend if LevelDB had anything else than entries.
  @Test(arguments: [true, false]) func noTableIsWrittenAgain(_ isLarge: Bool) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Long.journal")
      let text = String(repeating: "x", count: 100_000)
      let more = String(repeating: "y", count: 60)
      let count = isLarge ? TestLength.size(25, long: 1_000) : TestLength.size(60_000, long: 333_333)
      // A table that closing has interrupted is begun again, under the same name.
      let written = Lock<[String: Int]>([:])
      var options = JournalOptions(layers: isLarge ? .manual : .automatic)
      options.fileHook = { operation in
        guard operation.path.hasSuffix(".ldb") else { return .proceed }
        written.withLock { written in
          if operation.kind == .create { written[operation.path] = 0 }
          if operation.kind == .write { written[operation.path, default: 0] += operation.bytes.count }
        }
        return .proceed
      }
      for _ in 0..<3 {
        let journal = try CatalogJournal.openOrCreate(at: url, options: options)
        try journal.withPipeline { pipeline in
          for number in 0..<count {
            try pipeline.commit { draft in
              if isLarge {
                for _ in 0..<10 { try draft.addItem(kind: "note", attributes: ["text": .string(text)]) }
              } else if number % 10 == 0 {
                try draft.addItem(kind: "note", attributes: ["text": .string("\(number)")])
              } else {
                let id = Catalog.Item.ID(number * 7_919 % draft.state.itemCount + 1)
                try draft.updateItem(id, set: ["text": .string("\(number)"), "more": .string(more)])
              }
            }
          }
        }
        try journal.close()
      }
      let entries = url.appending(path: "entries")
      let tables = try FileManager.default.contentsOfDirectory(atPath: entries.path).filter {
        $0.hasSuffix(".ldb")
      }
      let byteCount = try tables.reduce(0) { try $0 + Data(contentsOf: entries.appending(path: $1)).count }
      let writtenByteCount = written.withLock { $0.values.reduce(0, +) }
      print(
        "\(3 * count) entries: \(tables.count) tables with \(byteCount) bytes, \(writtenByteCount) written")
      #expect(tables.count >= 4)
      #expect(writtenByteCount == byteCount)
    }
  }
}
