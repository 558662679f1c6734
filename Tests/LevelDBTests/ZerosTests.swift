import Files
import Foundation
import LevelDB
import TestSupport
import Testing

/// The zeros that the writer of a log writes after its end, so that flushes need not write metadata.
@Suite struct ZerosTests {
  @Test func zerosAfterTheLastRecordAreNoTornTail() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...40, sync: true) }
      let log = try "\(path)/\(newest(".log", in: path))"
      let zeros = try zeroCount(log)
      #expect(zeros > 1000)
      // The file may end anywhere in them: a crash can leave fewer than were written.
      for count in stride(from: 0, through: zeros, by: 97) {
        let (entries, isTorn) = try withDatabase(path, .readOnly) { (try $0.entries(), $0.hasTornTail) }
        #expect(!isTorn)
        #expect(entries == (1...40).map { Entry($0) })
        try edit(log) { $0.removeLast(min(97, zeros - count)) }
      }
    }
  }

  @Test func aRecordOfWhichAPartIsStillZerosIsATornTail() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { database in
        try database.store(1...10, sync: true)
        try database.store([11], byteCount: 5000, sync: true)
      }
      let log = try "\(path)/\(newest(".log", in: path))"
      let end = try Data(contentsOf: URL(filePath: log)).count - zeroCount(log)
      for sector in stride(from: (end - 5000) / 512 + 1, to: end / 512, by: 1) {
        let before = try contents(of: path)
        try edit(log) { bytes in
          for index in sector * 512..<(sector + 1) * 512 { bytes[index] = 0 }
        }
        let (entries, isTorn) = try withDatabase(path, .readOnly) { (try $0.entries(), $0.hasTornTail) }
        #expect(isTorn)
        #expect(entries == (1...10).map { Entry($0) })
        try #require(before[newest(".log", in: path)]).write(to: URL(filePath: log))
      }
    }
  }

  @Test func recordsThatFollowZerosAreDamage() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...400, sync: true) }
      let log = try "\(path)/\(newest(".log", in: path))"
      try edit(log) { bytes in
        for index in 4096..<8192 { bytes[index] = 0 }
      }
      #expect(code { try Database(path: path, access: .readOnly) } == .damaged)
      #expect(code { try Database(path: path, access: .existing) } == .damaged)
    }
  }

  @Test func mostFlushesOfSmallRecordsChangeNoSize() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { database in
        let log = try "\(path)/\(newest(".log", in: path))"
        var sizes: Set<Int> = []
        for number in 1...4000 {
          try database.store([number], sync: true)
          sizes.insert(try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int ?? 0)
        }
        // It doubles up to steps of 256 KiB; the records have about 500 KiB.
        #expect((2...12).contains(sizes.count))
      }
    }
  }

  @Test func largeRecordsAreWrittenWithoutZeros() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...5, byteCount: 200_000, sync: true) }
      let log = try "\(path)/\(newest(".log", in: path))"
      #expect(try zeroCount(log) == 0)
    }
  }

  @Test(arguments: [FileVerdict.fail(ENOSPC), .fail(EIO), .short(100)])
  func ifZerosCantBeWrittenTheRecordsAre(verdict: FileVerdict) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let recorder = Recorder { operation, _ in
        operation.isOfZeros ? verdict : .proceed
      }
      try withDatabase(path, .existingOrNew, hook: recorder.hook) { try $0.store(1...40, sync: true) }
      let tries = recorder.operations.filter(\.isOfZeros)
      if case .fail = verdict { #expect(tries.count == 1) } else { #expect(tries.count > 1) }
      let (entries, isTorn) = try withDatabase(path, .existing) { (try $0.entries(), $0.hasTornTail) }
      #expect(!isTorn)
      #expect(entries == (1...40).map { Entry($0) })
    }
  }

  /// How many bytes follow the last record of a log.
  private func zeroCount(_ path: String) throws -> Int {
    let log = try Data(contentsOf: URL(filePath: path))
    return log.count - endOfRecords(log)
  }
}
