import Files
import Foundation
import LevelDB
import Locks
import TestSupport
import Testing

/// A database can be read while it is being written: entries stored before the reader began are found, whatever
/// LevelDB does to its files meanwhile.
@Suite struct InUseTests {
  @Test func storedEntriesAreFoundWhileLogsRotateAndTablesAreMerged() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let stored = Counter()
      let isDone = Lock(false)
      let pause = Lock<UInt32>(100)
      let failure = Lock<(any Error)?>(nil)
      let ended = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        do {
          try withDatabase(path, .existingOrNew, options: .small) { database in
            while !isDone.withLock({ $0 }) {
              try database.store([Self.place(of: stored.value + 1)])
              stored.increment()
              usleep(pause.withLock { $0 })
            }
          }
        } catch { failure.withLock { $0 = error } }
        ended.signal()
      }
      while stored.value == 0, failure.withLock({ $0 == nil }) { usleep(1000) }
      var again = 0
      let end = Date() + 5
      while Date() < end, failure.withLock({ $0 }) == nil {
        let least = stored.value
        var found = try Self.look(at: path)
        // The entries of files that the writer has removed since are in other files now.
        while !found.isComplete(least), found.hasChanged, Date() < end + 60 {
          again += 1
          // Otherwise the writer would always be faster than a reader that hardly runs.
          pause.withLock { $0 = min(2 * $0, 200_000) }
          found = try Self.look(at: path)
        }
        pause.withLock { $0 = 100 }
        try #require(found.isComplete(least), "\(least) were stored, \(found.values.count) found")
      }
      isDone.withLock { $0 = true }
      ended.wait()
      #expect(failure.withLock { $0 } == nil)
      print("in use: \(stored.value) stored; \(again) reads had to be repeated")
      #expect(try Self.look(at: path).isComplete(stored.value))
    }
  }

  /// Keys that do not ascend with time make LevelDB merge tables and remove the merged ones.
  private static func place(of number: Int) -> Int { number % 3 == 0 ? number : 1_000_000 + number }

  private struct Look {
    var values: [[UInt8]: [UInt8]] = [:]
    var hasChanged = false

    func isComplete(_ stored: Int) -> Bool {
      (1...stored).allSatisfy { number in
        let number = InUseTests.place(of: number)
        guard let found = values[key(number)] else { return false }
        return number % 16 != 0 || found == value(number)
      }
    }
  }

  private static func look(at path: String) throws -> Look {
    let database = try Database(path: path, access: .inUse)
    var look = Look()
    do {
      for entry in try database.entries() { look.values[entry.key] = entry.value }
    } catch let error as DatabaseError where error.osError == ENOENT {
      // A table was removed between the opening of the database and that of the table.
      #expect(database.hasChanged)
    }
    try database.readLogs { look.values[$0] = $1 }
    look.hasChanged = database.hasChanged
    database.close()
    return look
  }

  @Test func aRecordIsSeenOnceItIsWholeAndOnlyOnce() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      // Records in one fragment, in several, and one that ends so near to a block's end that no header fits behind it.
      let sizes = [100, 40_000, 3, 30_000, 70_000, 1, 32_000, 500]
      try withDatabase(path, .existingOrNew) { database in
        for (index, size) in sizes.enumerated() {
          try database.store([index + 1], byteCount: size, sync: true)
        }
      }
      let log = try "\(path)/\(newest(".log", in: path))"
      let whole = [UInt8](try Data(contentsOf: URL(filePath: log)))
      var random = SeededGenerator()
      for _ in 0..<20 {
        try Data().write(to: URL(filePath: log))
        let file = try FileHandle(forWritingTo: URL(filePath: log))
        let database = try Database(path: path, access: .inUse)
        var (written, seen) = (0, 0)
        while written < whole.count {
          let piece = min(whole.count - written, Int.random(in: 1...9000, using: &random))
          try file.write(contentsOf: whole[written..<written + piece])
          written += piece
          try database.readLogs { foundKey, foundValue in
            seen += 1
            #expect(foundKey == key(seen))
            #expect(foundValue == value(seen, byteCount: sizes[seen - 1]))
          }
          let expected = (1...sizes.count).last { Self.end(of: $0, sizes) <= written } ?? 0
          #expect(seen == expected, "\(written) bytes")
        }
        #expect(seen == sizes.count)
        database.close()
      }
    }
  }

  /// Where the record of an entry ends in the log.
  private static func end(of number: Int, _ sizes: [Int]) -> Int {
    var offset = 0
    for size in sizes.prefix(number) {
      // A batch: its sequence number and count, a kind, and two lengths, the second as a number of variable width.
      var left = 12 + 1 + 1 + 9 + (size < 128 ? 1 : size < 16_384 ? 2 : 3) + size
      repeat {
        let room = 32_768 - offset % 32_768
        if room < 7 {
          offset += room
        } else {
          let part = min(left, room - 7)
          offset += 7 + part
          left -= part
        }
      } while left > 0
    }
    return offset
  }

  @Test func theLogOfAWriterIsFollowedAcrossItsRemoval() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { writer in
        try writer.store(1...10)
        let reader = try Database(path: path, access: .inUse)
        var seen: [[UInt8]] = []
        try reader.readLogs { key, _ in seen.append(key) }
        #expect(seen == (1...10).map { key($0) })
        #expect(try reader.entries().isEmpty)
        #expect(!reader.hasChanged)
        try writer.store(11...12)
        try reader.readLogs { key, _ in seen.append(key) }
        #expect(seen == (1...12).map { key($0) })
        // Enough for the log to become a table, and to be removed.
        let log = try newest(".log", in: path)
        try writer.store(13...2000)
        let end = Date() + 60
        while FileManager.default.fileExists(atPath: "\(path)/\(log)"), Date() < end { usleep(1000) }
        #expect(reader.hasChanged)
        try reader.readLogs { key, _ in seen.append(key) }
        #expect(seen == (1...seen.count).map { key($0) })
        #expect(seen.count > 12 && seen.count < 2000)
        reader.close()
      }
    }
  }

  @Test func readingADatabaseInUseChangesNothingAndTakesNoLock() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      let before = try contents(of: path)
      let recorder = Recorder()
      try withDatabase(path, .inUse, hook: recorder.hook) { reader in
        #expect(code { try reader.write([], sync: true) } == .readOnly)
        #expect(try contents(of: path) == before)
        #expect(recorder.operations.isEmpty)
        // A writer opens the database while the reader has it open.
        try withDatabase(path, .existing, options: .small) { try $0.store(2001...2100) }
        #expect(reader.hasChanged)
      }
      #expect(try Self.look(at: path).values.count == 2100)
    }
  }

  @Test func aDeletedFileWithoutAReplacementIsReportedMissing() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      for name in try contents(of: path).keys where name.hasSuffix(".ldb") {
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
      }
      let error = #expect(throws: DatabaseError.self) { try Database(path: path, access: .inUse) }
      #expect(error?.code == .damaged)
      #expect(error?.message.contains("missing") == true)
    }
  }
}
