import CatalogModel
import Files
import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import Journaling

/// What closing writes when the thread of the layers had no time.
@Suite struct ClosingTests {
  /// Closing used to write all of it, which took up to 20 seconds.
  @Test(arguments: [(count: 24, byteCount: 1 << 20, isWritten: false), (1_100, 10, true)])
  func closingWritesWhatIsInNoLayerOnlyIfItIsLittle(_ row: (count: Int, byteCount: Int, isWritten: Bool))
    throws
  {
    try withTemporaryFolder(inMemory: true) { folder in
      let url = folder.url.appending(path: "Closed.journal")
      let opened = Lock<CatalogJournal?>(nil)
      var options = JournalOptions()
      options.fileHook = { operation in
        if operation.kind == .write, operation.path.contains("/snapshots/") {
          while let journal = opened.withLock({ $0 }), journal.keeper?.isOpen == true { usleep(1000) }
        }
        return .proceed
      }
      let journal = try CatalogJournal.create(at: url, options: options)
      opened.withLock { $0 = journal }
      let item = try journal.commit { try $0.addItem(kind: "note") }.value
      for number in 1...row.count {
        let text = String(repeating: "\(number % 10)", count: row.byteCount)
        try journal.commit { draft in
          if row.isWritten {
            try draft.updateItem(item, set: ["text": .string("\(number) \(text)")])
          } else {
            _ = try draft.addItem(kind: "note", attributes: ["text": .string(text)])
          }
        }
      }
      let state = journal.state.json
      try journal.close()
      opened.withLock { $0 = nil }
      let again = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(try again.snapshotFileNames().isEmpty != row.isWritten)
      let replayed = try again.statistics().replayedEventCount
      #expect(row.isWritten ? replayed < 1_024 : replayed == row.count + 1, "\(replayed)")
      #expect(again.state.json == state)
      try again.close()
      // The next session writes it.
      let writer = try CatalogJournal.open(at: url)
      writer.waitForLayers()
      #expect(try !writer.snapshotFileNames().isEmpty)
      #expect(try writer.verify(.deep).problems.map(\.description) == [])
      try writer.close()
    }
  }
}
