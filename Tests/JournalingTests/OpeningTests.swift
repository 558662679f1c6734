import Files
import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import Locks
import TestSupport
import Testing

/// A damaged or altered folder must give its history, or an error that says what is wrong and where. A failed opening
/// must change nothing.
@Suite struct OpeningTests {
  @Test func aMissingJournalIsNotMade() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appendingPathComponent("None.journal")
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == .notFound)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(names.isEmpty)
    }
  }

  /// The path was shortened as a text, so another journal was opened, or even pruned.
  @Test func twoDotsAfterALinkLeadAboveItsTarget() throws {
    try withTemporaryFolder { folder in
      let files = FileManager.default
      try files.createDirectory(at: folder.url.appending(path: "far/deep"), withIntermediateDirectories: true)
      let link = folder.url.appending(path: "link").path
      try files.createSymbolicLink(atPath: link, withDestinationPath: "far/deep")
      var ids: [JournalID] = []
      for path in ["Bank.journal", "far/Bank.journal"] {
        let journal = try Journal<Ledger>.create(at: folder.url.appending(path: path))
        ids.append(journal.id)
        try journal.close()
      }
      for path in [
        "\(folder.path)/link/../Bank.journal", "\(folder.path)/far/deep/../../link/../Bank.journal/",
      ] {
        let journal = try Journal<Ledger>.open(at: URL(filePath: path))
        #expect(journal.id == ids[1], "\(path)")
        try journal.close()
      }
      let journal = try Journal<Ledger>.open(at: URL(filePath: "\(folder.path)/far/../Bank.journal"))
      #expect(journal.id == ids[0])
      try journal.close()
      // Where no folder is, the journal at the shortened path is not opened instead.
      for name in ["none", "far/none"] {
        let url = URL(filePath: "\(folder.path)/\(name)/../Bank.journal")
        let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
        #expect(error?.code == .notFound)
      }
      try Journal<Ledger>.create(at: URL(filePath: "\(link)/../New.journal")).close()
      #expect(files.fileExists(atPath: "\(folder.path)/far/New.journal/FORMAT"))
    }
  }

  @Test func creatingAJournalOverAnExistingOneIsRefused() throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      try journal.close()
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.create(at: url) }
      #expect(error?.code == .alreadyExists)
      #expect(try Journal<Ledger>.open(at: url).head.revision == 1)
    }
  }

  @Test func openOrCreateMakesAJournalOnceAndOpensItAfterwards() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appendingPathComponent("Bank.journal")
      let first = try Journal<Ledger>.openOrCreate(at: url)
      try first.commit { try $0.open(owner: "Ana") }
      try first.close()
      #expect(try Journal<Ledger>.openOrCreate(at: url).state.accounts.count == 1)
      let nowhere = folder.url.appendingPathComponent("no/such/Bank.journal")
      #expect(throws: JournalError.self) { try Journal<Ledger>.openOrCreate(at: nowhere) }
    }
  }

  @Test func theFolderIsForItsOwnerAlone() throws {
    try withFilledLedger { url in
      let names = try #require(FileManager.default.subpaths(atPath: url.path))
      #expect(names.count > 8)
      let own = try permissions(url.path)
      #expect(own == 0o700)
      for name in names {
        let path = "\(url.path)/\(name)"
        let found = try permissions(path)
        #expect(found == (isFolder(path) ? 0o700 : 0o600), "\(name)")
      }
    }
  }

  @Test func oneProcessCanNotOpenAJournalTwiceForWritingWhateverItsName() throws {
    try withLedger { journal, url in
      for name in [
        url.path, url.path + "/", url.path + "/./", url.deletingLastPathComponent().path + "/./Bank.journal",
      ] {
        let error = #expect(throws: JournalError.self) {
          try Journal<Ledger>.open(at: URL(fileURLWithPath: name))
        }
        #expect(error?.code == .locked)
      }
      let first = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(first.head == journal.head)
      try journal.close()
      let second = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(first.head == second.head)
      // Readers do not keep a writer away.
      try Journal<Ledger>.open(at: url).close()
    }
  }

  @Test func readingOnlyChangesNothingOnDisk() throws {
    try withFilledLedger { url in
      let before = try contents(of: url)
      let journal = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(journal.state.accounts[1]?.balance == 60)
      #expect(try journal.verify().isSound)
      let error = #expect(throws: JournalError.self) { try journal.commit { try $0.open(owner: "Eve") } }
      #expect(error?.code == .readOnly)
      #expect(throws: JournalError.self) { try journal.blobs.add(Data([1])) }
      try journal.close()
      #expect(try contents(of: url) == before)
    }
  }

  /// A writer that was killed between the write and the flush of an entry has left it in the system's memory only. A
  /// backup used to copy it, and after a power loss had removed it from the journal, every later backup was refused.
  @Test(arguments: [Journal<Ledger>.Mode.readOnly, .follow])
  func aReaderFlushesTheEntriesAfterHEADBeforeItShowsThem(_ mode: Journal<Ledger>.Mode) throws {
    let plain = JournalOptions(layers: .manual)
    try withLedger(options: plain) { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      try journal.close()
      let head = url.appending(path: "HEAD")
      let behind = try Data(contentsOf: head)
      let again = try Journal<Ledger>.open(at: url, options: plain)
      try again.commit { try $0.open(owner: "Bob") }
      try again.close()
      try behind.write(to: head)
      for (number, shown) in [(EIO, 1), (0, 2)] as [(Int32, Revision)] {
        let flushed = Lock<[String]>([])
        var options = plain
        options.fileHook = { operation in
          guard [.sync, .syncFolder].contains(operation.kind) else { return .proceed }
          flushed.withLock { $0.append(operation.path) }
          return number == 0 ? .proceed : .fail(number)
        }
        let reader = try Journal<Ledger>.open(at: url, mode: mode, options: options)
        #expect(reader.head.revision == shown)
        let paths = flushed.withLock { $0 }
        #expect(paths.first?.hasSuffix(".log") == true, "\(paths)")
        #expect(number != 0 || paths.last?.hasSuffix("/entries") == true, "\(paths)")
        try reader.close()
      }
      // A shortage hides nothing: after a power loss, acknowledged entries can follow HEAD.
      var options = plain
      options.fileHook = { operation in operation.kind == .sync ? .fail(ENOMEM) : .proceed }
      let error = #expect(throws: JournalError.self) {
        try Journal<Ledger>.open(at: url, mode: mode, options: options)
      }
      #expect(error?.code == .outOfResources)
      let writer = try Journal<Ledger>.open(at: url, options: plain)
      #expect(writer.head.revision == 2)
      try writer.close()
    }
  }

  @Test func aTruncatedEmptyOrDeletedLogIsDetected() throws {
    try withFilledLedger { url in
      let log = try logFile(url)
      let whole = try Data(contentsOf: log)
      for count in [0, 1, whole.count / 2, whole.count - 1] {
        try whole.prefix(count).write(to: log)
        let error = try expectDamage(url)
        #expect(error.revision != nil)
        #expect(error.message.contains("missing"))
      }
      try FileManager.default.removeItem(at: log)
      let error = try expectDamage(url)
      #expect(error.code == .damaged)
      try whole.write(to: log)
      #expect(try Journal<Ledger>.open(at: url).head.revision == 60)
    }
  }

  @Test func theFirstMissingRevisionIsNamed() throws {
    try withFilledLedger { url in
      let log = try logFile(url)
      try Data().write(to: log)
      // Entries 1 to 30 are in a table.
      #expect(try expectDamage(url).revision == 31)
    }
  }

  @Test func aDeletedTableIsDetected() throws {
    try withFilledLedger { url in
      try FileManager.default.removeItem(at: try #require(try entryTables(of: url).first))
      _ = try expectDamage(url)
    }
  }

  @Test(arguments: ["HEAD", "FORMAT", "entries/CURRENT", "entries"])
  func aMissingFileOrFolderIsDetected(_ name: String) throws {
    try withFilledLedger { url in
      try FileManager.default.removeItem(at: url.appendingPathComponent(name))
      let before = try contents(of: url)
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.path?.contains(url.lastPathComponent) == true)
      #expect(try contents(of: url) == before)
    }
  }

  @Test func theHeadOfAnotherJournalIsDetected() throws {
    try withFilledLedger { url in
      try withFilledLedger { other in
        let head = url.appendingPathComponent("HEAD")
        try FileManager.default.removeItem(at: head)
        try FileManager.default.copyItem(at: other.appendingPathComponent("HEAD"), to: head)
        #expect(try expectDamage(url).message.contains("another journal"))
      }
    }
  }

  @Test func theEntriesOfAnotherJournalAreDetected() throws {
    try withFilledLedger { url in
      try withFilledLedger { other in
        let entries = url.appendingPathComponent("entries")
        try FileManager.default.removeItem(at: entries)
        try FileManager.default.copyItem(at: other.appendingPathComponent("entries"), to: entries)
        #expect(try expectDamage(url).message.contains("another journal"))
      }
    }
  }

  @Test func aJournalInANewerFormatIsRefusedAndLeftUnchanged() throws {
    try withFilledLedger { url in
      let format = url.appendingPathComponent("FORMAT")
      let line = try String(contentsOf: format, encoding: .utf8)
      try line.replacingOccurrences(of: "journal 2", with: "journal 3").write(
        to: format, atomically: false, encoding: .utf8)
      let before = try contents(of: url)
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == .newerFormat)
      #expect(try contents(of: url) == before)
    }
  }

  @Test(arguments: ["entries/000099.ldb", "entries/CURRENT", "HEAD", "images", "entries"])
  func aLinkInTheFolderIsRefusedAndItsTargetIsLeftAlone(_ name: String) throws {
    try withFilledLedger { url in
      let target = url.deletingLastPathComponent().appendingPathComponent("precious")
      try Data("precious".utf8).write(to: target)
      let link = url.appendingPathComponent(name)
      try? FileManager.default.removeItem(at: link)
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == .notAJournal)
      #expect(try Data(contentsOf: target) == Data("precious".utf8))
    }
  }

  @Test func withoutPermissionTheErrorSaysSo() throws {
    try withFilledLedger { url in
      if geteuid() == 0 {
        // Root may read everything, so only a folder that belongs to another user can be refused.
        try #require(unsafe chown(url.path, 12_345, 12_345) == 0)
      } else {
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: url.path)
      }
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == .permission)
      #expect(error?.path?.hasPrefix(url.path) == true)
      if geteuid() == 0 { try #require(unsafe chown(url.path, 0, 0) == 0) }
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: url.path)
      #expect(try Journal<Ledger>.open(at: url).head.revision == 60)
    }
  }

  /// The error said that the disk is full, although megabytes were free.
  @Test func withoutRoomForTheNewestEntriesTheErrorSaysHowMuchMustBeFree() throws {
    try withLedger { journal, url in
      // A log of more than a megabyte becomes a table when the journal is opened again.
      let text = String(repeating: "x", count: 1 << 20)
      for _ in 0..<3 { try journal.commit { _ = try $0.open(owner: text) } }
      try journal.close()
      var options = JournalOptions()
      options.fileHook = { operation in
        operation.kind == .create && operation.path.hasSuffix(".ldb") ? .fail(ENOSPC) : .proceed
      }
      let error = #expect(throws: JournalError.self) {
        try Journal<Ledger>.open(at: url, options: options)
      }
      #expect(error?.code == .io)
      let message = error?.message ?? ""
      // The disk has more, as if a quota were exhausted.
      let found = message.firstMatch(of: /about ([0-9]+) bytes must be free, and the disk or your quota/)
      let needed = found.flatMap { Int($0.1) }
      #expect((3 << 20..<4 << 20).contains(needed ?? 0), "\(message)")
      let reading = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(reading.head.revision == 3)
      try reading.close()
      try Journal<Ledger>.open(at: url).close()
    }
  }

  @Test func conflictedCopiesAreRefused() throws {
    try withFilledLedger { url in
      for name in ["HEAD (1)", "entries/CURRENT (1)"] {
        let file = url.appendingPathComponent(name)
        try Data().write(to: file)
        let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
        #expect(error?.code == .notAJournal)
        #expect(error?.path?.hasSuffix(name) == true)
        try FileManager.default.removeItem(at: file)
      }
      #expect(try Journal<Ledger>.open(at: url).head.revision == 60)
    }
  }

  @Test func aFlippedBitAnywhereIsAnErrorOrMakesNoDifference() throws {
    try withFilledLedger { url in
      let expected = try Journal<Ledger>.open(at: url, mode: .readOnly).head
      var damaged = 0
      for name in try files(url) {
        let file = url.appendingPathComponent(name)
        let whole = try Data(contentsOf: file)
        // Alter every byte of small files, and a sample of large ones. The crash tests alter all bytes.
        for index in stride(from: 0, to: whole.count, by: max(1, whole.count / 64)) {
          var altered = whole
          altered[index] ^= 1 << UInt8(index % 8)
          try altered.write(to: file)
          do {
            let journal = try Journal<Ledger>.open(at: url, mode: .readOnly)
            #expect(journal.head == expected, "\(name), byte \(index)")
            try journal.close()
          } catch let error as JournalError {
            #expect(!error.message.isEmpty)
            damaged += 1
          }
        }
        try whole.write(to: file)
      }
      #expect(damaged > 100)
      #expect(try Journal<Ledger>.open(at: url).verify().isSound)
    }
  }

  // MARK: Fixture

  /// A journal of 60 entries, half of them in a table of LevelDB and half in its log.
  private func withFilledLedger(_ body: (URL) throws -> Void) throws {
    try withLedger { journal, url in
      let ana = try journal.commit { try $0.open(owner: "Ana", balance: 1) }.value
      for _ in 2...30 { try journal.commit { try $0.deposit(1, on: ana) } }
      try journal.close()
      // Entries 1 to 30 get their own table.
      var options = JournalOptions()
      options.database.keptLogByteCount = 0
      let again = try Journal<Ledger>.open(at: url, options: options)
      for _ in 31...60 { try again.commit { try $0.deposit(1, on: ana) } }
      try again.close()
      try body(url)
    }
  }

  /// Checks that opening for writing and for reading both report damage and change nothing.
  private func expectDamage(_ url: URL) throws -> JournalError {
    let before = try contents(of: url)
    let reading = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url, mode: .readOnly) }
    let writing = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
    #expect(reading?.code == .damaged)
    #expect(writing?.code == .damaged)
    #expect(try contents(of: url) == before)
    return try #require(writing)
  }

  private func logFile(_ url: URL) throws -> URL {
    let entries = url.appendingPathComponent("entries")
    try cutZerosAhead(ofLogsIn: entries)
    let logs = try FileManager.default.contentsOfDirectory(atPath: entries.path).filter {
      $0.hasSuffix(".log")
    }
    return entries.appendingPathComponent(try #require(logs.first))
  }

  private func files(_ url: URL) throws -> [String] {
    let names = try #require(FileManager.default.subpaths(atPath: url.path)).sorted()
    return names.filter { !isFolder("\(url.path)/\($0)") }
  }

  private func isFolder(_ path: String) -> Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return attributes?[.type] as? FileAttributeType == .typeDirectory
  }

  private func contents(of url: URL) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try files(url) { contents[name] = try Data(contentsOf: url.appendingPathComponent(name)) }
    return contents
  }

  private func permissions(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.posixPermissions] as? Int)
  }
}
