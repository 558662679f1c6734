import Foundation
import LevelDB
import TestSupport
import Testing

@Suite struct DatabaseTests {
  @Test func storedEntriesAreFoundAfterReopening() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .new) { database throws in
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
      try withDatabase(folder.path("db"), .new) { database throws in
        var batch = WriteBatch()
        batch.put([1], [])
        try database.write(&batch, sync: true)
        #expect(try database.value(for: [1]) == [])
        #expect(try database.value(for: [2]) == nil)
        let length = try unsafe database.withValue(for: ([1] as [UInt8]).span.bytes) { $0.byteCount }
        #expect(length == 0)
      }
    }
  }

  @Test func aScanGivesAllEntriesInOrderAndBackwards() throws {
    try withTemporaryFolder { folder in
      try withDatabase(folder.path("db"), .new, options: .small) { database throws in
        // Not in the order of the keys, and across several tables.
        try database.store(stride(from: 1, through: 3000, by: 2))
        try database.store(stride(from: 3000, through: 2, by: -2))
        let expected = (1...3000).map { Entry($0) }
        #expect(try database.entries() == expected)

        let walk = try Walk(database)
        var backwards: [Entry] = []
        var isAtEntry = try walk.last()
        while isAtEntry {
          backwards.append(try walk.entry())
          isAtEntry = try walk.previous()
        }
        #expect(backwards == expected.reversed())
      }
    }
  }

  @Test func aCursorSeeksToTheEntryAtOrAfterAKeyAndReversesDirection() throws {
    try withTemporaryFolder { folder in
      try withDatabase(folder.path("db"), .new) { database throws in
        try database.store([10, 20, 30])
        let walk = try Walk(database)
        #expect(try walk.seek(to: key(11)))
        #expect(try walk.entry() == Entry(20))
        #expect(try walk.previous())
        #expect(try walk.entry() == Entry(10))
        #expect(try walk.next())
        #expect(try walk.entry() == Entry(20))
        #expect(try !walk.seek(to: key(31)))
        #expect(try !walk.next())
        #expect(!walk.isAtEntry)
        #expect(throws: DatabaseError.self) { try walk.entry() }
      }
    }
  }

  @Test func aCursorDoesNotSeeWhatIsWrittenAfterIt() throws {
    try withTemporaryFolder { folder in
      try withDatabase(folder.path("db"), .new) { database throws in
        try database.store(1...3)
        let walk = try Walk(database)
        try database.store(4...6)
        #expect(try walk.last())
        #expect(try walk.entry() == Entry(3))
      }
    }
  }

  @Test func aBatchCanBeReusedAfterClearing() throws {
    try withTemporaryFolder { folder in
      try withDatabase(folder.path("db"), .new) { database throws in
        var batch = WriteBatch()
        let empty = batch.byteCount
        batch.put(key(1), value(1))
        let full = batch.byteCount
        #expect(full > empty + 100)
        try database.write(&batch, sync: true)
        batch.clear()
        let cleared = batch.byteCount
        #expect(cleared == empty)
        batch.put(key(2), value(2))
        try database.write(&batch, sync: true)
        #expect(try database.entries() == [Entry(1), Entry(2)])
      }
    }
  }

  @Test func theAccessDecidesWhetherADatabaseIsOpenedOrCreated() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      #expect(code { try Database(path: path, access: .existing) } == .notFound)
      #expect(code { try Database(path: path, access: .readOnly) } == .notFound)
      #expect(!FileManager.default.fileExists(atPath: path))
      try withDatabase(path, .new) { try $0.store(1...3) }
      #expect(code { try Database(path: path, access: .new) } == .wrongUse)
      try withDatabase(path, .existingOrNew) { database throws in #expect(try database.entries().count == 3) }
      #expect(code { try Database(path: folder.path("no/db"), access: .new) } == .notFound)
    }
  }

  @Test func anEmptyFolderIsNoDatabaseUnlessOneMayBeCreated() throws {
    try withTemporaryFolder { folder in
      #expect(code { try Database(path: folder.path, access: .existing) } == .notFound)
      #expect(code { try Database(path: folder.path, access: .readOnly) } == .notFound)
      #expect(try contents(of: folder.path).isEmpty)
      try withDatabase(folder.path, .existingOrNew) { try $0.store(1...3) }
      try withDatabase(folder.path + "/", .existing) { database throws in
        #expect(try database.entries().count == 3)
      }
    }
  }

  @Test func aSecondOpenerIsRefusedUnderAnyNameOfTheFolder() throws {
    try withTemporaryFolder { folder in
      let database = try Database(path: folder.path("db"), access: .new)
      #expect(code { try Database(path: folder.path("db"), access: .existing) } == .busy)
      #expect(code { try Database(path: folder.path("./db"), access: .existing) } == .busy)
      // The refusals have not released the first one's lock.
      #expect(code { try Database(path: folder.path("db"), access: .existing) } == .busy)
      try database.close()
      try withDatabase(folder.path("db"), .existing) { _ in }
    }
  }

  @Test func closingIsFinalMayBeRepeatedAndIsRefusedWhileACursorExists() throws {
    try withTemporaryFolder { folder in
      let database = try Database(path: folder.path("db"), access: .new)
      try database.store(1...3)
      func scan() throws {
        let walk = try Walk(database)
        #expect(try walk.first())
        #expect(code { try database.close() } == .busy)
        #expect(try walk.next())
      }
      try scan()
      try database.close()
      try database.close()
      #expect(code { try database.value(for: key(1)) } == .closed)
      #expect(code { try database.store([4]) } == .closed)
      #expect(code { try Walk(database) } == .closed)
      #expect(code { try database.property("leveldb.stats") } == .closed)
      #expect(code { try database.approximateByteCount(from: [0], to: [255]) } == .closed)
    }
  }

  @Test func threadsReadAndWriteWhileAnotherCloses() async throws {
    try await withTemporaryFolder { folder in
      let database = try Database(path: folder.path("db"), access: .new, options: .small)
      try database.store(1...100)
      let stored = Counter(100)
      await withTaskGroup { group in
        for worker in 0..<4 {
          group.addTask {
            for step in 0..<200 {
              let number = 1000 * (worker + 1) + step
              do {
                try database.store([number])
                #expect(try database.value(for: key(number)) == value(number))
                stored.increment()
              } catch {
                #expect((error as? DatabaseError)?.code == .closed)
                return
              }
            }
          }
        }
        group.addTask {
          while stored.value < 200 { await Task.yield() }
          #expect(throws: Never.self) { try database.close() }
        }
      }
      let count = try withDatabase(folder.path("db"), .existing) { try $0.entries().count }
      #expect(count >= stored.value)
    }
  }

  @Test func propertiesAndApproximateSizesAreReported() throws {
    try withTemporaryFolder { folder in
      try withDatabase(folder.path("db"), .new, options: .small) { database throws in
        try database.store(1...3000)
        #expect(try database.property("leveldb.stats")?.contains("Compactions") == true)
        #expect(try database.property("no.such.property") == nil)
        #expect(try database.approximateByteCount(from: key(1), to: key(3000)) > 100_000)
        #expect(try database.approximateByteCount(from: [0xff], to: [0xff, 0xff]) == 0)
      }
    }
  }

  @Test func anErrorSaysWhatHappenedWhereAndWhatToDo() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let error = #expect(throws: DatabaseError.self) { try Database(path: path, access: .existing) }
      let text = try #require(error).description
      #expect(text.contains(path))
      #expect(text.contains("Check the path"))
      #expect(error?.path == path)
    }
  }

  @Test func filesAndFoldersAreForTheirOwnerOnly() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .new, options: .small) { try $0.store(1...3000) }
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
