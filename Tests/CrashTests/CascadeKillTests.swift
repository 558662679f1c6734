import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

extension Battery {
  /// Kills a process (`CrashChild`) that deletes items by cascade and undoes that, again and again.
  @Suite struct CascadeKillTests {
    @Test func afterAKillEveryReferenceLeadsToAnItem() throws {
      var random = SeededGenerator()
      var (cascades, undos) = (0, 0)
      for _ in 0..<Battery.size(2, long: 60) {
        try withFolderInMemory { folder in
          let url = URL(fileURLWithPath: "\(folder)/Firms.journal")
          for round in 0..<12 {
            let process = try KilledProcess(["cascade", url.path, "\(random.next())"], sayingInto: url.path)
            try process.waitForWords()
            usleep(UInt32.random(in: 0..<120_000, using: &random))
            try process.kill()
            let acknowledged = try process.lines().compactMap { Revision($0) }.max() ?? 0
            let journal = try CatalogJournal.open(at: url, mode: .readOnly)
            #expect(journal.head.revision >= acknowledged)
            let verification = try journal.verify(.deep)
            try #require(verification.isSound, "round \(round): \(verification.problems)")
            let state = journal.state
            let numbers = Set(state.items.map(\.id.number))
            for item in state.items {
              for name in ["firm", "clerk"] {
                guard let number = item[name]?.integer else { continue }
                #expect(numbers.contains(Int(number)), "round \(round): \(item.id) has lost its \(name)")
              }
            }
            let entries = journal.entries()
            while let entry = try entries.next() {
              if entry.author == "bob" {
                if entry.metadata.isEmpty { cascades += 1 } else { undos += 1 }
              }
            }
            try journal.close()
          }
        }
      }
      #expect(cascades > 0 && undos > 0)
    }
  }
}
