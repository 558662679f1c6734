import Foundation
import JournalMaintenance
import LogbookModel
import TestSupport
import Testing

@testable import Journaling

extension Battery {
  /// Many threads write and read the past in one process (`CrashChild`), while layers are written and merged, and
  /// snapshots taken and dropped.
  @Suite struct LoadTests {
    private struct Sample {
      let revision, readCount, residentByteCount, layerByteCount, layerCount, descriptorCount: Int

      init?(_ line: String) {
        let words = line.split(separator: " ")
        let numbers = words.dropFirst().compactMap { Int($0) }
        guard words.first == "sample", numbers.count == 6 else { return nil }
        revision = numbers[0]
        readCount = numbers[1]
        residentByteCount = numbers[2]
        layerByteCount = numbers[3]
        layerCount = numbers[4]
        descriptorCount = numbers[5]
      }
    }

    @Test(
      .enabled(
        if: FileManager.default.fileExists(atPath: "/proc/self/fd"), "the system does not list descriptors"))
    func memoryAndDescriptorsDoNotGrowUnderLoad() throws {
      var random = SeededGenerator()
      try withTemporaryFolder { folder in
        let url = folder.url.appending(path: "Load.journal")
        let seconds = Battery.size(8, long: 600)
        // With the C library's default, each of its sixteen pools gets gaps, so that memory grows for longer than this.
        let child = try Child(
          ["load", url.path, "\(seconds)", "\(random.next())"], environment: ["MALLOC_ARENA_MAX": "2"])
        let samples = try child.end().compactMap { Sample($0) }
        try #require(samples.count == seconds)
        let (first, last) = (samples[seconds / 4], samples[seconds - 1])
        print(
          "load: \(last.revision) commits and \(last.readCount) past states in \(seconds) s or more, "
            + "\(samples.map(\.residentByteCount).max()! >> 20) MiB at most with "
            + "\(samples.map(\.layerByteCount).max()! >> 20) MiB of layers, at most "
            + "\(samples.map(\.layerCount).max()!) of them and "
            + "\(samples.map(\.descriptorCount).max()!) descriptors")
        #expect(last.revision > 1_000 && last.readCount > 10)
        // Changes that are in no layer yet, and states that readers hold, come and go.
        let growth = samples.suffix(seconds / 2).map(\.residentByteCount).min()! - first.residentByteCount
        #expect(growth < 64 << 20)
        if Battery.isLong {
          let tenths = (0..<10).map { samples[seconds / 10 * $0..<seconds / 10 * ($0 + 1)] }
          // The average, because of what comes and goes. In the first tenth, caches are filled.
          let memory = tenths.map { $0.map(\.residentByteCount).reduce(0, +) / $0.count }
          print("load: resident MB \(memory.map { $0 / 1_000_000 })")
          #expect(memory[9] < memory[1] * 6 / 5)
          let readCounts = tenths.map { $0.last!.readCount - $0.first!.readCount }
          print("load: past states \(readCounts)")
          #expect(readCounts[9] > readCounts[0] * 3 / 4)
        }
        #expect(samples.map(\.residentByteCount).max()! < 512 << 20)
        // Readers hold the layers of their states for a moment longer than the journal does.
        #expect(samples.allSatisfy { $0.descriptorCount < 64 + 2 * $0.layerCount })
        #expect(samples.allSatisfy { $0.layerCount < 64 })

        let journal = try Journal<Logbook>.open(at: url, mode: .readOnly)
        #expect(try journal.verify(.deep).problems.map(\.description) == [])
        #expect(Bank.balances(in: journal.state).reduce(0, +) == Bank.accountCount * Bank.balance)
        // Dropped snapshots used to take the checkpoints of all layers before them.
        let distances = stride(from: 1, through: journal.head.revision, by: 97).map {
          $0 - (journal.chain.stack(atOrBefore: $0)?.checkpoint.revision ?? 0)
        }
        #expect(try #require(distances.max()) < 2_048)
        try journal.close()
      }
    }
  }
}
