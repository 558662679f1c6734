import CatalogModel
import Files
import Foundation
import JournalMaintenance
import LevelDB
import Locks
import TestSupport
import Testing

/// A backup is a journal of its own with the same history: made once, brought up to date, proven, and never mixed
/// with another history.
@Suite struct BackupTests {
  /// A journal with a few items and images, and a place for its backup.
  private func withJournal(_ body: (_ journal: CatalogJournal, _ backup: URL) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Finds.journal"))
      try journal.commit(by: "ana", note: "moving in") { draft in
        let cups = try draft.addCategory(name: "Cups")
        try draft.addItem(kind: "find", category: cups, attributes: ["name": .string("red cup")])
      }
      try journal.addPicture("red")
      try body(journal, folder.url.appending(path: "Finds.backup"))
      try journal.close()
    }
  }

  @Test func aBackupIsAJournalWithTheSameHistoryAndImages() throws {
    try withJournal { journal, url in
      let report = try journal.backup(to: url)
      #expect(report.entryCount == 2)
      #expect(report.copiedImageCount + report.sharedImageCount == 1)
      #expect(report.receipt.revision == 2)
      #expect(report.receipt.digest == journal.head.digest)
      let backup = try CatalogJournal.open(at: url)
      #expect(backup.head == journal.head)
      #expect(backup.id == journal.id)
      #expect(try backup.verify(.deep).problems.map(\.description) == [])
      #expect(try backup.backupReceipt() == report.receipt)
      #expect(try journal.contains(report.receipt))
      #expect(try backup.picture(1) == Data("red".utf8))
      #expect(StateDigest.digest(of: backup.state) == StateDigest.digest(of: journal.state))
      try backup.close()
    }
  }

  private struct Stop: Error {}

  /// Expects that an error of `progress` ends the work at the first call, and that a cancelled task ends it too.
  private func expectToEnd(
    _ what: String, _ work: @escaping @Sendable (_ progress: (CopyProgress) throws -> Void) throws -> Void
  ) async {
    var calls = 0
    #expect(throws: Stop.self, "\(what)") {
      try work { _ in
        calls += 1
        throw Stop()
      }
    }
    #expect(calls == 1, "\(what)")
    let task = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try work { _ in }
    }
    await #expect(throws: CancellationError.self, "\(what)") { try await task.value }
  }

  @Test func copiesCollectionsAndDryRunsReportProgressAndCanBeCancelled() async throws {
    try await withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.journal")
      let target = folder.url.appending(path: "State.journal")
      let journal = try CatalogJournal.create(at: url)
      try await journal.commit { _ = try $0.addItem(kind: "find") }
      try journal.addPicture("red")
      _ = try journal.blobs.add(Data("never named".utf8))
      try journal.close()
      await expectToEnd("copyState") { progress in
        let journal = try CatalogJournal.open(at: url, mode: .readOnly)
        defer { try? journal.close() }
        try journal.copyState(to: target, progress: progress)
      }
      #expect(!FileManager.default.fileExists(atPath: target.path))
      for isDryRun in [true, false] {
        await expectToEnd("gc \(isDryRun)") { progress in
          _ = try CatalogJournal.collectGarbage(at: url, isDryRun: isDryRun, progress: progress)
        }
      }
      #expect(try CatalogJournal.collectGarbage(at: url, isDryRun: true).imageCount == 1)
      await expectToEnd("prune") { progress in
        try CatalogJournal.prune(before: .head(), at: url, isDryRun: true, progress: progress)
      }
      #expect(try CatalogJournal.collectGarbage(at: url).imageCount == 1)
    }
  }

  @Test func aSecondBackupBringsOnlyWhatIsNew() throws {
    try withJournal { journal, url in
      try journal.backup(to: url)
      #expect(try journal.backup(to: url).entryCount == 0)
      try journal.addPicture("blue")
      // An image with the same bytes is not copied again.
      try journal.addPicture("red")
      let report = try journal.backup(to: url)
      #expect(report.entryCount == 2)
      #expect(report.copiedImageCount + report.sharedImageCount == 1)
      try check(url, against: journal)
    }
  }

  @Test func sharedImagesAreHardLinksAndCopiedOnesAreNot() throws {
    try withJournal { journal, url in
      #expect(try journal.backup(to: url).sharedImageCount == 1)
      let copied = url.deletingLastPathComponent().appending(path: "Copied.backup")
      let report = try journal.backup(to: copied, sharesImages: false)
      #expect(report.copiedImageCount == 1)
      #expect(report.copiedImageByteCount == 3)
      #expect(report.sharedImageCount == 0)
      let name = ContentDigest.hex(of: "red")
      func names(_ backup: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: backup.appending(path: "images/\(name)").path)[
          .referenceCount]
          as? Int
      }
      #expect(try names(url) == 2)
      #expect(try names(copied) == 1)
      try check(copied, against: journal)
    }
  }

  @Test func aBackupDuringCommitsHasEverythingAcknowledgedBeforeItBegan() throws {
    try withJournal { journal, url in
      var expected = journal.head
      try journal.backup(to: url, sharesImages: true) { progress in
        guard progress.phase == .copying else { return }
        try journal.commit { try $0.addItem(kind: "find") }
      }
      let backup = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(backup.head == expected)
      try backup.close()
      expected = journal.head
      #expect(expected.revision > 2, "nothing was committed during the backup")
      #expect(try journal.backup(to: url).entryCount == expected.revision - 2)
      try check(url, against: journal)
    }
  }

  @Test func backupsDuringCommitsOfManyThreadsAreWhole() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Finds.journal"))
      let url = folder.url.appending(path: "Finds.backup")
      let writerCount = 8
      let progress = Lock((finished: 0, backups: 0, failures: [String]()))
      Threads.forEach(below: writerCount + 1, width: writerCount + 1) { index in
        do {
          if index < writerCount {
            defer { progress.withLock { $0.finished += 1 } }
            for turn in 0..<60 {
              let blob = turn % 5 == 0 ? try journal.blobs.add(Data("\(index) \(turn)".utf8)) : nil
              try journal.commit(by: "\(index)") { draft in
                let item = try draft.addItem(kind: "find")
                if let blob {
                  try draft.addImage(to: item, name: "a.png", mediaType: "image/png", blob: blob)
                }
              }
            }
            return
          }
          repeat {
            let acknowledged = journal.head.revision
            let report = try journal.backup(to: url)
            let backup = try CatalogJournal.open(at: url, mode: .readOnly)
            let isWhole = try backup.verify().isSound
            if !isWhole || backup.head.revision != report.receipt.revision
              || acknowledged > backup.head.revision
            {
              progress.withLock {
                $0.failures.append("the backup of \(acknowledged) has \(backup.head.revision)")
              }
            }
            try backup.close()
            progress.withLock { $0.backups += 1 }
          } while progress.withLock({ $0.finished < writerCount })
        } catch {
          progress.withLock { $0.failures.append("\(error)") }
        }
      }
      #expect(progress.withLock { $0.failures } == [])
      #expect(progress.withLock { $0.backups } > 0)
      try journal.backup(to: url)
      try check(url, against: journal)
      try journal.close()
    }
  }

  // MARK: Other histories

  @Test func aBackupThatWasWrittenToIsLeftAlone() throws {
    try withJournal { journal, url in
      try journal.backup(to: url)
      let backup = try CatalogJournal.open(at: url)
      try backup.commit(by: "eve") { try $0.addItem(kind: "find") }
      let head = backup.head
      try backup.close()
      var error = #expect(throws: JournalError.self) { try journal.backup(to: url) }
      #expect(error?.code == .conflict)
      #expect(error?.message.contains("1 entry more") == true)
      // The same is true when the two histories have diverged.
      for _ in 0..<3 { try journal.commit(by: "ana") { try $0.addItem(kind: "place") } }
      error = #expect(throws: JournalError.self) { try journal.backup(to: url) }
      #expect(error?.code == .conflict)
      #expect(error?.message.contains("from entry 3 on") == true)
      let after = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(after.head == head)
      try after.close()
    }
  }

  @Test func aFolderThatIsNoBackupOfTheJournalIsLeftAlone() throws {
    try withJournal { journal, url in
      let other = try CatalogJournal.create(at: url)
      try other.close()
      var error = #expect(throws: JournalError.self) { try journal.backup(to: url) }
      #expect(error?.code == .alreadyExists)
      let file = url.deletingLastPathComponent().appending(path: "folder")
      try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
      try Data("mine".utf8).write(to: file.appending(path: "diary.txt"))
      error = #expect(throws: JournalError.self) { try journal.backup(to: file) }
      #expect(error?.code == .alreadyExists)
      error = #expect(throws: JournalError.self) {
        try journal.backup(toFile: file.appending(path: "diary.txt"))
      }
      #expect(error?.code == .alreadyExists)
      #expect(try Data(contentsOf: file.appending(path: "diary.txt")) == Data("mine".utf8))
      for inside in [journal.url, journal.url.appending(path: "images/b"), journal.url.appending(path: "b")] {
        error = #expect(throws: JournalError.self) { try journal.backup(to: inside) }
        #expect(error?.code == .wrongUse)
      }
      #expect(try journal.verify().isSound)
    }
  }

  /// A model that writes the records of a catalog without looking for their images.
  private struct Forger: EventSourced {
    static let schema = Catalog.schema
    static let kindNames = Catalog.kindNames
    var catalog = Catalog()
    func record(of entity: EntityKey) -> EntityRecord? { catalog.record(of: entity) }
    func revision(of entity: EntityKey) -> Revision { catalog.revision(of: entity) }
    mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
      try catalog.apply(event, at: revision)
    }
  }

  /// The size of the record in a backup file was computed from it, which overflowed and ended the process.
  @Test(arguments: [Int.max, .max - 31, .max - 32])
  func anImageWhoseSizeWasForgedCanNotBeCopied(byteCount: Int) throws {
    try withTemporaryFolder { folder in
      func url(_ name: String) -> URL { folder.url.appending(path: name) }
      let forged = try Journal<Forger>.create(at: url("Forged.journal"))
      try forged.commit { draft in
        try draft.add(.item(1), EntityRecord(fields: [0: .string("find")]))
        try draft.add(
          .image(1),
          EntityRecord(fields: [
            0: .integer(1), 1: .string("cup.png"), 2: .string("image/png"),
            3: .data(Data(repeating: 7, count: 32)), 4: .integer(Int64(byteCount)),
          ]))
      }
      try forged.close()
      let journal = try CatalogJournal.open(at: forged.url)
      #expect(journal.state.image(1)?.blob.byteCount == byteCount)
      for problem in ["missing", "altered"] {
        if problem == "altered" {
          let name = String(repeating: "07", count: 32)
          try Data("cup".utf8).write(to: url("Forged.journal/images/\(name)"))
        }
        for isFile in [true, false] {
          let error = #expect(throws: JournalError.self) {
            try isFile
              ? journal.backup(toFile: url("Forged.jbak")) : journal.backup(to: url("Forged.backup"))
          }
          #expect(error?.code == .damaged)
          #expect(error?.message.contains("the bytes of an image are \(problem)") == true, "\(error!)")
        }
      }
      #expect(try !journal.verify(.deep).isSound)
      try journal.close()
      let report = try CatalogJournal.salvage([journal.url], to: url("Saved.journal"))
      #expect(report.missingImages.map(\.byteCount) == [byteCount])
    }
  }

  @Test func aBackupThatIsOpenElsewhereIsNotUpdated() throws {
    try withJournal { journal, url in
      try journal.backup(to: url)
      let writer = try CatalogJournal.open(at: url)
      let error = #expect(throws: JournalError.self) { try journal.backup(to: url) }
      #expect(error?.code == .locked)
      try writer.close()
      let reader = try CatalogJournal.open(at: url, mode: .readOnly)
      try journal.addPicture("blue")
      try journal.backup(to: url)
      #expect(reader.head.revision == 2)
      #expect(try reader.picture(1) == Data("red".utf8))
      #expect(try reader.verify().problems.map(\.description) == [])
      try reader.close()
    }
  }

  @Test func verifyComparesABackupWithItsReceipt() throws {
    try withJournal { journal, url in
      try journal.backup(to: url)
      // The receipt names a later revision than the backup has, as if an older copy had replaced the folder.
      let path = url.appending(path: "RECEIPT")
      let text = try String(contentsOf: path, encoding: .utf8)
      #expect(JournalReceipt(text)?.description == text)
      try Data(text.replacing("revision 2", with: "revision 9").utf8).write(to: path)
      let backup = try CatalogJournal.open(at: url, mode: .readOnly)
      let problem = try #require(try backup.verify().problems.first)
      #expect(problem.message.contains("receipt"))
      #expect(problem.path?.hasSuffix("RECEIPT") == true)
      try backup.close()
      try Data("hello".utf8).write(to: path)
      let again = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(try again.verify().problems.count == 1)
      try again.close()
      try journal.backup(to: url)
      try check(url, against: journal)
    }
  }

  // MARK: Erasures and interruptions

  /// Opens the journal again, erases its only item, and backs it up.
  private func eraseAndBackUp(
    _ journal: CatalogJournal, to url: URL, options: JournalOptions = JournalOptions()
  ) throws -> BackupReport {
    try journal.close()
    try CatalogJournal.erase([.item(1)], at: journal.url, reason: "by law")
    let again = try CatalogJournal.open(at: journal.url, options: options)
    defer { try? again.close() }
    return try again.backup(to: url)
  }

  /// A run may be interrupted after the backup has its new log, before that is marked.
  @Test(arguments: [false, true])
  func aRewrittenBackupMarksItsNewestEntry(_ isInterrupted: Bool) throws {
    try withJournal { journal, url in
      try journal.backup(to: url)
      for number in 0..<20 {
        try journal.commit { try $0.updateItem(1, set: ["n": .integer(Int64(number))]) }
      }
      var options = JournalOptions()
      if isInterrupted {
        options.fileHook = { operation in
          operation.kind == .remove && operation.path.hasSuffix("Finds.backup/ERASING")
            ? .fail(EIO) : .proceed
        }
        let error = #expect(throws: JournalError.self) {
          try eraseAndBackUp(journal, to: url, options: options)
        }
        #expect(error?.code == .outcomeUnknown)
        let again = try CatalogJournal.open(at: journal.url)
        #expect(try again.backup(to: url).entryCount == 0)
        try again.close()
      } else {
        #expect(try eraseAndBackUp(journal, to: url).isRebuilt)
      }
      // While another process has the lock, readers see only what is marked.
      let lock = unsafe open(url.path, O_RDONLY)
      #expect(flock(lock, LOCK_EX) == 0)
      let reader = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(reader.head.revision == 23)
      try reader.close()
      _ = close(lock)
      let entries = url.appending(path: "entries")
      try cutZerosAhead(ofLogsIn: entries)
      for name in try FileManager.default.contentsOfDirectory(atPath: entries.path)
      where name.hasSuffix(".log") {
        let log = entries.appending(path: name)
        try Data(contentsOf: log).dropLast(50).write(to: log)
      }
      let error = #expect(throws: JournalError.self) { try CatalogJournal.open(at: url) }
      #expect(error?.code == .damaged)
    }
  }

  /// The run is killed before the image has its name, or after that and before its entry is written.
  @Test(arguments: [false, true])
  func aBackupOfAnErasureHasNoImageOfAnEarlierRunThatWasKilled(_ isNamed: Bool) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Finds.backup")
      let isKilled = Lock(false)
      var options = JournalOptions()
      options.fileHook = { operation in
        isKilled.withLock { isKilled in
          isKilled =
            isKilled
            || (isNamed
              ? operation.kind == .syncFolder && operation.path.hasSuffix("Finds.backup/images")
              : operation.kind == .rename && operation.path.contains("Finds.backup/images"))
          return isKilled ? .fail(EIO) : .proceed
        }
      }
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Finds.journal"))
      try journal.backup(to: url)
      try journal.commit { _ = try $0.addItem(kind: "find") }
      try journal.addPicture("red")
      try journal.close()
      let reader = try CatalogJournal.open(at: journal.url, mode: .readOnly, options: options)
      #expect(throws: JournalError.self) { try reader.backup(to: url, sharesImages: false) }
      try reader.close()
      func images() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.appending(path: "images").path)
      }
      #expect(try images().map { $0 == ContentDigest.hex(of: "red") } == [isNamed])
      _ = try eraseAndBackUp(journal, to: url)
      #expect(try images() == [])
      // A part of an image is removed even if there is nothing new.
      try Data("re".utf8).write(to: url.appending(path: "images/0123456789abcdef.new"))
      let again = try CatalogJournal.open(at: journal.url)
      #expect(try again.backup(to: url).entryCount == 0)
      #expect(try images() == [])
      try check(url, against: again)
      try again.close()
    }
  }

  @Test func theNameOfAnImageFromAnInterruptedRunIsFlushedBeforeItsEntry() throws {
    try withJournal { journal, url in
      try journal.backup(to: url)
      try journal.addPicture("blue")
      try journal.close()
      let operations = Lock<[FileOperation]>([])
      let isFirst = Lock(true)
      @Sendable func isFlush(_ operation: FileOperation) -> Bool {
        operation.kind == .syncFolder && operation.path.hasSuffix("Finds.backup/images")
      }
      var options = JournalOptions()
      options.fileHook = { operation in
        operations.withLock { $0.append(operation) }
        return isFirst.withLock { $0 } && isFlush(operation) ? .fail(EIO) : .proceed
      }
      let reader = try CatalogJournal.open(at: journal.url, mode: .readOnly, options: options)
      #expect(throws: JournalError.self) { try reader.backup(to: url) }
      isFirst.withLock { $0 = false }
      operations.withLock { $0 = [] }
      #expect(try reader.backup(to: url).sharedImageCount == 0)
      let second = operations.withLock { $0 }
      let flush = try #require(second.firstIndex(where: isFlush))
      let entry = try #require(second.firstIndex { $0.kind == .write && $0.path.hasSuffix(".log") })
      #expect(flush < entry)
      try check(url, against: reader)
      try reader.close()
    }
  }

  // MARK: Damage

  @Test func anImageThatIsDamagedIsNamedAndTheBackupKeepsWhatItHad() throws {
    try withJournal { journal, url in
      try journal.backup(to: url)
      try journal.addPicture("blue")
      let path = journal.url.appending(path: "images/\(ContentDigest.hex(of: "blue"))").path
      try FileManager.default.removeItem(atPath: path)
      for (content, what) in [("blux", "altered"), ("long", "altered"), (nil, "missing")]
        as [(String?, String)]
      {
        if let content { try Data(content.utf8).write(to: URL(filePath: path)) }
        let error = #expect(throws: JournalError.self) { try journal.backup(to: url) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains(what) == true)
        #expect(error?.path == path)
        let backup = try CatalogJournal.open(at: url, mode: .readOnly)
        #expect(backup.head.revision == 2)
        #expect(try backup.verify().isSound)
        try backup.close()
        let fresh = url.deletingLastPathComponent().appending(path: "Fresh.backup")
        #expect(throws: JournalError.self) { try journal.backup(to: fresh) }
        #expect(!FileManager.default.fileExists(atPath: fresh.path))
        try? FileManager.default.removeItem(atPath: path)
      }
      _ = try journal.blobs.add(Data("blue".utf8))
      try journal.backup(to: url)
      try check(url, against: journal)
    }
  }

  @Test(arguments: [nil, "longer than it was"] as [String?])
  func anImageThatTheBackupHasLostIsCopiedAgain(_ content: String?) throws {
    try withJournal { journal, url in
      try journal.backup(to: url, sharesImages: false)
      // No entry names this one, so it stays where it is.
      _ = try journal.blobs.add(Data("never named".utf8))
      let image = url.appending(path: "images/\(ContentDigest.hex(of: "red"))")
      for hasNewEntries in [false, true] {
        try FileManager.default.removeItem(at: image)
        if let content { try Data(content.utf8).write(to: image) }
        if hasNewEntries { try journal.addPicture("blue") }
        let report = try journal.backup(to: url, sharesImages: false)
        #expect(report.restoredImageCount == 1)
        #expect(report.copiedImageCount == (hasNewEntries ? 2 : 1))
        try check(url, against: journal)
        let names = try FileManager.default.contentsOfDirectory(
          atPath: url.appending(path: "images").path)
        #expect(names.count == (hasNewEntries ? 2 : 1))
        #expect(try journal.backup(to: url).restoredImageCount == 0)
      }
    }
  }

  @Test func aBackupThatIsCancelledKeepsWhatItHad() throws {
    struct Enough: Error {}
    try withJournal { journal, url in
      #expect(throws: Enough.self) { try journal.backup(to: url) { _ in throw Enough() } }
      #expect(!FileManager.default.fileExists(atPath: url.path))
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path).count == 1)
      try journal.backup(to: url)
      try journal.addPicture("blue")
      #expect(throws: Enough.self) { try journal.backup(to: url) { _ in throw Enough() } }
      let backup = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(try backup.verify().isSound)
      try backup.close()
      try journal.backup(to: url)
      try check(url, against: journal)
    }
  }

  @Test func cancellingTheTaskEndsTheBackup() async throws {
    try await withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Finds.journal"))
      try await journal.commit { try $0.addItem(kind: "find") }
      let url = folder.url.appending(path: "Finds.backup")
      let task = Task {
        unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
        try journal.backup(to: url)
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(!FileManager.default.fileExists(atPath: url.path))
      try journal.close()
    }
  }

  // MARK: One file

  @Test func aBackupInOneFileComesBackAsTheSameJournal() throws {
    try withJournal { journal, url in
      try journal.addPicture("blue")
      try journal.addPicture("red")
      let report = try journal.backup(toFile: url)
      #expect(report.entryCount == 4)
      #expect(report.copiedImageCount == 2)
      let copy = url.deletingLastPathComponent().appending(path: "Again.journal")
      #expect(try CatalogJournal.create(at: copy, fromBackup: url) == report.receipt)
      try check(copy, against: journal)
      // A newer backup replaces the file.
      try journal.addPicture("green")
      try journal.backup(toFile: url)
      let newer = url.deletingLastPathComponent().appending(path: "Newer.journal")
      #expect(try CatalogJournal.create(at: newer, fromBackup: url).revision == 5)
      try check(newer, against: journal)
      let error = #expect(throws: JournalError.self) {
        try CatalogJournal.create(at: newer, fromBackup: url)
      }
      #expect(error?.code == .alreadyExists)
    }
  }

  @Test func aBackupFileIsReplacedOnlyIfTheJournalHasAllOfIt() throws {
    try withJournal { journal, url in
      let folder = url.deletingLastPathComponent()
      func expect(
        _ code: JournalError.Code, _ words: String, from journal: CatalogJournal, to file: URL,
        location: SourceLocation = #_sourceLocation
      ) throws {
        let bytes = try Data(contentsOf: file)
        let error = #expect(throws: JournalError.self, sourceLocation: location) {
          try journal.backup(toFile: file)
        }
        #expect(error?.code == code, sourceLocation: location)
        #expect(
          error?.message.contains(words) == true, "\(String(describing: error))", sourceLocation: location)
        #expect(try Data(contentsOf: file) == bytes, sourceLocation: location)
      }
      try journal.backup(toFile: url)
      let whole = try Data(contentsOf: url)
      let other = try CatalogJournal.create(at: folder.appending(path: "Other.journal"))
      try expect(.alreadyExists, "another journal", from: other, to: url)
      try other.close()
      try journal.copy(to: folder.appending(path: "Older.journal"), through: .revision(1))
      let older = try CatalogJournal.open(at: folder.appending(path: "Older.journal"))
      try expect(.conflict, "1 entry more", from: older, to: url)
      // A run that ends while another one is in progress.
      let raced = folder.appending(path: "Raced.jbak")
      let error = #expect(throws: JournalError.self) {
        try older.backup(toFile: raced) { _ in try journal.backup(toFile: raced) }
      }
      #expect(error?.code == .conflict)
      #expect(try Data(contentsOf: raced).count == whole.count)
      let early = folder.appending(path: "Early.jbak")
      try older.backup(toFile: early)
      for _ in 0..<2 { try older.commit { try $0.addItem(kind: "place") } }
      try expect(.conflict, "another history", from: older, to: url)
      try older.close()
      // Damaged ones.
      try whole.dropLast(3).write(to: url)
      try expect(.damaged, "Remove it, or choose another name", from: journal, to: url)
      var newer = whole
      newer[8] = 9
      try newer.write(to: url)
      try expect(.newerFormat, "version 9", from: journal, to: url)
      try whole.write(to: url)
      try journal.close()
      try CatalogJournal.prune(before: .revision(2), at: journal.url)
      let pruned = try CatalogJournal.open(at: journal.url)
      defer { try? pruned.close() }
      try expect(.conflict, "was pruned", from: pruned, to: early)
      try pruned.backup(toFile: url)
      let again = folder.appending(path: "Again.journal")
      #expect(try CatalogJournal.create(at: again, fromBackup: url).revision == 3)
    }
  }

  @Test func aRunThatIsKilledDuringAnotherOneDoesNotDestroyTheBackupFile() throws {
    try withJournal { journal, url in
      let folder = url.deletingLastPathComponent()
      let file = folder.appending(path: "Finds.jbak")
      let strange = folder.appending(path: "Finds.jbak.new")
      try Data("mine".utf8).write(to: strange)
      let isKilled = Lock(false)
      var options = JournalOptions()
      options.fileHook = { operation in
        isKilled.withLock { isKilled in
          isKilled = isKilled || operation.kind == .write
          return isKilled ? .fail(EIO) : .proceed
        }
      }
      let other = try CatalogJournal.open(at: journal.url, mode: .readOnly, options: options)
      try journal.backup(toFile: file) { _ in
        #expect(throws: JournalError.self) { try other.backup(toFile: file) }
      }
      try other.close()
      func leftovers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
          $0.hasPrefix("Finds.jbak.") && $0 != strange.lastPathComponent
        }
      }
      #expect(try leftovers().count == 1)
      let copy = folder.appending(path: "Again.journal")
      try CatalogJournal.create(at: copy, fromBackup: file)
      try check(copy, against: journal)
      try journal.backup(toFile: file)
      #expect(try leftovers() == [])
      #expect(try Data(contentsOf: strange) == Data("mine".utf8))
    }
  }

  @Test func aBackupFileThatIsCutOrHasAFlippedBitMakesNoJournal() throws {
    try withJournal { journal, url in
      try journal.backup(toFile: url)
      let whole = try Data(contentsOf: url)
      let copy = url.deletingLastPathComponent().appending(path: "Again.journal")
      // Only the date of the receipt is proven by nothing.
      let date = try #require(whole.range(of: Data("\ndate ".utf8)))
      for index in stride(from: 0, to: date.lowerBound, by: 1) {
        var flipped = whole
        flipped[index] ^= UInt8(1 << (index % 8))
        for bytes in [flipped, whole.prefix(index)] where index % 7 == 0 || bytes.count == whole.count {
          var rest = bytes[...]
          #expect(throws: JournalError.self, "byte \(index)") {
            try CatalogJournal.create(at: copy) { count in
              defer { rest = rest.dropFirst(count) }
              return Data(rest.prefix(count))
            }
          }
          #expect(!FileManager.default.fileExists(atPath: copy.path))
        }
      }
      #expect(throws: JournalError.self) {
        var rest = (whole + Data("x".utf8))[...]
        try CatalogJournal.create(at: copy) { _ in
          defer { rest = rest.dropFirst(3) }
          return Data(rest.prefix(3))
        }
      }
    }
  }

  // MARK: Cost

  @Test func anIncrementalBackupCostsTheSameHoweverLargeTheJournalIs() throws {
    let costs = try [1000, 20_000].map { count in
      try withTemporaryFolder { folder in
        let reads = Lock(0)
        let changes = Lock(0)
        var options = JournalOptions(layers: .manual)
        options.fileHook = { operation in
          changes.withLock { $0 += 1 + operation.bytes.count }
          return .proceed
        }
        options.readHook = { path, _ in
          if path.contains("/entries/") { reads.withLock { $0 += 1 } }
          return .proceed
        }
        let url = folder.url.appending(path: "Finds.journal")
        let made = try CatalogJournal.create(at: url)
        try made.withPipeline { pipeline in
          for number in 0..<count {
            try pipeline.commit { try $0.addItem(kind: "find", attributes: ["n": .integer(Int64(number))]) }
          }
        }
        try made.close()
        let journal = try CatalogJournal.open(at: url, options: options)
        let backup = folder.url.appending(path: "Finds.backup")
        // The run after the first one writes out what LevelDB has in its own log, up to 8 MiB.
        for turn in 0..<2 {
          try journal.backup(to: backup)
          for number in 1...10 {
            try journal.commit { try $0.updateItem(EntityID(number), set: ["turn": .integer(Int64(turn))]) }
          }
        }
        // The check in the background reads too.
        for _ in 0..<30_000 where !journal.health.isSound { Thread.sleep(forTimeInterval: 0.01) }
        #expect(journal.health.isSound)
        let before = (reads: reads.withLock { $0 }, changes: changes.withLock { $0 })
        #expect(try journal.backup(to: backup).entryCount == 10)
        let cost = (
          reads: reads.withLock { $0 } - before.reads, changes: changes.withLock { $0 } - before.changes
        )
        try check(backup, against: journal)
        try journal.close()
        return cost
      }
    }
    // A lookup may have to read one table more or less.
    #expect(costs[1].reads <= costs[0].reads + 40)
    #expect(costs[1].changes <= costs[0].changes * 5 / 4 + 4096)
  }

  @Test func aBackupReadsEachEntryOnceHoweverLargeTheirEntityIs() throws {
    let readByteCounts = try [10, 1 << 20].map { size in
      try withTemporaryFolder { folder in
        let url = folder.url.appending(path: "Finds.journal")
        var making = JournalOptions(layers: .manual)
        // An opening reads what is in no table yet. That depends on how far LevelDB's thread had got at the closing.
        making.database.writeBufferByteCount = 256 << 10
        let made = try CatalogJournal.create(at: url, options: making)
        let large = FieldValue.string(String(repeating: "x", count: size))
        try made.commit { _ = try $0.addItem(kind: "find", attributes: ["large": large]) }
        for number in 0..<90 {
          let text = "\(number) " + String(repeating: "y", count: 100_000)
          try made.commit { try $0.updateItem(1, set: ["text": .string(text)]) }
        }
        try made.close()
        let readByteCount = Lock(0)
        var options = JournalOptions(layers: .manual)
        options.readHook = { path, byteCount in
          if path.contains("/entries/") { readByteCount.withLock { $0 += byteCount } }
          return .proceed
        }
        let journal = try CatalogJournal.open(at: url, mode: .readOnly, options: options)
        defer { try? journal.close() }
        // The check in the background reads too.
        for _ in 0..<30_000 where !journal.health.isSound { Thread.sleep(forTimeInterval: 0.01) }
        #expect(journal.health.isSound)
        let before = readByteCount.withLock { $0 }
        let backup = folder.url.appending(path: "Finds.backup")
        try journal.backup(to: backup)
        return readByteCount.withLock { $0 } - before - size
      }
    }
    #expect(readByteCounts[1] < readByteCounts[0] * 5 / 4)
  }

  @Test func manyBackupsLeaveAFewFiles() throws {
    try withJournal { journal, url in
      for number in 0..<60 {
        try journal.commit { try $0.updateItem(1, set: ["n": .integer(Int64(number))]) }
        let report = try journal.backup(to: url)
        #expect(report.entryCount == (number == 0 ? journal.head.revision : 1))
        let files = try FileManager.default.contentsOfDirectory(atPath: url.appending(path: "entries").path)
        #expect(files.count < 8)
      }
      try check(url, against: journal)
    }
  }

  private func check(
    _ url: URL, against journal: CatalogJournal, location: SourceLocation = #_sourceLocation
  ) throws {
    let copy = try CatalogJournal.open(at: url, mode: .readOnly)
    #expect(copy.head == journal.head, sourceLocation: location)
    #expect(try copy.verify(.deep).problems.map(\.description) == [], sourceLocation: location)
    #expect(
      StateDigest.digest(of: copy.state) == StateDigest.digest(of: journal.state), sourceLocation: location)
    try copy.close()
  }
}

extension Journal where State == Catalog {
  fileprivate func addPicture(_ text: String) throws {
    let blob = try blobs.add(Data(text.utf8))
    try commit(by: "bob", note: text) { draft in
      try draft.addImage(to: 1, name: "\(text).png", mediaType: "image/png", blob: blob)
    }
  }

  fileprivate func picture(_ number: Int) throws -> Data {
    try blobs.data(of: try #require(state.image(EntityID(number))?.blob))
  }
}

extension ContentDigest {
  fileprivate static func hex(of text: String) -> String { SHA256Hash.digest(Array(text.utf8)).hex }
}
