import Foundation
import LevelDB
import TestSupport
import Testing

@Suite struct DatabaseTests {
  @Test func storedEntriesAreFoundAfterReopening() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { database throws in
        try database.store(1...500)
        #expect(try database.value(for: key(7)) == value(7))
      }
      try withDatabase(path, .existing) { database throws in
        for number in 1...500 { #expect(try database.value(for: key(number)) == value(number)) }
        #expect(try database.value(for: key(501)) == nil)
      }
    }
  }

  @Test func anEmptyValueIsNotAnAbsentOne() throws {
    try withTemporaryFolder { folder in
      try withDatabase(folder.path("db"), .existingOrNew) { database throws in
        try database.write([([1], [])], sync: true)
        #expect(try database.value(for: [1]) == [])
        #expect(try database.value(for: [2]) == nil)
      }
    }
  }

  @Test func aScanGivesAllEntriesInOrderAndBackwards() throws {
    try withTemporaryFolder { folder in
      try withDatabase(folder.path("db"), .existingOrNew, options: .small) { database throws in
        // Not in the order of the keys, and across several tables.
        try database.store(stride(from: 1, through: 3000, by: 2))
        try database.store(stride(from: 3000, through: 2, by: -2))
        let expected = (1...3000).map { Entry($0) }
        #expect(try database.entries() == expected)
        #expect(try database.entries(backwards: true) == expected.reversed())
      }
    }
  }

  @Test func aScanGivesTheEntriesFromOneKeyThroughAnother() throws {
    try withTemporaryFolder { folder in
      try withDatabase(folder.path("db"), .existingOrNew) { database throws in
        try database.store([10, 20, 30])
        let scans: [(first: Int, last: Int, found: [Int])] = [
          (11, 30, [20, 30]), (10, 29, [10, 20]), (20, 20, [20]), (31, 40, []), (1, 9, []),
        ]
        for (first, last, found) in scans {
          let expected = found.map { Entry($0) }
          #expect(try database.entries(from: key(first), through: key(last)) == expected)
          #expect(
            try database.entries(from: key(first), through: key(last), backwards: true) == expected.reversed()
          )
        }
      }
    }
  }

  @Test func aScanEndsWhereItIsToldAndDoesNotSeeWhatIsWrittenDuringIt() throws {
    try withTemporaryFolder { folder in
      try withDatabase(folder.path("db"), .existingOrNew) { database throws in
        try database.store(1...3)
        var seen: [[UInt8]] = []
        try unsafe database.scan(from: [], through: [0xff]) { found, _ in
          #expect(throws: Never.self) { try database.store(4...6) }
          seen.append(unsafe Array(found))
          return .next
        }
        #expect(seen == (1...3).map { key($0) })
        seen = []
        try unsafe database.scan(from: [], through: [0xff]) { found, _ in
          seen.append(unsafe Array(found))
          return [Database.ScanAnswer.check, .next, .stop][min(seen.count - 1, 2)]
        }
        #expect(seen == [key(1), key(1), key(2)])
      }
    }
  }

  @Test func theAccessDecidesWhetherADatabaseIsOpenedOrCreated() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      #expect(code { try Database(path: path, access: .existing) } == .notFound)
      #expect(code { try Database(path: path, access: .readOnly) } == .notFound)
      #expect(!FileManager.default.fileExists(atPath: path))
      try withDatabase(path, .existingOrNew) { try $0.store(1...3) }
      try withDatabase(path, .existingOrNew) { database throws in #expect(try database.entries().count == 3) }
    }
  }

  @Test func anEmptyFolderIsNoDatabaseUnlessOneMayBeCreated() throws {
    try withTemporaryFolder { folder in
      #expect(code { try Database(path: folder.path, access: .existing) } == .notFound)
      #expect(code { try Database(path: folder.path, access: .readOnly) } == .notFound)
      #expect(try contents(of: folder.path).isEmpty)
      try withDatabase(folder.path, .existingOrNew) { try $0.store(1...3) }
      try withDatabase(folder.path, .existing) { database throws in
        #expect(try database.entries().count == 3)
      }
    }
  }

  @Test func aSecondOpenerIsRefusedUnderAnyNameOfTheFolder() throws {
    try withTemporaryFolder { folder in
      let database = try Database(path: folder.path("db"), access: .existingOrNew)
      #expect(code { try Database(path: folder.path("db"), access: .existing) } == .busy)
      #expect(code { try Database(path: folder.path("./db"), access: .existing) } == .busy)
      // The refusals have not released the first one's lock.
      #expect(code { try Database(path: folder.path("db"), access: .existing) } == .busy)
      database.close()
      try withDatabase(folder.path("db"), .existing) { _ in }
    }
  }

  @Test func closingIsFinalAndMayBeRepeated() throws {
    try withTemporaryFolder { folder in
      let database = try Database(path: folder.path("db"), access: .existingOrNew)
      try database.store(1...3)
      database.close()
      database.close()
      #expect(code { try database.value(for: key(1)) } == .closed)
      #expect(code { try database.store([4]) } == .closed)
      #expect(code { try database.entries() } == .closed)
    }
  }

  @Test func threadsReadAndWriteAtOnce() async throws {
    try await withTemporaryFolder { folder in
      let database = try Database(path: folder.path("db"), access: .existingOrNew, options: .small)
      await withTaskGroup { group in
        for worker in 0..<4 {
          group.addTask {
            for step in 0..<200 {
              let number = 1000 * (worker + 1) + step
              #expect(throws: Never.self) { try database.store([number]) }
              #expect((try? database.value(for: key(number))) == value(number))
            }
          }
        }
      }
      database.close()
      #expect(try withDatabase(folder.path("db"), .existing) { try $0.entries().count } == 800)
    }
  }

  @Test func filesAndFoldersAreForTheirOwnerOnly() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...3000) }
      try withDatabase(path, .existing) { _ in }
      func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      }
      #expect(try mode(path) == 0o700)
      let names = try contents(of: path).keys
      #expect(names.count > 3)
      for name in names { #expect(try mode("\(path)/\(name)") == 0o600, "\(name)") }
      #expect(!names.contains("LOG"))
    }
  }
}

/// The code of the error that `body` throws, or nil if it throws none.
func code<Result>(_ body: () throws -> Result) -> DatabaseError.Code? {
  do {
    _ = try body()
    return nil
  } catch {
    return (error as? DatabaseError)?.code
  }
}
