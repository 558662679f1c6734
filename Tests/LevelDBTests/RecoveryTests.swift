import Files
import Foundation
import LevelDB
import TestSupport
import Testing

/// Opening for writing loses nothing: it succeeds with every entry, or fails and leaves the folder as it was.
@Suite struct RecoveryTests {
  // MARK: Reads that fail or fall short

  @Test(arguments: [FileVerdict.short(1), .short(100), .fail(EIO), .fail(ENOMEM)])
  func ifAnyReadOfAnOpeningFailsOrIsShortNothingIsLost(verdict: FileVerdict) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try fill(path)
      let expected = (1...600).map { Entry($0) }
      var index = 0
      var isHit = true
      var refusals = 0
      while isHit {
        let before = try contents(of: path)
        let (faulty, reads) = (index, Counter())
        do {
          let database = try Database(
            path: path, access: .existing, options: .small,
            readHook: { _, _ in reads.increment() == faulty + 1 ? verdict : .proceed })
          isHit = reads.value > faulty
          database.close()
        } catch let error as DatabaseError {
          #expect(error.code == .io || error.code == .outOfResources, "read \(faulty): \(error)")
          #expect(try contents(of: path) == before, "read \(faulty)")
          refusals += 1
        }
        #expect(try withDatabase(path, .readOnly) { try $0.entries() } == expected, "read \(faulty)")
        // What was opened has no log any more.
        try FileManager.default.removeItem(atPath: path)
        try fill(path)
        index += 1
      }
      #expect(index > 3)
      if case .fail = verdict { #expect(refusals >= 3) } else { #expect(refusals == 0) }
    }
  }

  @Test func aTornTailAndAReadThatFailsOnceLoseNothing() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...600, sync: true) }
      try cutZerosAhead(ofLogsIn: URL(filePath: path))
      let log = try "\(path)/\(newest(".log", in: path))"
      try edit(log) { $0 += [1, 2, 3, 4, 200, 0, 1, 9, 9] }
      var refusals = 0
      for faulty in 1...4 {
        let reads = Counter()
        let readHook: ReadHook = { path, _ in
          path.hasSuffix(".log") && reads.increment() == faulty ? .fail(EIO) : .proceed
        }
        let before = try contents(of: path)
        do {
          try withDatabase(path, .existing, readHook: readHook) { _ in }
          break
        } catch {
          #expect((error as? DatabaseError)?.osError == EIO)
          #expect(try contents(of: path) == before)
          refusals += 1
        }
      }
      #expect(refusals > 0)
      #expect(try withDatabase(path, .existing) { try $0.entries() } == (1...600).map { Entry($0) })
    }
  }

  // MARK: Traces of a write torn by a power loss, and damage that no power loss leaves

  @Test func onlyTheLastRecordOfALogIsTakenForATornOne() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...40, sync: true) }
      try cutZerosAhead(ofLogsIn: URL(filePath: path))
      let log = try "\(path)/\(newest(".log", in: path))"
      let whole = [UInt8](try Data(contentsOf: URL(filePath: log)))
      // Each batch is a record: 7 bytes of header, 12 of the batch, 3 of lengths and kind, 9 of the key, the value.
      let size = whole.count / 40
      #expect(whole.count == size * 40)
      for index in stride(from: 0, to: whole.count, by: 11) {
        try edit(log) { $0[index] ^= 0x10 }
        let before = try contents(of: path)
        let isInLast = index >= 39 * size
        do {
          let (entries, isTorn) = try withDatabase(path, .readOnly) { (try $0.entries(), $0.hasTornTail) }
          #expect(isInLast && isTorn, "byte \(index)")
          #expect(entries == (1...39).map { Entry($0) })
        } catch let error as DatabaseError {
          #expect(error.code == .damaged)
          #expect(!isInLast, "byte \(index)")
          #expect(code { try Database(path: path, access: .existing) } == .damaged)
          var options = Database.Options()
          options.opensUpToDamage = true
          let count = index / size
          let database = try Database(path: path, access: .prepared, options: options)
          #expect(try database.entries() == (1...40).prefix(count).map { Entry($0) })
          #expect(database.damage?.message.contains("byte \(count * size)") == true)
          #expect(code { try database.beginWriting() } == .damaged)
          database.close()
        }
        #expect(try contents(of: path) == before)
        try edit(log) { $0[index] ^= 0x10 }
      }
      #expect(try withDatabase(path, .existing) { try $0.entries().count } == 40)
    }
  }

  @Test func aLogOrAManifestThatIsLongerThanAnyWriteIsNotReadToItsEnd() throws {
    try withTemporaryFolder { folder in
      for part in [".log", "MANIFEST-"] {
        let path = folder.path("db \(part)")
        try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
        let file = try "\(path)/\(newest(part, in: path))"
        let length = try contents(of: path)[newest(part, in: path)]!.count
        try FileHandle(forWritingTo: URL(filePath: file)).truncate(atOffset: 4 << 40)
        #expect(code { try Database(path: path, access: .readOnly) } == .damaged)
        #expect(code { try Database(path: path, access: .existing) } == .damaged)
        try FileHandle(forWritingTo: URL(filePath: file)).truncate(atOffset: UInt64(length))
        #expect(try withDatabase(path, .existing) { try $0.entries().count } == 20)
      }
    }
  }

  // MARK: Manifests

  @Test func aManifestCutAtAnyByteIsRefusedOrLosesNoEntry() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      let manifest = try "\(path)/\(newest("MANIFEST-", in: path))"
      let whole = try Data(contentsOf: URL(filePath: manifest))
      var refusals = 0
      for length in (0..<whole.count).reversed() {
        try whole.prefix(length).write(to: URL(filePath: manifest))
        let before = try contents(of: path)
        do {
          let database = try Database(path: path, access: .existing, options: .small)
          // What is left can be an older state of which every file is still there.
          #expect(try database.entries() == (1...2000).map { Entry($0) }, "cut at \(length)")
          database.close()
          for (name, bytes) in before { try bytes.write(to: URL(filePath: "\(path)/\(name)")) }
          for name in try contents(of: path).keys where before[name] == nil {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
          }
        } catch let error as DatabaseError {
          #expect(error.code == .damaged, "cut at \(length): \(error)")
          #expect(try contents(of: path) == before, "cut at \(length)")
          refusals += 1
        }
      }
      #expect(refusals > whole.count / 2)
      try whole.write(to: URL(filePath: manifest))
      #expect(try withDatabase(path, .existing) { try $0.entries() } == (1...2000).map { Entry($0) })
    }
  }

  @Test func aManifestThatNamesATableTwiceIsAnErrorAndDoesNotEndTheProcess() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      let manifest = try "\(path)/\(newest("MANIFEST-", in: path))"
      // The records once more: whole, with right checksums, but different from those that LevelDB would write there.
      try edit(manifest) { $0 += $0 }
      #expect(code { try Database(path: path, access: .readOnly) } == .damaged)
      #expect(code { try Database(path: path, access: .existing) } == .damaged)
    }
  }

  /// Each level would be right by itself, but a merge of one would remove the file that the other needs.
  @Test func aManifestThatNamesATableAtTwoLevelsIsAnError() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...1000) }
      try withDatabase(path, .existing, options: .smallTables) { _ in }
      let table = try newest(".ldb", in: path)
      let byteCount = try Data(contentsOf: URL(filePath: "\(path)/\(table)")).count
      try edit("\(path)/\(newest("MANIFEST-", in: path))") {
        $0.appendRecord(.newTable(UInt64(table.prefix(6))!, at: 6, byteCount, keys: 1...1000))
      }
      #expect(code { try Database(path: path, access: .readOnly) } == .damaged)
      #expect(code { try Database(path: path, access: .existing) } == .damaged)
    }
  }

  @Test func aRepeatedRecordInALogIsAnErrorAndDoesNotEndTheProcess() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      let log = try "\(path)/\(newest(".log", in: path))"
      try edit(log) { $0 += $0 }
      #expect(code { try Database(path: path, access: .readOnly) } == .damaged)
      #expect(code { try Database(path: path, access: .existing) } == .damaged)
    }
  }

  // MARK: Names

  @Test(arguments: [
    "18446744073709551615.log", "18446744073709551615.ldb", "MANIFEST-18446744073709551615",
    "9223372036854775807.log", "18446744073709551616.log", "5.log", "0000000000000000000000000007.ldb",
  ])
  func aFileWithANumberThatNoDatabaseGivesIsLeftAlone(name: String) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      let file = URL(filePath: "\(path)/\(name)")
      for content in [Data(), Data("a note".utf8)] {
        try content.write(to: file)
        for access in [Database.Access.readOnly, .existing, .existingOrNew] {
          #expect(try withDatabase(path, access) { try $0.entries().count } == 20)
        }
        #expect(try Data(contentsOf: file) == content)
      }
    }
  }

  @Test func aForeignFileThatIsLinkedUnderTheNextNumbersKeepsItsBytes() throws {
    try withTemporaryFolder { folder in
      let foreign = folder.path("foreign")
      for suffix in ["ldb", "log", "dbtmp", "MANIFEST"] {
        let path = folder.path("db \(suffix)")
        try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
        try Data("precious".utf8).write(to: URL(filePath: foreign))
        for number in 1...12 {
          let digits = String(repeating: "0", count: number < 10 ? 5 : 4) + "\(number)"
          let name = suffix == "MANIFEST" ? "MANIFEST-\(digits)" : "\(digits).\(suffix)"
          try? FileManager.default.linkItem(atPath: foreign, toPath: "\(path)/\(name)")
        }
        for round in 1...3 {
          do {
            try withDatabase(path, .existing) { try $0.store([20 + round]) }
          } catch {
            #expect((error as? DatabaseError)?.code == .damaged)
          }
          #expect(try Data(contentsOf: URL(filePath: foreign)) == Data("precious".utf8), "\(suffix)")
        }
        try FileManager.default.removeItem(atPath: foreign)
      }
    }
  }

  @Test func aLeftoverFileWithUniqueKeysIsNeitherRemovedNorReplaced() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew) { try $0.store(1...20) }
      try withDatabase(folder.path("other"), .existingOrNew) { try $0.store(500...600) }
      try withDatabase(folder.path("other"), .existing, options: .smallTables) { _ in }
      let table = try newest(".ldb", in: folder.path("other"))
      for name in ["000004.ldb", "000700.ldb"] {
        try FileManager.default.copyItem(atPath: folder.path("other/\(table)"), toPath: "\(path)/\(name)")
        let before = try contents(of: path)
        let error = #expect(throws: DatabaseError.self) { try Database(path: path, access: .existing) }
        #expect(error?.code == .damaged)
        #expect(error?.key == key(500))
        #expect(try contents(of: path) == before)
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
      }
      #expect(try withDatabase(path, .existing) { try $0.entries().count } == 20)
    }
  }

  @Test(arguments: [Database.Options.small, .smallTables])
  func aWriteThatFailsWhileOpeningLeavesTheFolderAsItWas(options: Database.Options) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try fill(path)
      let before = try contents(of: path)
      var index = 0
      while true {
        let faulty = index
        let recorder = Recorder { operation, number in number == faulty ? .fail(ENOSPC) : .proceed }
        do {
          try withDatabase(path, .existing, options: options, hook: recorder.hook) { _ in }
        } catch {}
        // From then on the folder has the same entries in other files. A log that is kept has the same
        // records as before.
        let isRenamed = recorder.operations.prefix(faulty).contains {
          $0.newPath?.hasSuffix("CURRENT") == true
        }
        if isRenamed || recorder.operations.count <= faulty { break }
        if recorder.operations[faulty].isOfZeros {
          // Nothing depends on them, so the database was opened.
          try FileManager.default.removeItem(atPath: path)
          try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
          for (name, bytes) in before { try bytes.write(to: URL(filePath: "\(path)/\(name)")) }
        }
        try cutZerosAhead(ofLogsIn: URL(filePath: path))
        #expect(try contents(of: path) == before, "operation \(faulty)")
        index += 1
      }
      #expect(index > 5)
      #expect(try withDatabase(path, .existing) { try $0.entries().count } == 600)
    }
  }

  // MARK: Logs that are kept

  @Test func openingOftenLeavesAFewFilesAndEveryEntry() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let count = 1_000
      for number in 1...count {
        try withDatabase(path, .existingOrNew) { try $0.store([number], sync: true) }
        if number % 100 == 0 { #expect(try contents(of: path).count < 8) }
      }
      // A log that has grown beyond what is kept becomes one table.
      var options = Database.Options()
      options.keptLogByteCount = 8 << 10
      for number in count + 1...2 * count {
        try withDatabase(path, .existing, options: options) { try $0.store([number], sync: true) }
      }
      #expect((2...2 + 2 * count * 130 / (8 << 10)).contains(try tables(in: path)))
      #expect(try withDatabase(path, .readOnly) { try $0.entries() } == (1...2 * count).map { Entry($0) })
    }
  }

  @Test func aKeptLogIsANewFileSoThatACopyByHardLinksStaysWhatItWas() throws {
    try withTemporaryFolder { folder in
      let (path, copy) = (folder.path("db"), folder.path("copy"))
      try withDatabase(path, .existingOrNew) { try $0.store(1...20, sync: true) }
      try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
      for name in try contents(of: path).keys {
        try FileManager.default.linkItem(atPath: "\(path)/\(name)", toPath: "\(copy)/\(name)")
      }
      let before = try contents(of: copy)
      try withDatabase(path, .existing) { try $0.store(21...40, sync: true) }
      #expect(try contents(of: copy) == before)
      #expect(try withDatabase(copy, .existing) { try $0.entries() } == (1...20).map { Entry($0) })
    }
  }

  @Test func theRangesOfKeysCoverALogThatIsKept() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...2000) }
      let database = try Database(path: path, access: .readOnly)
      let ranges = try database.keyRanges().sorted { $0.first.lexicographicallyPrecedes($1.first) }
      #expect(ranges.count > 2 && ranges.first?.first == key(1) && ranges.last?.last == key(2000))
      for (range, next) in zip(ranges, ranges.dropFirst()) {
        let last = try #require((1...2000).first { key($0) == range.last })
        #expect(next.first == key(last + 1))
      }
      database.close()
    }
  }

  private func tables(in path: String) throws -> Int {
    try contents(of: path).keys.count { $0.hasSuffix(".ldb") }
  }

  // MARK: Descriptors

  @Test func withoutADescriptorForANewLogOnlyThatWriteFails() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let recorder = Recorder()
      let database = try Database(path: path, access: .existingOrNew, options: .small, hook: recorder.hook)
      recorder.decide { operation, _ in
        operation.kind == .create && operation.name.hasSuffix(".log") ? .fail(EMFILE) : .proceed
      }
      var stored = 0
      let error = #expect(throws: DatabaseError.self) {
        for number in 1...2000 {
          try database.store([number])
          stored = number
        }
      }
      #expect(error?.code == .refused && error?.osError == EMFILE)
      #expect(stored > 0)
      #expect(code { try database.store([stored + 1]) } == .refused)
      #expect(try database.entries() == (1...stored).map { Entry($0) })
      recorder.decide { _, _ in .proceed }
      try database.store(stored + 1...2000)
      database.close()
      #expect(try withDatabase(path, .existing) { try $0.entries() } == (1...2000).map { Entry($0) })
    }
  }

  @Test func aTableThatGetsNoDescriptorIsWrittenLater() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let refusals = Counter()
      let hook: FileHook = { operation in
        guard operation.kind == .create, operation.name.hasSuffix(".ldb") else { return .proceed }
        return refusals.increment() <= 20 ? .fail(EMFILE) : .proceed
      }
      try withDatabase(path, .existingOrNew, options: .small, hook: hook) { database throws in
        try database.store(1...4000)
        #expect(try database.entries() == (1...4000).map { Entry($0) })
      }
      #expect(refusals.value > 20)
    }
  }

  // MARK: Threads

  @Test func withoutAThreadForItsWorkADatabaseIsWrittenCompactedAndClosed() async throws {
    try await withTemporaryFolder { folder in
      var options = Database.Options.small
      options.asksForThread = false
      let database = try Database(path: folder.path("db"), access: .existingOrNew, options: options)
      await withTaskGroup { group in
        for worker in 0..<4 {
          group.addTask {
            #expect(throws: Never.self) {
              try database.store(stride(from: worker + 1, through: 6000, by: 4))
            }
          }
        }
      }
      #expect(try database.entries() == (1...6000).map { Entry($0) })
      database.close()
      for _ in 1...3 {
        let again = try Database(path: folder.path("db"), access: .existing, options: options)
        #expect(try again.entries().count == 6000)
        again.close()
      }
    }
  }

  /// Several tables, and a log of several blocks.
  private func fill(_ path: String) throws {
    try withDatabase(path, .existingOrNew, options: .small) { try $0.store(1...200) }
    try withDatabase(path, .existing, options: .smallTables) { try $0.store(201...600) }
  }
}
