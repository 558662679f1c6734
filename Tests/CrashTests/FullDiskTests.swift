import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Fills a small real file system.
  @Suite struct FullDiskTests {
    @Test(.enabled(if: Mount.isPossible, "only the superuser can mount a small disk"))
    func aFullDiskLosesNothingAcknowledgedAndCommitsContinueOnceThereIsRoom() throws {
      var random = SeededGenerator()
      for round in 0..<Battery.size(8, long: 200) {
        try withTemporaryFolder { folder in
          try Mount.with(["-t", "tmpfs", "-o", "size=4m", "none"], at: folder.path) {
            try fill(folder.path, round: round, &random)
          }
        }
      }
    }

    @Test(.enabled(if: Mount.isPossible, "only the superuser can mount a small disk"))
    func aSnapshotLeavesTheLastRoomToCommits() throws {
      try withTemporaryFolder { folder in
        try Mount.with(["-t", "tmpfs", "-o", "size=4m", "none"], at: folder.path) {
          let url = URL(fileURLWithPath: "\(folder.path)/Log.journal")
          let journal = try Journal<Logbook>.create(at: url, options: Scenario.options())
          try journal.commit { try $0.write(1, "one") }
          let reserve = 2 * Scenario.options().database.writeBufferByteCount
          let ballast = URL(fileURLWithPath: "\(folder.path)/ballast")
          try Data(count: try freeByteCount(folder.path) - reserve).write(to: ballast)
          let error = #expect(throws: JournalError.self) { try journal.takeSnapshot() }
          #expect(error?.code == .io)
          try journal.commit { try $0.write(1, "there is room for this") }
          try FileManager.default.removeItem(at: ballast)
          try journal.takeSnapshot()
          try journal.close()
        }
      }
    }

    private func freeByteCount(_ folder: String) throws -> Int {
      let attributes = try FileManager.default.attributesOfFileSystem(forPath: folder)
      return try #require(attributes[.systemFreeSize] as? Int)
    }

    private func fill(_ folder: String, round: Int, _ random: inout SeededGenerator) throws {
      let ballast = URL(fileURLWithPath: "\(folder)/ballast")
      try Data(count: Int.random(in: 2_400_000..<2_800_000, using: &random)).write(to: ballast)
      let url = URL(fileURLWithPath: "\(folder)/Log.journal")
      // In every other round, LevelDB is writing tables when the disk becomes full.
      let options = round % 2 == 0 ? Scenario.options() : JournalOptions(layers: .many)

      let journal = try Journal<Logbook>.create(at: url, options: options)
      var acknowledged = Acknowledgements()
      var turn = 0
      var failure: JournalError?
      while failure == nil {
        turn += 1
        do {
          let blob =
            random.chance(1, in: 8) ? try journal.blobs.add(Data(random.bytes(3000))) : nil
          let text = String(repeating: "x", count: Int.random(in: 0..<20_000, using: &random))
          let commit = try journal.commit(by: "0", note: "\(turn)") { draft in
            try draft.write(turn, text, blob: blob)
          }
          acknowledged.note(commit.revision, writer: 0, turn: turn)
        } catch let error as JournalError {
          failure = error
        }
        try #require(turn < 3000, "the disk never got full")
      }

      // Reading continues.
      let count = acknowledged.turns.count
      #expect(journal.head.revision >= count)
      #expect(try journal.entry(at: count).note == "\(count)")
      // People learn why, even if it was LevelDB that could not write a table.
      let reason = try #require(failure).description
      #expect(reason.contains("disk is full") || reason.contains("No space left"), "\(reason)")
      // A write to the log failed: that of the commit, or an earlier one.
      if failure?.code == .outcomeUnknown || failure?.code == .poisoned {
        let next = #expect(throws: JournalError.self) { try journal.commit { try $0.write(1, "more") } }
        #expect(next?.code == .poisoned)
      } else {
        // The bytes of a blob did not fit. No entry names them, and the log is unchanged.
        #expect(failure?.code == .io)
      }
      try? journal.close()

      // While the disk is full, opening may fail, but must not call the journal damaged.
      do {
        try Journal<Logbook>.open(at: url, options: options).close()
      } catch let error as JournalError {
        #expect(error.code == .io, "\(error)")
      }
      try FileManager.default.removeItem(at: ballast)
      let again = try Journal<Logbook>.open(at: url, options: options)
      let problem = try acknowledged.problem(with: again)
      #expect(problem == nil, "round \(round)")
      for _ in 0..<5 { try again.commit { try $0.write(1, "there is room, at \($0.revision)") } }
      #expect(try again.verify(.deep).isSound)
      try again.close()
    }
  }
}
