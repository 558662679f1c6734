import Files
import Foundation
import LevelDB
import TestSupport
import Testing

/// Opening for reading leaves every byte of the folder as it was.
@Suite struct OverlayTests {
  @Test func readingAFolderWithAFullLogChangesNothing() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      let before = try contents(of: path)
      // Otherwise this test would prove nothing.
      #expect(try #require(before[newest(".log", in: path)]).count > 1000)
      #expect(before.keys.contains { $0.hasSuffix(".ldb") })
      try withDatabase(path, .readOnly) { database throws in
        #expect(try database.entries() == (1...2000).map { Entry($0) })
        #expect(try database.value(for: key(2000)) == value(2000))
      }
      #expect(try contents(of: path) == before)
    }
  }

  @Test func readingAFolderThatIsDueForACompactionChangesNothing() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try makeFourTablesAtLevelZero(path)
      let before = try contents(of: path)
      #expect(before.keys.count { $0.hasSuffix(".ldb") } >= 4)
      try withDatabase(path, .readOnly) { database throws in
        for _ in 0..<20 { #expect(try database.entries().count == 40) }
        for number in 1...40 { #expect(try database.value(for: key(number)) == value(number)) }
      }
      #expect(try contents(of: path) == before)
      // Opening for writing does compact.
      try withDatabase(path, .existing) { database throws in #expect(try database.entries().count == 40) }
      #expect(try contents(of: path) != before)
    }
  }

  /// Each opening here turns the log into one table at level 0. The fourth makes a compaction due, whose table
  /// is refused. The keys of the tables overlap: other tables would be moved and not merged.
  private func makeFourTablesAtLevelZero(_ path: String) throws {
    for round in 1...4 {
      try withDatabase(path, .existingOrNew, options: .smallTables) { database in
        try database.store(stride(from: round, through: 40, by: 4))
      }
    }
    let tables = Counter()
    let hook: FileHook = { operation in
      guard operation.kind == .create, operation.name.hasSuffix(".ldb") else { return .proceed }
      return tables.increment() == 1 ? .proceed : .fail(EIO)
    }
    try withDatabase(path, .existing, options: .smallTables, hook: hook) { _ in }
  }

  @Test func writesAreRefusedAndNothingIsReportedToTheHook() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...10) }
      let recorder = Recorder()
      try withDatabase(path, .readOnly, hook: recorder.hook) { database throws in
        #expect(code { try database.store([11]) } == .readOnly)
        #expect(try database.entries().count == 10)
      }
      #expect(recorder.operations.isEmpty)
    }
  }

  @Test func aReaderReadsWhileAWriterHasTheFolderOpen() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { writer throws in
        try writer.store(1...10)
        try withDatabase(path, .readOnly) { database throws in #expect(try database.entries().count == 10) }
        try writer.store(11...20)
        #expect(try writer.entries().count == 20)
      }
    }
  }

  @Test func aLogCutAnywhereGivesAPrefixOrAnErrorAndIsLeftAsItIs() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      let log = try newest(".log", in: path)
      let whole = try Data(contentsOf: URL(filePath: "\(path)/\(log)"))
      for length in stride(from: 0, to: whole.count, by: 13) {
        try whole.prefix(length).write(to: URL(filePath: "\(path)/\(log)"))
        let before = try contents(of: path)
        do {
          let entries = try withDatabase(path, .readOnly) { try $0.entries() }
          #expect(entries == (1...20).prefix(entries.count).map { Entry($0) }, "cut at \(length)")
          #expect(entries.count < 20, "cut at \(length)")
        } catch let error as DatabaseError {
          #expect(error.code == .damaged, "cut at \(length)")
        }
        #expect(try contents(of: path) == before, "cut at \(length)")
      }
    }
  }

  @Test func aDatabaseWithADeletedLogIsEmptyToLevelDBAndIsLeftUnchanged() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      try FileManager.default.removeItem(atPath: "\(path)/\(newest(".log", in: path))")
      let before = try contents(of: path)
      // The journal's own marker must notice this: LevelDB does not.
      try withDatabase(path, .readOnly) { database throws in #expect(try database.entries().isEmpty) }
      #expect(try contents(of: path) == before)
    }
  }
}
