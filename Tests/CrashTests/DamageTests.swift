import Foundation
import Journaling
import Synchronization
import TestSupport
import Testing

extension Battery {
  /// Alters every byte of a small journal, and cuts every file at every byte.
  @Suite struct DamageTests {
    @Test func anyAlteredByteGivesTheSameAnswersOrAnError() throws {
      try withFolderInMemory { folder in
        let fixture = try SmallJournal(in: folder)
        var random = SeededGenerator()
        let phase = Int.random(in: 0...1, using: &random)
        let findings = Findings()
        let count = Atomic<Int>(0)
        let countInLog = Atomic<Int>(0)
        let refusedInLog = Atomic<Int>(0)
        forEachConcurrently(fixture.pieces, named: \.description) { number, piece in
          let place = "\(folder)/\(number)"
          do {
            try fixture.rebuild(in: place)
            for index in piece.range {
              // By default, two of the four kinds of damage for each byte.
              for damage in Damage.allCases
              where Battery.isLong || (index + damage.rawValue) % 2 == phase {
                guard let altered = damage.applied(to: fixture.bytes(of: piece.file), at: index) else {
                  continue
                }
                let name = "\(fixture.state.files[piece.file].path), byte \(index), \(damage)"
                // Opening for writing takes longer, because it changes the folder if it succeeds.
                let writes = Battery.isLong || (index + damage.rawValue / 2) % 3 == 0
                let isError = try fixture.check(
                  place, piece.file, altered, writes: writes, { findings.note("\(name): \($0)") })
                count.add(1, ordering: .relaxed)
                guard fixture.isLog(piece.file) else { continue }
                countInLog.add(1, ordering: .relaxed)
                if isError { refusedInLog.add(1, ordering: .relaxed) }
              }
            }
            try FileManager.default.removeItem(atPath: place)
          } catch {
            findings.note("\(piece): an error: \(error)")
          }
        }
        let inLog = countInLog.load(ordering: .relaxed)
        let refused = refusedInLog.load(ordering: .relaxed)
        print(
          "damage: \(count.load(ordering: .relaxed)) alterations of \(fixture.byteCount) bytes; "
            + "of \(inLog) in the log, \(refused) were refused")
        findings.report()
        // Other alterations are of a snapshot, which is never needed, or of unused bytes of HEAD.
        #expect(inLog > 0 && refused > inLog * 9 / 10)
      }
    }
  }
}

/// What happens to one byte, and to those after it.
private enum Damage: Int, CaseIterable, Sendable {
  case flippedBit, flippedByte, zeroed, cut

  /// The damaged bytes, nil if that changes nothing.
  func applied(to bytes: [UInt8], at index: Int) -> [UInt8]? {
    var altered = bytes
    switch self {
    case .flippedBit: altered[index] ^= 1 << UInt8(index % 8)
    case .flippedByte: altered[index] ^= 0xFF
    case .zeroed:
      guard altered[index] != 0 else { return nil }
      altered[index] = 0
    case .cut: altered.removeSubrange(index...)
    }
    return altered
  }
}
