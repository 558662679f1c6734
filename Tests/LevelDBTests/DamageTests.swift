import Files
import Foundation
import LevelDB
import TestSupport
import Testing

/// A damaged, foreign or forged file leads to an error or to the right answer, never to a wrong one.
@Suite struct DamageTests {
  // MARK: Links and missing files

  @Test(arguments: ["CURRENT", "LOCK", "MANIFEST-", ".log", ".ldb"], [Database.Access.existing, .readOnly])
  func aSymbolicLinkIsRefusedAndItsTargetIsLeftAlone(part: String, access: Database.Access) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      let name = try newest(part, in: path)
      let target = folder.path("target")
      try FileManager.default.moveItem(atPath: "\(path)/\(name)", toPath: target)
      try FileManager.default.createSymbolicLink(atPath: "\(path)/\(name)", withDestinationPath: target)
      let before = try Data(contentsOf: URL(filePath: target))
      let error = #expect(throws: DatabaseError.self) { try Database(path: path, access: access) }
      #expect(error?.code == .damaged)
      #expect(error?.message.contains(name) == true)
      #expect(try Data(contentsOf: URL(filePath: target)) == before)
    }
  }

  @Test func aDatabaseWithoutItsCurrentFileIsNotTreatedAsNew() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      try FileManager.default.removeItem(atPath: "\(path)/CURRENT")
      let before = try contents(of: path)
      for access in [Database.Access.existing, .existingOrNew, .readOnly] {
        #expect(code { try Database(path: path, access: access) } == .damaged)
      }
      #expect(try contents(of: path) == before)
    }
  }

  @Test func theFilesOfAnUnfinishedCreationCountAsNoDatabase() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      // Removing fails too, so that the files stay as if the process had died.
      let recorder = Recorder { operation, _ in
        operation.kind == .rename || operation.kind == .remove ? .fail(EIO) : .proceed
      }
      #expect(code { try Database(path: path, access: .existingOrNew, hook: recorder.hook) } == .io)
      #expect(try contents(of: path).keys.contains { $0.hasPrefix("MANIFEST-") })
      #expect(code { try Database(path: path, access: .existing) } == .notFound)
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
    }
  }

  @Test func aMissingTableIsAnErrorAtOpening() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      // All of them, since closing may have left the table of an unfinished compaction, which is not needed.
      for name in try contents(of: path).keys where name.hasSuffix(".ldb") {
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
      }
      #expect(code { try Database(path: path, access: .existing) } == .damaged)
      #expect(code { try Database(path: path, access: .readOnly) } == .damaged)
    }
  }

  @Test func aTableDeletedWhileOpenDoesNotMakeItsKeysAbsent() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      try withDatabase(path, .readOnly) { database throws in
        for name in try contents(of: path).keys where name.hasSuffix(".ldb") {
          try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
        #expect(code { try database.value(for: key(1)) } == .damaged)
        #expect(code { try database.entries() } == .damaged)
      }
    }
  }

  @Test func aTableThatIsCutWhileItIsOpenIsAnErrorAndNotACrash() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      try withDatabase(path, .readOnly) { database throws in
        #expect(try database.entries().count == 2000)
        for name in try contents(of: path).keys where name.hasSuffix(".ldb") {
          try FileHandle(forWritingTo: URL(filePath: "\(path)/\(name)")).truncate(atOffset: 100)
        }
        #expect(code { try database.entries() } == .damaged)
      }
    }
  }

  @Test(arguments: ["../db/MANIFEST-000002\n", "no newline", "", "much text"])
  func aCurrentFileThatNamesNoManifestOfItsFolderIsRefused(text: String) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      let text = text == "much text" ? String(repeating: "x", count: 100_000) + "\n" : text
      try Data(text.utf8).write(to: URL(filePath: "\(path)/CURRENT"))
      #expect(code { try Database(path: path, access: .readOnly) } == .damaged)
      #expect(code { try Database(path: path, access: .existing) } == .damaged)
    }
  }

  /// Errors pass through LevelDB as texts with a mark before the code.
  @Test(arguments: ["plain", "\u{1}", "a\u{1}0\u{1}0", "\u{1}2\u{1}"])
  func anErrorHasItsCodeAndItsWordsWhateverThePath(name: String) throws {
    try withTemporaryFolder { folder in
      let path = folder.path(name)
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      let log = try newest(".log", in: path)
      let readHook: ReadHook = { path, _ in path.hasSuffix(".log") ? .fail(EMFILE) : .proceed }
      let short = #expect(throws: DatabaseError.self) {
        try Database(path: path, access: .readOnly, readHook: readHook)
      }
      #expect(short?.code == .io && short?.osError == EMFILE)
      #expect(
        short?.message.contains("\(path)/\(log): the file can't be read") == true, "\(short?.message ?? "")")
      try FileManager.default.removeItem(atPath: "\(path)/CURRENT")
      let damaged = #expect(throws: DatabaseError.self) { try Database(path: path, access: .readOnly) }
      #expect(damaged?.code == .damaged)
      #expect(damaged?.message == "\(path)/CURRENT: the file is missing, but others are there")
    }
  }

  // MARK: Flipped bits

  @Test func aFlippedBitInATableGivesAnErrorOrTheSameAnswers() throws {
    try flipBits(in: ".ldb") { entries, expected in entries == expected }
  }

  @Test func aFlippedBitInTheCurrentFileGivesAnErrorOrTheSameAnswers() throws {
    try flipBits(in: "CURRENT") { entries, expected in entries == expected }
  }

  /// LevelDB takes some damage at the end of a log for a write torn by a crash, and does not report it.
  @Test func aFlippedBitInALogGivesAnErrorOrAPrefix() throws {
    try flipBits(in: ".log") { entries, expected in entries == Array(expected.prefix(entries.count)) }
  }

  /// LevelDB does the same with the manifest. The lost end names tables, so entries may be missing, but none is wrong.
  @Test func aFlippedBitInAManifestGivesAnErrorOrNoWrongEntry() throws {
    try flipBits(in: "MANIFEST-") { entries, expected in entries.allSatisfy(expected.contains) }
  }

  private func flipBits(in part: String, isRight: ([Entry], [Entry]) -> Bool) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      // One table of several blocks, and a log.
      var options = Database.Options.small
      options.writeBufferByteCount = 1 << 20
      try withDatabase(path, .existingOrNew, options: options) { try $0.store(1...30) }
      options.keptLogByteCount = 0
      try withDatabase(path, .existing, options: options) { try $0.store(31...40) }
      let expected = (1...40).map { Entry($0) }
      let file = try "\(path)/\(newest(part, in: path))"
      let whole = [UInt8](try Data(contentsOf: URL(filePath: file)))
      var errorCount = 0
      for index in stride(from: 0, to: whole.count, by: 7) {
        try edit(file) { $0[index] ^= 1 << UInt8(index % 8) }
        do {
          try withDatabase(path, .readOnly) { database throws in
            let entries = try database.entries()
            #expect(isRight(entries, expected), "byte \(index) of \(part)")
            guard entries == expected else { return }
            for entry in expected {
              #expect(try database.value(for: entry.key) == entry.value, "byte \(index) of \(part)")
            }
          }
        } catch {
          #expect(error is DatabaseError)
          errorCount += 1
        }
        try edit(file) { $0[index] = whole[index] }
      }
      #expect(errorCount > 0)
    }
  }

  // MARK: Forgeries

  @Test func aFooterThatAsksForMoreThanTheFileIsCorruptionWithoutAnAllocation() throws {
    try withTable { path, table in
      for size: UInt64 in [1 << 20, 1 << 40, .max >> 1, .max] {
        try edit(table) { bytes in
          bytes.replaceFooter(metaindex: (0, 8), index: (0, size))
        }
        try expect(.damaged, at: path)
      }
    }
  }

  @Test func theFooterOfAnotherTableIsCorruption() throws {
    try withTable { path, table in
      for other in [990, 1000, 1010] {
        try withTemporaryFolder { folder in
          let otherPath = folder.path("db")
          var options = Database.Options()
          options.blockByteCount = 1 << 10
          options.keptLogByteCount = 0
          try withDatabase(otherPath, .existingOrNew, options: options) {
            try $0.store(1...other, byteCount: 99)
          }
          try withDatabase(otherPath, .existing, options: options) { _ in }
          let foreign = [UInt8](
            try Data(contentsOf: URL(filePath: "\(otherPath)/\(newest(".ldb", in: otherPath))")))
          try edit(table) { $0.replaceSubrange($0.count - 48..<$0.count, with: foreign.suffix(48)) }
          try expect(.damaged, at: path)
        }
      }
    }
  }

  @Test func aFooterOfUnterminatedNumbersIsCorruption() throws {
    try withTable { path, table in
      try edit(table) { bytes in
        for index in bytes.count - 48..<bytes.count - 8 { bytes[index] = 0xff }
      }
      try expect(.damaged, at: path)
    }
  }

  /// The index block's checksum is right, so LevelDB would allocate this much memory.
  @Test(arguments: [false, true])
  func anIndexThatNamesABlockBeyondTheEndIsCorruptionWithoutAnAllocation(isHidden: Bool) throws {
    try withTable { path, table in
      try edit(table) { $0.forgeIndex(blockByteCount: 1 << 62, isHidden: isHidden) }
      try expect(.damaged, at: path)
    }
  }

  /// Before writing begins, the keys of a leftover are compared with the database.
  @Test(arguments: [false, true])
  func aLeftoverThatNamesABlockBeyondItsEndIsReadWithoutAnAllocation(isHidden: Bool) throws {
    try withTable { path, table in
      let leftover = "\(path)/000099.ldb"
      try FileManager.default.copyItem(atPath: table, toPath: leftover)
      try edit(leftover) { $0.forgeIndex(blockByteCount: 1 << 62, isHidden: isHidden) }
      let count = try withDatabase(path, .existing) { try $0.entries().count }
      #expect(count == 1000)
    }
  }

  /// All checksums are right. LevelDB asserts the order of keys when it merges tables, which would end the process.
  @Test(arguments: [Forgery.swappedKeys, .swappedBlocks, .compressedBlock, .unknownKind, .keysOfAnotherTable])
  func blocksInAFormThatLevelDBNeverWritesAreCorruption(forgery: Forgery) throws {
    try withTable { path, table in
      try edit(table) { $0.forgeBlocks(forgery) }
      let scan = try Database(path: path, access: .readOnly)
      #expect(code { try scan.entries() } == .damaged)
      scan.close()
      // Tables whose keys overlap are merged.
      do {
        for round in 1...6 {
          try withDatabase(path, .existing, options: .smallTables) { database in
            try database.store(stride(from: round, through: 1000, by: 6))
          }
        }
      } catch {
        #expect(error is DatabaseError)
      }
    }
  }

  /// Calls `body` with a database of 1,000 entries and the path of its only table.
  private func withTable(_ body: (_ path: String, _ table: String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      var options = Database.Options()
      options.blockByteCount = 1 << 10
      options.keptLogByteCount = 0
      try withDatabase(path, .existingOrNew, options: options) { try $0.store(1...1000) }
      try withDatabase(path, .existing, options: options) { _ in }
      try body(path, "\(path)/\(newest(".ldb", in: path))")
    }
  }

  /// Expects reading to fail with this code for either access, and closing to succeed.
  private func expect(_ expected: DatabaseError.Code, at path: String) throws {
    for access in [Database.Access.readOnly, .existing] {
      let lookup = try Database(path: path, access: access)
      #expect(code { try lookup.value(for: key(1)) } == expected)
      lookup.close()
      let scan = try Database(path: path, access: access)
      #expect(code { try scan.entries() } == expected)
      scan.close()
    }
  }
}
