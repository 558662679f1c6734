import Files
import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import Locks
import TestSupport
import Testing

/// Folders that people and their programs copy, move, back up and browse.
@Suite struct TouchedFolderTests {
  private static let litter = [".DS_Store", "._HEAD", "Icon\r", ".localized", "Thumbs.db", "desktop.ini"]

  @Test func filesOfFileManagersAreIgnoredAndStay() throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      try journal.takeSnapshot()
      try journal.close()
      let folders = ["", "entries/", "images/", "snapshots/"]
      let names = folders.flatMap { folder in Self.litter.map { folder + $0 } }
      for (index, name) in names.enumerated() {
        let path = url.appendingPathComponent(name).path
        // Some of them are links, which must not be followed.
        if index % 5 == 4 {
          #expect(unsafe symlink("/etc/passwd", path) == 0)
        } else {
          try Data("litter".utf8).write(to: URL(fileURLWithPath: path))
        }
      }
      for turn in 1...3 {
        let reader = try Journal<Ledger>.open(at: url, mode: .readOnly)
        #expect(try reader.verify().isSound)
        #expect(try reader.statistics().blobCount == 0)
        try reader.close()
        let writer = try Journal<Ledger>.open(at: url)
        try writer.commit { try $0.open(owner: "Bob \(turn)") }
        try writer.takeSnapshot()
        #expect(try writer.verify().isSound)
        try writer.close()
      }
      for name in names {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url.path + "/" + name)
        #expect(attributes != nil, "\(name) is gone")
      }
    }
  }

  @Test(arguments: [["images"], ["snapshots"], ["images", "snapshots", "entries/LOCK"]])
  func emptyFoldersThatACopyLeftOutAreNoDamage(_ names: [String]) throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      try journal.close()
      for name in names { try? FileManager.default.removeItem(at: url.appendingPathComponent(name)) }
      let reader = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(reader.head.revision == 1)
      #expect(try reader.verify().isSound)
      #expect(try reader.statistics().blobCount == 0)
      try reader.close()
      #expect(!FileManager.default.fileExists(atPath: url.appendingPathComponent(names[0]).path))
      let writer = try Journal<Ledger>.open(at: url)
      let blob = try writer.blobs.add(Data("cover".utf8))
      #expect(try writer.blobs.data(of: blob) == Data("cover".utf8))
      try writer.takeSnapshot()
      try writer.commit { try $0.open(owner: "Bob") }
      try writer.close()
    }
  }

  /// Calls `body` with a closed journal that has a snapshot and an entry after it.
  private func withClosedJournal(_ body: (_ url: URL, _ folder: URL) throws -> Void) throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      try journal.takeSnapshot()
      try journal.commit { try $0.open(owner: "Bob") }
      try journal.close()
      try body(url, url.deletingLastPathComponent())
    }
  }

  /// Checks a journal that went through another program: reads it, verifies it and writes to it.
  private func expectWhole(_ url: URL) throws {
    let reader = try Journal<Ledger>.open(at: url, mode: .readOnly)
    #expect(reader.state.accounts.map(\.row.owner) == ["Ana", "Bob"])
    #expect(try reader.verify(.deep).problems.map(\.description) == [])
    try reader.close()
    #expect(try Journal<Ledger>.diagnose(url).isSound)
    let writer = try Journal<Ledger>.open(at: url)
    try writer.commit { try $0.open(owner: "Eve") }
    try writer.close()
    #expect(try Journal<Ledger>.open(at: url, mode: .readOnly).verify(.deep).isSound)
  }

  /// The entries were hidden, `verify` said that all is well, and the next erasure removed them.
  @Test func theBaseOfAPrunedCopyDoesNotHideEntries() throws {
    try withClosedJournal { url, folder in
      let copy = folder.appending(path: "Copy.journal")
      try FileManager.default.copyItem(at: url, to: copy)
      try Journal<Ledger>.prune(before: .revision(2), at: url)
      let base = "entries/BASE"
      try FileManager.default.copyItem(at: url.appending(path: base), to: copy.appending(path: base))
      for mode in [Journal<Ledger>.Mode.readOnly, .follow, .readWrite] {
        let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: copy, mode: mode) }
        #expect(
          error?.code == .damaged && error?.path?.hasSuffix(base) == true, "\(String(describing: error))")
      }
      #expect(try !Journal<Ledger>.diagnose(copy).opens)
      let saved = folder.appending(path: "Saved.journal")
      #expect(try Journal<Ledger>.salvage([copy], to: saved).head.revision == 2)
      try FileManager.default.removeItem(at: copy.appending(path: base))
      try expectWhole(copy)
    }
  }

  /// A table that a program had put back blocked all writing, because entries that were pruned seemed to be missing.
  @Test func filesFromBeforeAPruningBlockNothing() throws {
    try withClosedJournal { url, folder in
      let old = folder.appending(path: "old entries")
      try FileManager.default.copyItem(at: url.appending(path: "entries"), to: old)
      try Journal<Ledger>.prune(before: .revision(2), at: url)
      var count = 0
      for name in try FileManager.default.contentsOfDirectory(atPath: old.path) {
        guard name.hasSuffix(".log") || name.hasSuffix(".ldb"), let number = Int(name.prefix(6)) else {
          continue
        }
        // A log with a lower number than the current one is no longer part of the database.
        for number in [number, number + 50] {
          let place = url.appending(path: "entries/\(String(format: "%06d", number)).\(name.suffix(3))")
          if FileManager.default.fileExists(atPath: place.path) { continue }
          try FileManager.default.copyItem(at: old.appending(path: name), to: place)
          count += 1
        }
      }
      #expect(count > 0)
      try expectWhole(url)
    }
  }

  /// A writer went on after the older log, and removed the layers that prove the loss.
  @Test func aWriterRefusesALogThatEndsBeforeALayer() throws {
    try withClosedJournal { url, folder in
      let old = folder.appending(path: "Old.journal")
      try FileManager.default.copyItem(at: url, to: old)
      let journal = try Journal<Ledger>.open(at: url)
      try journal.commit { try $0.open(owner: "Eve") }
      try journal.takeSnapshot()
      try journal.close()
      for name in ["entries", "HEAD"] {
        try FileManager.default.removeItem(at: url.appending(path: name))
        try FileManager.default.copyItem(at: old.appending(path: name), to: url.appending(path: name))
      }
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url) }
      #expect(error?.code == .damaged && error?.revision == 3, "\(String(describing: error))")
      #expect(error?.message.contains("shows that there were more") == true)
      let reader = try Journal<Ledger>.open(at: url, mode: .readOnly)
      #expect(reader.head.revision == 2 && reader.state.accounts.map(\.row.owner) == ["Ana", "Bob"])
      #expect(try !reader.verify().isSound)
      try reader.close()
      try FileManager.default.removeItem(at: url.appending(path: "snapshots"))
      try expectWhole(url)
    }
  }

  /// What LevelDB's repair had put aside stayed after an erasure.
  @Test func anErasureRemovesTheFolderOfLevelDBsRepair() throws {
    try withClosedJournal { url, _ in
      let lost = url.appending(path: "entries/lost")
      try FileManager.default.createDirectory(at: lost, withIntermediateDirectories: false)
      try Data("Ana".utf8).write(to: lost.appending(path: "000003.log"))
      try Data().write(to: url.appending(path: "entries/notes.txt"))
      try Journal<Ledger>.prune(before: .revision(2), at: url)
      #expect(!FileManager.default.fileExists(atPath: lost.path))
      // Another program's file stays.
      try FileManager.default.removeItem(at: url.appending(path: "entries/notes.txt"))
      try expectWhole(url)
    }
  }

  /// It also said to restore the journal from a backup, although nothing was missing.
  @Test func aConflictedCopyInTheLogsFolderIsOnlyToBeMoved() throws {
    try withClosedJournal { url, _ in
      let foreign = url.appending(path: "entries/000006 (conflicted copy 2026-11-28).log")
      try Data().write(to: foreign)
      let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url, mode: .readOnly) }
      #expect(error?.code == .notAJournal && error?.message.contains("move it elsewhere") == true)
      let diagnosis = try Journal<Ledger>.diagnose(url)
      #expect(!diagnosis.opens && diagnosis.checkedRevision == 2)
      #expect(diagnosis.problems.count == 1)
      #expect(diagnosis.problems.first?.path == foreign.path)
      #expect(diagnosis.problems.allSatisfy { $0.advice.hasPrefix("Move foreign files elsewhere") })
      try FileManager.default.removeItem(at: foreign)
      try expectWhole(url)
    }
  }

  private static let conflictedCopies = [
    "HEAD (Ana's conflicted copy 2026-11-28)", "head (conflicted copy)", "HEAD（冲突）", "HEAD..path1",
    "HEAD-DESKTOP-7", "FORMAT (1)", "entries 2",
    "images.sync-conflict-20261128-101500-ABCDEFG", "entries/CURRENT (conflicted copy 2026-11-28 101500)",
    "entries/000005.sync-conflict-20261128-101500-ABCDEFG.ldb", "entries/MANIFEST-000004_conflict-20261128",
    "entries/000006 (SFConflict ana@example.com 2026-11-28-10-15-00).log",
    "images/\(String(repeating: "a0", count: 32)) (1)", "snapshots/0000000000000001-DESKTOP-7.plist",
  ]

  /// Two machines may have written to the journal, so which copy is the right one is not known.
  @Test(arguments: conflictedCopies)
  func aConflictedCopyOfTheJournalsFilesStopsItAndIsNamed(_ name: String) throws {
    try withClosedJournal { url, _ in
      let place = url.appending(path: name)
      try Data("HEAD".utf8).write(to: place)
      for mode in [Journal<Ledger>.Mode.readOnly, .follow, .readWrite] {
        let error = #expect(throws: JournalError.self) { try Journal<Ledger>.open(at: url, mode: mode) }
        #expect(error?.code == .notAJournal && error?.path == place.path)
        #expect(error?.message.contains("move it elsewhere") == true)
      }
      #expect(try Data(contentsOf: place) == Data("HEAD".utf8))
      try FileManager.default.removeItem(at: place)
      try expectWhole(url)
    }
  }

  private static let foreign = [
    ".directory", ".nfs000000000012a4b500000001", ".fuse_hidden0000000300000002", ".HEAD.swp", "4913",
    "HEAD~",
    "README.txt", ".stfolder/", "lost+found/", ".goutputstream-1A2B3C", ".syncthing.HEAD.tmp", "notes.new",
    "CURRENT.bak",
  ]

  /// The journal used not to open.
  @Test func filesOfOtherProgramsAreReportedAndStayThroughEverythingThatRemovesFiles() throws {
    let notices = Lock<[JournalNotice]>([])
    let options = JournalOptions { notice in notices.withLock { $0.append(notice) } }
    try withClosedJournal { url, folder in
      var names = ["", "entries/", "images/", "snapshots/"].flatMap { part in Self.foreign.map { part + $0 } }
      names.removeAll { $0 == "notes.new" }
      for name in names {
        let place = url.appending(path: name)
        if name.hasSuffix("/") {
          try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
          try Data("inside".utf8).write(to: place.appending(path: "inside"))
        } else {
          try Data(name.utf8).write(to: place)
        }
      }
      func expectForeignFiles() throws {
        for name in names {
          let place = url.appending(path: name)
          let file = name.hasSuffix("/") ? place.appending(path: "inside") : place
          let expected = name.hasSuffix("/") ? "inside" : name
          #expect(try String(contentsOf: file, encoding: .utf8) == expected)
        }
      }
      for mode in [Journal<Ledger>.Mode.readOnly, .follow] {
        let reader = try Journal<Ledger>.open(at: url, mode: mode, options: options)
        #expect(reader.state.accounts.map(\.row.owner) == ["Ana", "Bob"])
        let verified = try reader.verify(.deep)
        #expect(verified.isSound && verified.problems.count == names.count)
        try reader.close()
      }
      let found = notices.withLock { $0 }.filter { $0.cause?.code == .notAJournal }
      #expect(
        found.count == 2 && found.allSatisfy { $0.level == .warning && $0.message.contains(".HEAD.swp") })
      let writer = try Journal<Ledger>.open(at: url)
      try writer.commit { try $0.open(owner: "Eve") }
      try writer.takeSnapshot()
      try writer.close()
      try expectForeignFiles()
      try Journal<Ledger>.prune(before: .revision(2), at: url)
      try expectForeignFiles()
      let again = try Journal<Ledger>.open(at: url)
      try again.commit { try $0.open(owner: "Fay") }
      try again.takeSnapshot()
      #expect(try again.verify(.deep).isSound)
      let backup = folder.appending(path: "Backup.journal")
      try again.backup(to: backup)
      try again.close()
      try expectForeignFiles()
      let copied = try listing(backup).map { ($0 as NSString).lastPathComponent }
      #expect(Set(copied).isDisjoint(with: Self.foreign.map { $0.replacing("/", with: "") }))
      let diagnosis = try Journal<Ledger>.diagnose(url)
      #expect(diagnosis.isSound && diagnosis.problems.count == names.count)
      let named = diagnosis.problems.first { $0.path?.hasSuffix("entries/CURRENT.bak") == true }
      #expect(named?.message.contains("written by another LevelDB, goleveldb") == true)
    }
  }

  /// Opening a database moves its log into a table, which is compressed. Nothing was missing, but the journal was called
  /// damaged, and salvage found no entry.
  @Test(arguments: PlainLevelDB.all)
  func aJournalThatAnotherLevelDBHasOpenedIsWhole(_ other: PlainLevelDB) throws {
    try withClosedJournal { url, folder in
      #expect(try other.look(at: url.appending(path: "entries").path) == 3)
      let salvaged = folder.appending(path: "Salvaged.journal")
      #expect(try Journal<Ledger>.salvage([url], to: salvaged).isWhole)
      let reader = try Journal<Ledger>.open(at: url, mode: .follow)
      try reader.backup(to: folder.appending(path: "Backup.journal"))
      try reader.close()
      try expectWhole(folder.appending(path: "Backup.journal"))
      try expectWhole(url)
      #expect(try other.look(at: url.appending(path: "entries").path) == 4)
      #expect(try Journal<Ledger>.open(at: url, mode: .readOnly).verify(.deep).isSound)
    }
  }

  @Test(.enabled(if: plyvelIsInstalled, "python3-plyvel is missing"), arguments: ["", "db.compact_range()"])
  func aJournalThatPlyvelHasOpenedIsWhole(_ command: String) throws {
    try withClosedJournal { url, _ in
      for count in [3, 4] {
        try run(
          "python3", "-c",
          """
          import plyvel, sys
          db = plyvel.DB(sys.argv[1])
          assert len(list(db)) == \(count)
          \(command)
          db.close()
          """, url.appending(path: "entries").path)
        if count == 3 { try expectWhole(url) }
      }
      #expect(try Journal<Ledger>.open(at: url, mode: .readOnly).verify(.deep).isSound)
    }
  }

  /// git keeps neither empty folders nor the permissions of files.
  @Test func aJournalThatIsCommittedToGitAndClonedIsWhole() throws {
    try withClosedJournal { url, folder in
      let clone = folder.appending(path: "clone")
      try run("git", "init", "-q", folder.path)
      try run("git", "-C", folder.path, "add", url.lastPathComponent)
      try run(
        "git", "-C", folder.path, "-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "-qm",
        "journal")
      try run("git", "clone", "-q", folder.path, clone.path)
      let cloned = clone.appending(path: url.lastPathComponent)
      #expect(!FileManager.default.fileExists(atPath: cloned.appending(path: "images").path))
      try expectWhole(cloned)
    }
  }

  @Test func aJournalThatGoesThroughTarIsWhole() throws {
    try withClosedJournal { url, folder in
      let (archive, other) = (folder.appending(path: "j.tar.gz"), folder.appending(path: "elsewhere"))
      try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
      try run("tar", "-C", folder.path, "-czf", archive.path, url.lastPathComponent)
      try run("tar", "-C", other.path, "-xzf", archive.path)
      try expectWhole(other.appending(path: url.lastPathComponent))
    }
  }

  /// An app may read its own bundle, but not write to it.
  @Test func aJournalInAReadOnlyBundleIsReadAndLeftUnchanged() throws {
    try withClosedJournal { url, folder in
      let bundle = folder.appending(path: "Books.app/Contents/Resources")
      try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
      let shipped = bundle.appending(path: "Seed.journal")
      try FileManager.default.copyItem(at: url, to: shipped)
      try run("chmod", "-R", "a-w", bundle.path)
      defer { try? run("chmod", "-R", "u+w", bundle.path) }
      func contents() throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try listing(shipped) {
          contents[name] = FileManager.default.contents(atPath: "\(shipped.path)/\(name)") ?? Data()
        }
        return contents
      }
      let before = try contents()
      let reader = try Journal<Ledger>.open(at: shipped, mode: .readOnly)
      #expect(reader.state.accounts.count == 2)
      #expect(try reader.verify(.deep).isSound)
      // The app copies it at its first launch.
      let own = folder.appending(path: "Own.journal")
      try reader.copy(to: own)
      try reader.close()
      #expect(try contents() == before)
      try expectWhole(own)
    }
  }

  /// The links are made while the journal is closed. Later, LevelDB starts other logs and tables.
  @Test func aBackupOfHardLinksStaysUnchanged() throws {
    var options = JournalOptions(layers: .manual)
    options.database.writeBufferByteCount = 64 << 10
    try withLedger(options: options) { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      try journal.close()
      let backup = url.deletingLastPathComponent().appendingPathComponent("Backup.journal")
      try copyByLinks(url, to: backup)
      // HEAD used to be written in place, so the backup was damaged three commits later.
      let note = String(repeating: "x", count: 40_000)
      for turn in 1...4 {
        let again = try Journal<Ledger>.open(at: url, options: options)
        for _ in 1...5 { try again.commit(note: note) { try $0.open(owner: "Bob \(turn)") } }
        try again.close()
        let old = try Journal<Ledger>.open(at: backup, mode: .readOnly)
        #expect(old.head.revision == 1)
        #expect(try old.verify().isSound)
        try old.close()
      }
      // Otherwise the log was never replaced.
      #expect(
        try listing(url).count { $0.hasSuffix(".ldb") } > listing(backup).count { $0.hasSuffix(".ldb") })
      let both = try Journal<Ledger>.open(at: url)
      let old = try Journal<Ledger>.open(at: backup)
      try old.commit { try $0.open(owner: "Eve") }
      try both.commit { try $0.open(owner: "Eve") }
      #expect(try old.head.revision == 2 && both.head.revision == 22 && both.verify().isSound)
      try old.close()
      try both.close()
      #expect(try Journal<Ledger>.open(at: backup).head.revision == 2)
      #expect(try Journal<Ledger>.open(at: url).head.revision == 22)
    }
  }

  @Test func ifHEADIsHardLinkedWhileTheJournalIsOpenTheLinkedFileStaysUnchanged() throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      let link = url.deletingLastPathComponent().appendingPathComponent("HEAD of a backup")
      try FileManager.default.linkItem(at: url.appendingPathComponent("HEAD"), to: link)
      let before = try Data(contentsOf: link)
      for _ in 1...5 { try journal.commit { try $0.open(owner: "Bob") } }
      #expect(try Data(contentsOf: link) == before)
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).head.revision == 6)
    }
  }

  /// The entry used to be stored first. Then the journal took no more commits, and the outcome of this one was unknown.
  @Test(arguments: [FileOperation.Kind.create, .rename])
  func aShortageWhileHEADIsHardLinkedRefusesOneCommit(_ kind: FileOperation.Kind) throws {
    let isShort = Lock(false)
    var options = JournalOptions()
    options.fileHook = { operation in
      let isMet = operation.kind == kind && operation.path.hasSuffix("/HEAD.new")
      return isMet && isShort.withLock { $0 } ? .fail(EMFILE) : .proceed
    }
    try withLedger(options: options) { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      let link = url.deletingLastPathComponent().appendingPathComponent("HEAD of a backup")
      try FileManager.default.linkItem(at: url.appendingPathComponent("HEAD"), to: link)
      let before = try Data(contentsOf: link)
      isShort.withLock { $0 = true }
      let error = #expect(throws: JournalError.self) { try journal.commit { try $0.open(owner: "Bob") } }
      #expect(error?.code == .outOfResources && journal.head.revision == 1, "\(String(describing: error))")
      isShort.withLock { $0 = false }
      for _ in 1...5 { try journal.commit { try $0.open(owner: "Bob") } }
      #expect(try Data(contentsOf: link) == before)
      try journal.close()
      let again = try Journal<Ledger>.open(at: url)
      #expect(again.head.revision == 6)
      try again.close()
    }
  }

  /// Commits used to be acknowledged, and were missing at the next opening.
  @Test(arguments: [
    "rm entries/*.log", "for f in entries/*.log; do cp $f x; mv x $f; done", "mv entries away",
    "cp -a entries x; mv entries away; mv x entries",
    "for f in entries/*.log; do head -c 20 $f > x; cat x > $f; rm x; done",
  ])
  func ifTheLogIsRemovedReplacedOrCutUnderAWriterNothingMoreIsAcknowledged(_ command: String) throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      try run("sh", "-c", "cd '\(url.path)' && { \(command); }")
      let first = #expect(throws: JournalError.self) { try journal.commit { try $0.open(owner: "Bob") } }
      #expect(first?.code == .outcomeUnknown || first?.code == .poisoned, "\(String(describing: first))")
      let cause = first?.cause as? JournalError
      let isNamed = ["removed or replaced", "truncated"].contains { cause?.message.contains($0) == true }
      #expect(cause?.code == .damaged && isNamed, "\(String(describing: cause))")
      let next = #expect(throws: JournalError.self) { try journal.commit { try $0.open(owner: "Eve") } }
      #expect(next?.code == .poisoned)
      #expect(journal.head.revision == 1)
      try? journal.close()
    }
  }

  @Test func anOpenJournalThatIsMovedDoesNotTouchTheJournalAtItsOldPath() throws {
    try withLedger { journal, url in
      try journal.commit { try $0.open(owner: "Ana") }
      let moved = url.deletingLastPathComponent().appendingPathComponent("Moved.journal")
      try FileManager.default.moveItem(at: url, to: moved)
      let other = try Journal<Ledger>.create(at: url)
      try other.commit { try $0.open(owner: "Other") }
      let before = try listing(url)

      let blob = try journal.blobs.add(Data("mine".utf8))
      try journal.commit { try $0.open(owner: "Bob") }
      try journal.takeSnapshot()
      #expect(try journal.blobs.data(of: blob) == Data("mine".utf8))
      #expect(try journal.verify(.deep).isSound)
      #expect(try journal.statistics().blobCount == 1)
      #expect(try journal.state(asOf: .revision(1)).accounts.count == 1)
      #expect(try listing(url) == before)
      #expect(try other.statistics().blobCount == 0)
      try journal.close()
      try other.close()
      #expect(try Journal<Ledger>.open(at: moved).head.revision == 2)
      #expect(try Journal<Ledger>.open(at: url).state.accounts[1]?.owner == "Other")
    }
  }

  /// LevelDB used to open its files by path, so an opening could mix parts of two journals.
  @Test func anOpeningDuringAnExchangeOpensOneOfTheTwoJournals() throws {
    try withTemporaryFolder { folder in
      for name in ["A", "B"] {
        let journal = try Journal<Ledger>.create(at: folder.url.appending(path: "\(name).journal"))
        try journal.commit { try $0.open(owner: name) }
        try journal.close()
      }
      let isOver = Lock(false)
      let isEnded = DispatchSemaphore(value: 0)
      let parent = try Files.Folder<JournalError>(folder.path, followsLinks: false, hook: nil)
      let isStarted = Threads.start {
        while !isOver.withLock({ $0 }) {
          try? parent.exchange("A.journal", with: "B.journal", in: parent)
        }
        isEnded.signal()
      }
      try #require(isStarted)
      defer {
        isOver.withLock { $0 = true }
        isEnded.wait()
      }
      let url = folder.url.appending(path: "A.journal")
      var owners: Set<String> = []
      for turn in 1...100 {
        let journal = try Journal<Ledger>.open(at: url, mode: [.readWrite, .readOnly, .follow][turn % 3])
        let owner = try #require(journal.state.accounts[1]?.owner)
        owners.insert(owner)
        if turn % 3 == 0 { try journal.commit { try $0.open(owner: owner) } }
        #expect(try journal.verify().isSound)
        #expect(journal.state.accounts.allSatisfy { $0.row.owner == owner })
        try journal.close()
      }
      #expect(owners == ["A", "B"])
    }
  }

  @Test func aWebAddressIsRefusedAsThePlaceOfAJournal() throws {
    let web = try #require(URL(string: "https://example.org/x"))
    for make in [
      { try Journal<Ledger>.openOrCreate(at: web) }, { try Journal<Ledger>.open(at: web) },
      { try Journal<Ledger>.create(at: web) },
    ] {
      let error = #expect(throws: JournalError.self) { try make() }
      #expect(error?.code == .wrongUse)
    }
    #expect(!FileManager.default.fileExists(atPath: "/x"))
  }

  private func listing(_ url: URL) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: url.path).sorted()
  }

  private func copyByLinks(_ url: URL, to copy: URL) throws { try run("cp", "-al", url.path, copy.path) }

  private func run(_ words: String...) throws { #expect(try succeeds(words), "\(words)") }
}

private let plyvelIsInstalled: Bool = (try? succeeds(["python3", "-c", "import plyvel"])) == true

/// Runs a program, and returns whether it succeeds.
private func succeeds(_ words: [String]) throws -> Bool {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = words
  process.environment = [
    "PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
  ]
  try process.run()
  process.waitUntilExit()
  return process.terminationStatus == 0
}
