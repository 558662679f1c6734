import Foundation
import Journaling
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Plants the faults that the other tests look for, and checks that these tests would find them.
  @Suite struct ControlTests {
    @Test func theOracleFindsThatALogThatWasCutLacksCommits() throws {
      try withJournal { url, oracle in
        let head = url.appendingPathComponent("HEAD")
        let newest = try Data(contentsOf: head)
        let journal = try Journal<Logbook>.open(at: url, mode: .readOnly)
        let start = try journal.entry(at: 1).previousDigest
        try journal.close()
        try Data().write(to: try logFile(url))
        // HEAD reveals the loss.
        let problem = oracle.problem(url, acknowledged: 10, goesOn: false)
        #expect(problem?.contains("were acknowledged and are missing") == true)
        // If HEAD knows of no entry, LevelDB opens without an error, and the oracle has to find the loss.
        try oldest(newest, start).write(to: head)
        let silent = oracle.problem(url, acknowledged: 10, goesOn: false)
        #expect(silent == "commit 10 was acknowledged, and the newest one is 0")
      }
    }

    @Test func theOracleFindsACommitThatWasReplacedOrAltered() throws {
      try withJournal { url, oracle in
        var oracle = oracle
        #expect(oracle.problem(url, acknowledged: 10, goesOn: true) == nil)
        oracle.notes.append(["after the crash"])
        #expect(oracle.problem(url, acknowledged: 12, goesOn: false)?.contains("12 was acknowledged") == true)
        oracle.notes.swapAt(3, 4)
        #expect(oracle.problem(url, acknowledged: 10, goesOn: false)?.contains("commit 4 says") == true)
        oracle.notes.swapAt(3, 4)
        oracle.digests[6] = .zero
        #expect(oracle.problem(url, acknowledged: 10, goesOn: false) == "commit 7 is altered")
      }
    }

    @Test func aLostAcknowledgedCommitIsDetected() throws {
      try withJournal { url, _ in
        let journal = try Journal<Logbook>.open(at: url)
        defer { try? journal.close() }
        var kept = Acknowledgements()
        for revision in 1...10 { kept.note(revision, writer: 0, turn: revision) }
        var (lost, moved, reordered) = (kept, kept, kept)
        #expect(try kept.problem(with: journal) == nil)
        lost.note(11, writer: 0, turn: 11)
        #expect(try lost.problem(with: journal)?.contains("11 was acknowledged") == true)
        moved.note(5, writer: 0, turn: 6)
        #expect(try moved.problem(with: journal)?.contains("commit 5 is turn 5") == true)
        // Turn 11 is missing between 10 and 12.
        try journal.commit(by: "0", note: "12") { try $0.write(1, "12") }
        #expect(try reordered.problem(with: journal)?.contains("turn 12 comes after 10") == true)
        #expect(try kept.problem(with: journal) == nil)
      }
    }

    /// Calls `body` with a journal of ten commits, all in LevelDB's log, and an oracle for it.
    private func withJournal(_ body: (URL, Oracle) throws -> Void) throws {
      try withFolderInMemory { folder in
        let url = URL(fileURLWithPath: "\(folder)/Log.journal")
        let journal = try Journal<Logbook>.create(at: url)
        var oracle = Oracle()
        for turn in 1...10 {
          try journal.commit(by: "0", note: "\(turn)") { try $0.write(1, "\(turn)") }
          oracle.notes.append(["\(turn)"])
          oracle.digests.append(journal.head.digest)
        }
        try journal.close()
        try body(url, oracle)
      }
    }

    private func logFile(_ url: URL) throws -> URL {
      let entries = url.appendingPathComponent("entries")
      try cutZerosAhead(ofLogsIn: entries)
      let names = try FileManager.default.contentsOfDirectory(atPath: entries.path)
      return entries.appendingPathComponent(try #require(names.first { $0.hasSuffix(".log") }))
    }

    /// HEAD as it was when the journal was made: one slot for revision 0 and the digest that the first entry follows,
    /// with a right checksum.
    private func oldest(_ head: Data, _ start: ContentDigest) -> Data {
      let slot = Array(head.prefix(24)) + [UInt8](repeating: 0, count: 8) + start.bytes
      var sum: UInt32 = ~0
      for byte in slot {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0x82F6_3B78 : sum >> 1 }
      }
      let checksum = (0..<4).map { UInt8(truncatingIfNeeded: ~sum >> UInt32(24 - 8 * $0)) }
      return Data(slot + checksum + [UInt8](repeating: 0, count: head.count - 68))
    }
  }
}
