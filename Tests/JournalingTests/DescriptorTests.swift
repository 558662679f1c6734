import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import Journaling

#if os(Linux)
  /// Which files of a journal stay open.
  @Suite struct DescriptorTests {
    /// The files in a folder that this process has open; removed ones end with ` (deleted)`.
    private func openFiles(in url: URL) throws -> [String] {
      let folder = "/proc/self/fd"
      return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
        return path.flatMap { $0.hasPrefix(url.path) ? $0 : nil }
      }
    }

    @Test(arguments: [Journal<Ledger>.Mode.readOnly, .follow, .readWrite])
    func aClosedJournalHasNoFileOfItsLogOpenAlthoughItIsHeld(_ mode: Journal<Ledger>.Mode) throws {
      try withTemporaryFolder { folder in
        let url = folder.url.appending(path: "Ledger.journal")
        let writing = try Journal<Ledger>.create(at: url)
        for _ in 0..<3 { try writing.commit { _ = try $0.open(owner: "Ana") } }
        try writing.close()
        let journal = try Journal<Ledger>.open(at: url, mode: mode)
        let cursor = journal.entries(newestFirst: true)
        #expect(try cursor.next()?.revision == 3)
        try journal.close()
        // Of its folders and HEAD there are only a few descriptors.
        let open = try openFiles(in: url).filter { $0.contains("/entries/") }
        #expect(open == [], "\(open)")
        withExtendedLifetime((journal, cursor)) {}
      }
    }

    /// The base of a pruned history held itself, so each opening kept a descriptor and its contents for ever.
    @Test(arguments: [false, true])
    func aReleasedJournalHasNoFileOpenWhateverItWasAskedFor(isPruned: Bool) throws {
      try withTemporaryFolder { folder in
        let url = folder.url.appending(path: "Ledger.journal")
        do {
          let journal = try Journal<Ledger>.create(at: url)
          for _ in 0..<20 { try journal.commit { _ = try $0.open(owner: "Ana") } }
          try journal.close()
        }
        if isPruned { try Journal<Ledger>.prune(before: .revision(10), at: url) }
        for mode in [Journal<Ledger>.Mode.readOnly, .follow, .readWrite] {
          let journal = try Journal<Ledger>.open(at: url, mode: mode)
          if mode == .readWrite {
            try journal.commit { _ = try $0.open(owner: "Ben") }
            try journal.takeSnapshot()
          }
          _ = try journal.version(replayedTo: .revision(15))
          _ = try journal.state(asOf: .revision(12))
          #expect(try journal.verify(.deep).isSound)
          try journal.backup(to: folder.url.appending(path: "Backup \(mode).journal"))
          try journal.close()
        }
        // The thread that follows ends soon after the closing.
        for _ in 0..<1000 {
          if try openFiles(in: folder.url).isEmpty { break }
          usleep(10_000)
        }
        let open = try openFiles(in: folder.url)
        #expect(open == [], "\(open)")
      }
    }

    /// LevelDB's log of the last session is reused, until it is full and its entries are in a table.
    @Test func aLogThatLevelDBHasReplacedIsNotKeptOpen() throws {
      try withTemporaryFolder { folder in
        let url = folder.url.appending(path: "Ledger.journal")
        let first = try Journal<Ledger>.create(at: url)
        try first.commit { _ = try $0.open(owner: "Ana") }
        try first.close()
        let journal = try Journal<Ledger>.open(at: url)
        let text = String(repeating: "x", count: 1 << 20)
        for _ in 0..<40 { try journal.commit { _ = try $0.open(owner: text) } }
        // The old log is removed soon after its table was written.
        for _ in 0..<1000 {
          if try openFiles(in: url).allSatisfy({ !$0.hasSuffix(" (deleted)") }) { break }
          usleep(10_000)
        }
        let removed = try openFiles(in: url).filter { $0.hasSuffix(" (deleted)") }
        #expect(removed == [], "\(removed)")
        try journal.close()
      }
    }
  }
#endif
