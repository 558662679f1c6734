import Files
import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import Locks
import TestSupport
import Testing

/// Opening a log that is damaged or temporarily can't be read.
@Suite struct RecoveryTests {
  /// MANIFEST, CURRENT and the log are cut and flipped at every byte; in a short run at every fourth one, from another
  /// start each time. A journal that opens must have everything, and one that is refused must be left as it was.
  @Test(.disabled(if: TestLength.isUnderSanitizer), arguments: ["MANIFEST-", "CURRENT", ".log"])
  func noAcknowledgedEntryIsLostWithAnyByteOfTheLogLostOrFlipped(part: String) throws {
    // In memory, because it opens thousands of journals, and what the drive does with them is not part of the test.
    try withTables(inMemory: true) { url, head in
      let file = try #require(try names(url).last { $0.hasPrefix(part) || $0.hasSuffix(part) })
      let path = url.appending(path: "entries/\(file)")
      let whole = try Data(contentsOf: path)
      let intact = try contents(of: url)
      var (opened, refused) = (0, 0)
      let step = TestLength.size(4, long: 1)
      var random = SeededGenerator()
      for index in stride(from: Int.random(in: 0..<step, using: &random), to: whole.count, by: step) {
        for isCut in [true, false] {
          var altered = whole
          if isCut { altered.removeSubrange(index...) } else { altered[index] ^= 1 << UInt8(index % 8) }
          try altered.write(to: path)
          let place = Comment(rawValue: "\(file), \(isCut ? "cut at" : "flipped in") byte \(index)")
          do {
            let journal = try Journal<Ledger>.open(at: url, options: Self.options)
            #expect(journal.head == head, place)
            if index % 16 < step { #expect(try journal.verify().isSound, place) }
            try journal.close()
            opened += 1
            try restore(url, intact)
          } catch let error as JournalError {
            #expect(error.code == .damaged && error.revision != nil, "\(place): \(error)")
            #expect(try contents(of: url, without: file) == intact.filter { !$0.key.hasSuffix(file) }, place)
            #expect(try Data(contentsOf: path) == altered, place)
            refused += 1
          }
        }
      }
      #expect(refused > whole.count / step / 4)
      try whole.write(to: path)
      let journal = try Journal<Ledger>.open(at: url, options: Self.options)
      #expect(journal.head == head)
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }

  @Test(arguments: [EIO, EMFILE, ENFILE, ENOMEM, EACCES])
  func aTemporaryReadFailureIsNotReportedAsDamage(error number: Int32) throws {
    try withTables { url, head in
      let before = try contents(of: url)
      var index = 0
      var isHit = true
      while isHit {
        let faulty = index
        let reads = Reads()
        var options = Self.options
        options.readHook = { path, _ in
          path.contains("/entries/") && reads.next() == faulty ? .fail(number) : .proceed
        }
        do {
          let journal = try Journal<Ledger>.open(at: url, mode: .readOnly, options: options)
          isHit = reads.next() > faulty
          #expect(journal.head == head)
          try journal.close()
        } catch let error as JournalError {
          let codes: [Int32: JournalError.Code] = [EIO: .io, EACCES: .permission]
          #expect(error.code == codes[number] ?? .outOfResources, "read \(faulty): \(error)")
          #expect(!error.description.contains("backup"))
        }
        index += 1
      }
      #expect(index > 5)
      #expect(try contents(of: url) == before)
    }
  }

  /// Both have one LOCK file at first.
  @Test func aCopyByHardLinksIsWrittenWhileTheOriginalIsOpen() throws {
    try withTables { url, head in
      let copy = url.deletingLastPathComponent().appending(path: "Copy.journal")
      for name in [""] + (try #require(FileManager.default.subpaths(atPath: url.path)).sorted()) {
        let (from, to) = (url.appending(path: name), copy.appending(path: name))
        if try from.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true {
          try FileManager.default.createDirectory(at: to, withIntermediateDirectories: true)
        } else {
          try FileManager.default.linkItem(at: from, to: to)
        }
      }
      let journals = try [url, copy].map { try Journal<Ledger>.open(at: $0, options: Self.options) }
      for (turn, journal) in journals.enumerated() {
        try journal.commit(by: "\(turn)") { try $0.deposit(1, on: 1) }
      }
      for (turn, journal) in journals.enumerated() {
        #expect(try journal.entry(at: head.revision + 1).author == "\(turn)")
        #expect(try journal.verify().isSound)
        try journal.close()
      }
    }
  }

  /// It used to read what the journal had open or in memory.
  @Test(arguments: ["FORMAT", "HEAD", "CURRENT", "MANIFEST-", ".log", ".ldb", "BASE"])
  func verifyOfAJournalThatIsOpenForWritingReadsItsFilesAgain(part: String) throws {
    try withTables(inMemory: true) { whole, _ in
      for isRemoved in [true, false] {
        // Another slot of HEAD takes the place of one that is altered.
        if part == "HEAD", !isRemoved { continue }
        let url = whole.deletingLastPathComponent().appending(path: "Copy \(isRemoved).journal")
        try FileManager.default.copyItem(at: whole, to: url)
        if part == "BASE" { try Journal<Ledger>.prune(before: .revision(100), at: url) }
        let journal = try Journal<Ledger>.open(at: url, options: Self.options)
        defer { try? journal.close() }
        try journal.commit { try $0.deposit(1, on: 1) }
        #expect(try journal.verify().problems.map(\.description) == [])
        let names = try #require(FileManager.default.subpaths(atPath: url.path)).sorted()
        let file =
          part == ".ldb"
          ? try #require(try entryTables(of: url).first)
          : url.appending(path: try #require(names.last { $0.contains(part) }))
        if isRemoved {
          try FileManager.default.removeItem(at: file)
        } else {
          var byte = try Data(contentsOf: file)[10..<11]
          byte[10] ^= 0xFF
          let handle = try FileHandle(forWritingTo: file)
          try handle.seek(toOffset: 10)
          try handle.write(contentsOf: byte)
          try handle.close()
        }
        let verification = try journal.verify()
        #expect(verification.problems.contains { $0.isDamage }, "\(file.lastPathComponent) \(isRemoved)")
      }
    }
  }

  /// It opens the files of the journal again, and may lack any of the descriptors for that. In a process of its own, because
  /// other tests need descriptors.
  @Test func aLackOfDescriptorsIsNoDamageToVerification() async {
    await #expect(processExitsWith: .success) {
      try RecoveryTests().withTables { url, _ in
        let journal = try Journal<Ledger>.open(at: url, options: RecoveryTests.options)
        try journal.commit { try $0.deposit(1, on: 1) }
        var (shortCount, isSound) = (0, false)
        for count in 3..<100 where !isSound {
          do {
            let verification = try withDescriptors(atMost: count) { try journal.verify(.deep) }
            #expect(verification.problems.map(\.description) == [], "\(count)")
            isSound = true
          } catch let error as JournalError {
            #expect(error.code == .outOfResources, "\(count): \(error)")
            shortCount += 1
          }
        }
        #expect(isSound && shortCount > 2)
        try journal.commit { try $0.deposit(1, on: 1) }
        #expect(try journal.verify().isSound)
        try journal.close()
      }
    }
  }

  /// LevelDB skips a block that it can't read, as if its entries did not exist.
  @Test func aTemporaryFailureOfAReadIsNoMissingEntry() throws {
    try withTables { url, head in
      var options = Self.options
      let reads = Reads()
      let faulty = Lock(-1)
      let tables = try entryTables(of: url).map(\.lastPathComponent)
      options.readHook = { path, _ in
        // Verification needs no other table.
        guard tables.contains(where: path.hasSuffix) else { return .proceed }
        return reads.next() == faulty.withLock { $0 } ? .fail(EIO) : .proceed
      }
      let journal = try Journal<Ledger>.open(at: url, mode: .readOnly, options: options)
      defer { try? journal.close() }
      // The check in the background reads too.
      for _ in 0..<30_000 where !journal.health.isSound { Thread.sleep(forTimeInterval: 0.01) }
      #expect(journal.health.isSound)
      var hitCount = 0
      while true {
        let next = reads.next() + 1 + hitCount
        faulty.withLock { $0 = next }
        let found = try journal.verify()
        let isHit = reads.next() > next
        faulty.withLock { $0 = -1 }
        if !isHit { break }
        #expect(!found.isSound && found.problems.allSatisfy { $0.code == .io }, "\(found.problems)")
        #expect(try journal.verify().isSound)
        hitCount += 1
      }
      #expect(hitCount > 5)
    }
  }

  /// HEAD is flushed about once a second, so after a power loss it may lag behind.
  @Test func anEntryThatCanNotBeReadAtTheMomentIsNotWrittenAgain() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bank.journal")
      var options = JournalOptions(layers: .manual)
      options.database.writeBufferByteCount = 64 << 10
      let journal = try Journal<Ledger>.create(at: url, options: options)
      try journal.commit { _ = try $0.open(owner: "Ana", balance: 0) }
      let before = try Data(contentsOf: url.appending(path: "HEAD"))
      let text = String(repeating: "x", count: 1000)
      for _ in 0..<200 { try journal.commit(note: text) { try $0.deposit(1, on: 1) } }
      try journal.close()
      // Closing does not wait for the table that LevelDB makes of a full log, but opening does.
      var openings = 0
      while try names(url).count(where: { $0.hasSuffix(".log") }) > 1 {
        try #require(openings < 10)
        try Journal<Ledger>.open(at: url, options: options).close()
        openings += 1
      }
      // The newest entries are in a table, and the log is empty.
      for name in try names(url) where name.hasSuffix(".log") {
        try Data().write(to: url.appending(path: "entries/\(name)"))
      }
      try before.write(to: url.appending(path: "HEAD"))
      let whole = try Journal<Ledger>.open(at: url, mode: .readOnly, options: options)
      let newest = whole.head
      try whole.close()
      #expect(newest.revision > 100)
      let intact = try contents(of: url)
      var index = 0
      var isHit = true
      while isHit {
        let (faulty, reads) = (index, Reads())
        options.readHook = { path, _ in
          path.contains("/entries/") && reads.next() == faulty ? .fail(EIO) : .proceed
        }
        do {
          let again = try Journal<Ledger>.open(at: url, options: options)
          isHit = reads.next() > faulty
          #expect(again.head == newest, "read \(faulty)")
          try? again.close()
        } catch let error as JournalError {
          #expect(error.code == .io, "read \(faulty): \(error)")
        }
        try restore(url, intact)
        index += 1
        try #require(index < 1_000)
      }
      #expect(index > 5)
    }
  }

  @Test func aTableThatIsMissingCutOrUnreadableIsNamedWithItsFirstRevision() throws {
    try withTables { url, head in
      let before = try contents(of: url)
      var named: Set<Revision> = []
      for name in try names(url) where name.hasSuffix(".ldb") {
        let path = url.appending(path: "entries/\(name)")
        let whole = try Data(contentsOf: path)
        for damage in ["missing", "cut", "unreadable"] {
          switch damage {
          case "missing": try FileManager.default.removeItem(at: path)
          case "cut": try whole.dropLast().write(to: path)
          default: try Data(repeating: 0, count: whole.count).write(to: path)
          }
          for mode in [Journal<Ledger>.Mode.readOnly, .readWrite] {
            let error = #expect(throws: JournalError.self) {
              try Journal<Ledger>.open(at: url, mode: mode, checking: .everything, options: Self.options)
            }
            #expect(error?.code == .damaged)
            let revision = try #require(error?.revision, "\(name), \(damage): \(error?.description ?? "")")
            named.insert(revision)
          }
          try whole.write(to: path)
        }
      }
      #expect(named.count >= 3)
      #expect(named.contains(1))
      #expect(try contents(of: url) == before)
      #expect(try Journal<Ledger>.open(at: url, options: Self.options).head == head)
    }
  }

  @Test func entriesThatOpeningDoesNotReadAreCheckedInTheBackgroundOrOnRequestAtOnce() async throws {
    try await withTablesSuspending { url, head in
      func health(of journal: Journal<Ledger>) async throws -> JournalHealth {
        while journal.health.problems.isEmpty, !journal.health.isSound {
          try await Task.sleep(for: .milliseconds(20))
        }
        return journal.health
      }
      let whole = try Journal<Ledger>.open(at: url, mode: .readOnly, options: Self.options)
      let good = try await health(of: whole)
      #expect(good.isSound)
      #expect(good.lastRevision == head.revision)
      try whole.close()

      // Alter one byte of an old table, far before the newest snapshot.
      let path = try #require(try entryTables(of: url).first { try Data(contentsOf: $0).count > 10_000 })
      var bytes = try Data(contentsOf: path)
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: path)
      let before = try contents(of: url)
      for mode in [Journal<Ledger>.Mode.readOnly, .readWrite] {
        let refusal = #expect(throws: JournalError.self) {
          try Journal<Ledger>.open(at: url, mode: mode, checking: .everything, options: Self.options)
        }
        #expect(refusal?.code == .damaged)
        #expect(try contents(of: url) == before)
        let journal = try Journal<Ledger>.open(at: url, mode: mode, options: Self.options)
        let found = try await health(of: journal)
        #expect(found.damage?.code == .damaged)
        #expect(found.damage?.revision == refusal?.revision)
        #expect(found.checkedRevision < found.damage?.revision ?? 0)
        try journal.close()
      }
    }
  }

  /// With a snapshot, opening does not read it, and a backup blamed its own copy.
  @Test func anAlteredBaseThatOpeningDoesNotReadIsFoundInTheBackgroundAndNamedByBackups() async throws {
    try await withTablesSuspending { url, _ in
      try Journal<Ledger>.prune(before: .revision(100), at: url)
      let pruned = try Journal<Ledger>.open(at: url, options: Self.options)
      try pruned.takeSnapshot()
      for _ in 0..<15_000 where !pruned.health.isSound { try await Task.sleep(for: .milliseconds(20)) }
      #expect(pruned.health.isSound)
      try pruned.close()

      let path = url.appending(path: "entries/BASE")
      var bytes = try Data(contentsOf: path)
      bytes[bytes.count - 1] ^= 1
      try bytes.write(to: path)
      let journal = try Journal<Ledger>.open(at: url, mode: .readOnly, options: Self.options)
      defer { try? journal.close() }
      #expect(!journal.health.isSound)
      while journal.health.problems.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
      #expect(journal.health.damage?.code == .damaged)
      #expect(journal.health.damage?.path?.hasSuffix("Bank.journal/entries/BASE") == true)
      let folder = url.deletingLastPathComponent()
      for backup in [
        { try journal.backup(to: folder.appending(path: "Backup.journal")) },
        { try journal.backup(toFile: folder.appending(path: "Bank.backup")) },
      ] as [() throws -> BackupReport] {
        let error = #expect(throws: JournalError.self) { try backup() }
        #expect(error?.code == .damaged)
        #expect(error?.path?.hasSuffix("Bank.journal/entries/BASE") == true, "\(error?.description ?? "")")
      }
      #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "Bank.backup").path))
    }
  }

  /// Counts reads on any thread.
  private final class Reads: Sendable {
    private let count = Lock(0)

    /// Counts a read, and returns how many there were before it.
    func next() -> Int {
      count.withLock { count in
        defer { count += 1 }
        return count
      }
    }
  }

  // MARK: Fixture

  private static var options: JournalOptions {
    var options = JournalOptions()
    options.database.writeBufferByteCount = 64 << 10
    options.database.tableByteCount = 16 << 10
    return options
  }

  /// A journal with several tables, a log of some entries, and a snapshot of all but the newest ones.
  private func makeTables(_ url: URL) throws -> Head {
    let journal = try Journal<Ledger>.create(at: url, options: Self.options)
    let owner = String(repeating: "An owner with a long name. ", count: 40)
    for _ in 1...300 {
      try journal.commit { draft in
        let number = try draft.open(owner: owner)
        try draft.deposit(1, on: number)
      }
    }
    try journal.takeSnapshot()
    try journal.close()
    let again = try Journal<Ledger>.open(at: url, options: Self.options)
    for number in 1...6 { try again.commit { try $0.deposit(1, on: number) } }
    let head = again.head
    try again.close()
    // Alterations of these would change nothing.
    try cutZerosAhead(ofLogsIn: url.appending(path: "entries"))
    #expect(try names(url).count { $0.hasSuffix(".ldb") } >= 3)
    return head
  }

  private func withTables(inMemory: Bool = false, _ body: (URL, Head) throws -> Void) throws {
    try withTemporaryFolder(inMemory: inMemory) { folder in
      let url = folder.url.appending(path: "Bank.journal")
      try body(url, try makeTables(url))
    }
  }

  private func withTablesSuspending(_ body: (URL, Head) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bank.journal")
      try await body(url, try makeTables(url))
    }
  }

  private func names(_ url: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: url.appending(path: "entries").path).sorted()
  }

  private func contents(of url: URL, without file: String? = nil) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try #require(FileManager.default.subpaths(atPath: url.path)) {
      if let file, name.hasSuffix(file) { continue }
      let path = url.appending(path: name)
      if (try path.resourceValues(forKeys: [.isDirectoryKey])).isDirectory == true { continue }
      contents[name] = try Data(contentsOf: path)
    }
    return contents
  }

  private func restore(_ url: URL, _ contents: [String: Data]) throws {
    for name in try self.contents(of: url).keys where contents[name] == nil {
      try FileManager.default.removeItem(at: url.appending(path: name))
    }
    for (name, bytes) in contents { try bytes.write(to: url.appending(path: name)) }
  }
}
