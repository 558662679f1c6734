import Files
import Foundation
import LevelDB
import LevelDBSalvage
import TestSupport
import Testing

private struct FolderFailure: FileFailure {
  let error: FileError
  init(_ error: FileError) { self.error = error }
}

/// Databases that other programs have opened, and programs that open one at the same time.
@Suite struct OtherProgramsTests {
  /// A value that Snappy makes shorter.
  private static func value(_ number: Int) -> [UInt8] {
    Array(String(repeating: "entry \(number) ", count: 30).utf8)
  }

  private static let expected = (1...3000).map { Entry(key: key($0), value: value($0)) }

  /// Makes a database of tables and a log.
  private func make(_ path: String) throws {
    try withDatabase(path, .existingOrNew, options: .small) { database throws in
      for entry in Self.expected { try database.write([(entry.key, entry.value)], sync: false) }
    }
  }

  @Test(arguments: PlainLevelDB.all)
  func tablesOfAnotherProgramAreReadMergedAndSalvaged(_ other: PlainLevelDB) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try make(path)
      #expect(try other.look(at: path) == 3000)
      for access in [Database.Access.readOnly, .inUse, .existing] {
        try withDatabase(path, access, options: .small) { database throws in
          #expect(try database.entries() == Self.expected)
          #expect(try database.value(for: key(1500)) == Self.value(1500))
          #expect(try database.keyRanges().count > 0)
        }
      }
      let files = try SalvagedFiles(in: Folder<FolderFailure>(path, followsLinks: false, hook: nil))
      #expect(files.problems.isEmpty)
      for entry in Self.expected { #expect(try files.values(for: entry.key).contains(entry.value)) }
      // Tables whose keys overlap are merged.
      for round in 1...4 {
        try withDatabase(path, .existing, options: .smallTables) { database in
          try database.store(stride(from: 3000 + round, through: 4000, by: 4))
        }
        #expect(try other.look(at: path) == 3000 + 250 * round)
      }
      try withDatabase(path, .readOnly) { database throws in
        #expect(try database.entries() == Self.expected + (3001...4000).map { Entry($0) })
      }
    }
  }

  /// iq80's LevelDB for Java uses the older name.
  @Test func aMergedTableUnderItsOlderNameIsRead() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { database throws in
        try database.write([([UInt8(ascii: "m")], [1])], sync: true)
        try database.store(1...100)
      }
      #expect(try PlainLevelDB(compacts: true).look(at: path) == 101)
      let name = try newest(".ldb", in: path)
      try FileManager.default.moveItem(
        atPath: "\(path)/\(name)", toPath: "\(path)/\(name.dropLast(3))sst")
      try withDatabase(path, .existing) { database throws in
        #expect(try database.entries().count == 101)
        try database.store(101...200)
      }
      try withDatabase(path, .readOnly) { database throws in #expect(try database.entries().count == 201) }
    }
  }

  /// Checksums are right, so only the check of Snappy's format finds the damage.
  @Test func damageInACompressedBlockIsAnErrorAndNeverACrash() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try make(path)
      _ = try PlainLevelDB(compacts: true).look(at: path)
      let table = try "\(path)/\(newest(".ldb", in: path))"
      let whole = [UInt8](try Data(contentsOf: URL(filePath: table)))
      var random = SeededGenerator(seed: 46)
      var errorCount = 0
      for turn in 0..<300 {
        var bytes = whole
        bytes.forgeBytes { block in
          for _ in 0...Int.random(in: 0...3, using: &random) {
            let index = Int.random(in: 0..<(turn % 3 == 0 ? 8 : block.count), using: &random)
            block[block.startIndex + index] = UInt8.random(in: 0...255, using: &random)
          }
        }
        try Data(bytes).write(to: URL(filePath: table))
        do {
          try withDatabase(path, .readOnly) { _ = try $0.entries() }
        } catch {
          #expect((error as? DatabaseError)?.code == .damaged)
          errorCount += 1
        }
      }
      #expect(errorCount > 100)
    }
  }

  /// The most address space that this process has had; 0 if the system does not report it.
  private static var peakByteCount: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    return status.firstMatch(of: /VmPeak:\s*([0-9]+) kB/).flatMap { Int($0.1) }.map { $0 << 10 } ?? 0
  }

  /// LevelDB allocates what the first bytes of a compressed block announce.
  @Test(
    arguments: [[0xff, 0xff, 0xff, 0xff, 0x0f], [0x80, 0x80, 0x80, 0x80, 0x04], [0, 0, 0, 0, 0]] as [[UInt8]])
  func theAnnouncedLengthOfACompressedBlockIsCheckedBeforeMemoryIsAllocated(_ length: [UInt8]) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try make(path)
      _ = try PlainLevelDB(compacts: true).look(at: path)
      let before = Self.peakByteCount
      try edit("\(path)/\(newest(".ldb", in: path))") { bytes in
        bytes.forgeBytes { $0.replaceSubrange($0.startIndex..<$0.startIndex + 5, with: length) }
      }
      #expect(code { try withDatabase(path, .readOnly) { _ = try $0.entries() } } == .damaged)
      #expect(Self.peakByteCount - before < 1 << 30)
    }
  }

  @Test(arguments: [
    ("leveldb.BytewiseComparator", [UInt8](), 0), ("idb_cmp1", [], 1),
    ("leveldb.BytewiseComparator", [200, 1], 2),
  ])
  func theManifestOfAnotherDatabaseIsCalledThat(_ comparator: String, _ part: [UInt8], _ kind: Int) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      let name = Array(comparator.utf8)
      try edit("\(path)/\(newest("MANIFEST-", in: path))") { bytes in
        bytes.appendRecord([1, UInt8(name.count)] + name + part)
      }
      guard kind > 0 else { return try withDatabase(path, .readOnly) { _ in } }
      let error = #expect(throws: DatabaseError.self) { try Database(path: path, access: .readOnly) }
      #expect(error?.code == .damaged)
      #expect(error?.message.contains(kind == 1 ? "\"idb_cmp1\"" : "RocksDB or Pebble") == true)
    }
  }

  // MARK: At the same time

  /// C++ LevelDB and goleveldb take different locks, which do not see each other.
  @Test func aWriterHoldsTheLocksOfBothImplementations() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      let other = unsafe open("\(path)/LOCK", O_RDWR)
      defer { close(other) }
      try withDatabase(path, .existing) { database throws in
        #expect(flock(other, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK)
        #expect(flock(other, LOCK_SH | LOCK_NB) == -1)
        try withDatabase(path, .inUse) { _ in }
      }
      #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
      #expect(code { try Database(path: path, access: .existing) } == .busy)
      try withDatabase(path, .readOnly) { database throws in #expect(try database.entries().count == 20) }
      #expect(flock(other, LOCK_UN) == 0)
      try withDatabase(path, .existing) { try $0.store(21...30) }
    }
  }
}
