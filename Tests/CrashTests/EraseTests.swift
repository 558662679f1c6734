import Files
import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import Locks
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Whatever happens during an erasure, erased content is nowhere in the folder, and everything else is unchanged.
  @Suite struct EraseTests {
    @Test func erasedContentIsNowhereInTheFolderAndAllElseIsUnchanged() throws {
      var random = SeededGenerator()
      for round in 0..<Battery.size(12, long: 200) {
        try withFolderInMemory { folder in
          let pages = try Pages(in: folder, count: Int.random(in: 2...6, using: &random), &random)
          let original = try Journal<Logbook>.open(at: try pages.copy("Original.journal"), mode: .readOnly)
          let erased = Set(
            (1...pages.count).shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random)))
          let words = random.chance(1, in: 2)
          let report = try Journal<Logbook>.erase(
            Set(erased.map { .page($0) }), at: pages.url, reason: "by law", by: "eve", includingWords: words)
          #expect(report.head.revision == pages.head.revision + 1)
          try check(pages, erased, words, at: pages.url, "round \(round)")

          let journal = try Journal<Logbook>.open(at: pages.url)
          // Receipts from before the erasure are still fulfilled.
          #expect(try journal.contains(original.receipt))
          let entry = try journal.entry(at: report.head.revision)
          #expect(entry.note == "by law" && entry.author == "eve" && entry.events.isEmpty)
          #expect(try journal.erasure(of: .page(erased.first!))?.revision == report.head.revision)
          for revision in 1...pages.head.revision {
            #expect(try journal.entry(at: revision).digest == original.entry(at: revision).digest)
            let (state, was) = (
              try journal.state(asOf: .revision(revision)), try original.state(asOf: .revision(revision))
            )
            for page in 1...pages.count {
              let isErased = erased.contains(page)
              #expect(state.record(of: .page(page)) == (isErased ? nil : was.record(of: .page(page))))
              #expect(state.revision(of: .page(page)) == was.revision(of: .page(page)))
            }
          }
          let verification = try journal.verify(.deep)
          #expect(verification.problems.map(\.description) == [])
          #expect(verification.erasedEventCount == report.eventCount)
          #expect(verification.checkpointCount >= 1)
          // The journal takes commits, and another erasure.
          try journal.commit { try $0.write(77, "after") }
          try journal.takeSnapshot()
          try journal.close()
          try Journal<Logbook>.erase([.page(77)], at: pages.url, reason: "again")
          let again = try Journal<Logbook>.open(at: pages.url)
          #expect(try again.verify(.deep).isSound)
          try again.close()
          try original.close()
        }
      }
    }

    @Test func ifAnyOperationOfAnErasureFailsItIsDoneInFullOrNotAtAll() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        try pages.failEachOperation(of: "erase", erase) { try isErased(pages, at: $0, $1) }
      }
    }

    @Test func anErasureThatIsKilledAtAnyOperationIsDoneInFullOrNotAtAll() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        try pages.killAtEachOperation(of: "erase") { try isErased(pages, at: $0, $1) }
      }
    }

    @Test func theNextBackupRunRemovesErasedContentFromTheBackup() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 4, &random)
        let backup = URL(fileURLWithPath: "\(folder)/Log.backup")
        func run() throws -> BackupReport {
          let journal = try Journal<Logbook>.open(at: pages.url)
          defer { try? journal.close() }
          return try journal.backup(to: backup)
        }
        #expect(try !run().isRebuilt)
        let copy = try Journal<Logbook>.open(at: backup)
        try copy.takeSnapshot()
        try copy.close()
        try Journal<Logbook>.erase([.page(2)], at: pages.url, reason: "by law")
        let report = try run()
        #expect(report.isRebuilt)
        try check(pages, [2], false, at: backup, "the backup")
        let again = try Journal<Logbook>.open(at: backup, mode: .readOnly)
        #expect(again.head == report.receipt.headOfEntry(in: again))
        #expect(try again.verify(.deep).problems.map(\.description) == [])
        try again.close()
        #expect(try !run().isRebuilt)
      }
    }

    /// A reader keeps the base that it has opened. A backup of it used to get the content that another process had erased,
    /// and the states and histories of a follower still had it.
    @Test func aReaderThatWasOpenDuringAnErasureOfTheBaseCanNotBeBackedUp() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 4, &random)
        let backup = URL(fileURLWithPath: "\(folder)/Log.backup")
        try Journal<Logbook>.prune(before: .head(back: 1), at: pages.url)
        let reader = try Journal<Logbook>.open(at: pages.url, mode: .follow)
        try reader.backup(to: backup)
        #expect(try pages.words[2]!.contains { try allBytes(of: backup).range(of: Data($0.utf8)) != nil })
        try Journal<Logbook>.erase([.page(2)], at: pages.url, reason: "by law")
        let ended = #expect(throws: JournalError.self) { try reader.catchUp() }
        #expect(ended?.code == .pruned && ended?.message.contains("open it again") == true)
        for copy in [
          { _ = try reader.backup(to: backup) }, { _ = try reader.backup(write: { _ in }) },
          { try reader.copy(to: URL(fileURLWithPath: "\(folder)/Copy")) },
        ] {
          let error = #expect(throws: JournalError.self) { try copy() }
          #expect(error?.code == .pruned && error?.message.contains("open it again") == true)
        }
        try reader.close()
        let again = try Journal<Logbook>.open(at: pages.url, mode: .follow)
        #expect(try again.backup(to: backup).isRebuilt)
        try again.close()
        let found = try allBytes(of: backup)
        for word in pages.words[2]! { #expect(found.range(of: Data(word.utf8)) == nil) }
      }
    }

    /// The work would be lost, and snapshots would be removed for nothing.
    @Test func whereFoldersCanNotBeExchangedNothingChanges() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        let journal = try Journal<Logbook>.open(at: pages.url)
        try journal.takeSnapshot()
        let snapshots = try journal.snapshots().map(\.url)
        try journal.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: pages.url.path).sorted()
        let error = #expect(throws: JournalError.self) {
          try erase(at: pages.url) { operation in
            operation.kind == .rename && operation.path.contains("entries.new/") ? .fail(EINVAL) : .proceed
          }
        }
        #expect(error?.code == .io, "\(String(describing: error))")
        #expect(try FileManager.default.contentsOfDirectory(atPath: pages.url.path).sorted() == names)
        let again = try Journal<Logbook>.open(at: pages.url)
        #expect(again.head == pages.head)
        #expect(!snapshots.isEmpty)
        #expect(try again.snapshots().map(\.url) == snapshots)
        try again.close()
      }
    }

    /// Where the exchange fails only at the end, as where a program guards the folder.
    @Test(arguments: [EXDEV, EINVAL, EBUSY], [true, false])
    func anErasureOrPruningWhoseLastStepFailsLeavesTheSnapshots(_ number: Int32, isErasure: Bool) throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        let before = try snapshots(of: pages.url)
        #expect(!before.isEmpty)
        let hook: FileHook = { operation in
          operation.kind == .rename && operation.path.hasSuffix("entries.new/entries")
            ? .fail(number) : .proceed
        }
        let error = #expect(throws: JournalError.self) {
          if isErasure {
            try erase(at: pages.url, hook: hook)
          } else {
            try Journal<Logbook>.prune(
              before: .head(back: 3), at: pages.url, options: JournalOptions(fileHook: hook))
          }
        }
        #expect(error?.code == .io, "\(String(describing: error))")
        #expect(try snapshots(of: pages.url) == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: pages.url.path)
        #expect(Set(names) == ["FORMAT", "HEAD", "entries", "images", "snapshots"])
        let again = try Journal<Logbook>.open(at: pages.url)
        #expect(again.head == pages.head && again.health.layerProblems.isEmpty)
        #expect(try again.verify(.deep).isSound)
        try again.close()
      }
    }

    /// A container's image is such a layer. The work was done first, and the snapshots were removed.
    @Test(.enabled(if: Mount.isOverlayPossible, "only the superuser can mount an overlay"))
    func aJournalInALowerLayerOfAnOverlayIsErasedOnceItWasCopied() throws {
      var random = SeededGenerator()
      try withTemporaryFolder { folder in
        try Mount.withOverlay(in: folder.path) { lower, merged in
          let pages = try Pages(in: lower, count: 3, &random)
          let before = try snapshots(of: pages.url)
          try Mount.overlay(in: folder.path) {
            let url = URL(fileURLWithPath: "\(merged)/\(pages.url.lastPathComponent)")
            for rewrite in [
              { _ = try Journal<Logbook>.erase([.page(2)], at: url, reason: "by law") },
              { _ = try Journal<Logbook>.prune(before: .head(back: 3), at: url) },
            ] {
              let error = #expect(throws: JournalError.self) { try rewrite() }
              #expect(error?.code == .io && error?.message.contains("copy the journal with cp -a") == true)
              #expect(try snapshots(of: url) == before)
              let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
              #expect(Set(names) == ["FORMAT", "HEAD", "entries", "images", "snapshots"])
            }
            let copy = url.appendingPathExtension("copy")
            try FileManager.default.copyItem(at: url, to: copy)
            try FileManager.default.removeItem(at: url)
            try FileManager.default.moveItem(at: copy, to: url)
            try Journal<Logbook>.erase([.page(2)], at: url, reason: "by law")
            try check(pages, [2], false, at: url, "the copy")
            let again = try Journal<Logbook>.open(at: url)
            #expect(try again.verify(.deep).isSound)
            try again.close()
          }
        }
      }
    }

    private func snapshots(of url: URL) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: url.appending(path: "snapshots").path).sorted()
    }

    @Test(arguments: ["erasing 1 -5", "erasing 1 0", "erasing 1 9223372036854775807", "erasing 0 1", ""])
    func aRecordOfAnErasureThatCanNotBeReadIsNamedAndPreventsNothing(_ start: String) throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 2, &random)
        let record = pages.url.appending(path: "ERASING")
        try Data("\(start) \(String(repeating: "0", count: 64))\n".utf8).write(to: record)
        let reader = try Journal<Logbook>.open(at: pages.url, mode: .readOnly)
        #expect(reader.head == pages.head)
        let problems = try reader.verify()
        #expect(problems.isSound && problems.problems.contains { $0.path?.hasSuffix("/ERASING") == true })
        try reader.close()
        let warnings = Lock<[String]>([])
        let options = JournalOptions(log: { notice in warnings.withLock { $0.append(notice.message) } })
        let journal = try Journal<Logbook>.open(at: pages.url, options: options)
        #expect(journal.head == pages.head)
        try journal.close()
        #expect(warnings.withLock { $0 }.contains { $0.contains("ERASING can't be parsed") })
        #expect(!FileManager.default.fileExists(atPath: record.path))
      }
    }

    /// Another program has altered the record in between.
    @Test func anErasureThatIsKilledAndLosesItsRecordIsDoneInFullOrNotAtAll() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 3, &random)
        try pages.killAtEachOperation(of: "erase") { url, place in
          let record = url.appending(path: "ERASING")
          if FileManager.default.fileExists(atPath: record.path) {
            try Data("erasing 1 ?\n".utf8).write(to: record)
          }
          try Journal<Logbook>.open(at: url).close()
          // No record has named the images.
          _ = try Journal<Logbook>.collectGarbage(at: url)
          return try isErased(pages, at: url, place)
        }
      }
    }

    @Test(.enabled(if: Mount.isPossible, "only the superuser can mount a small disk"))
    func withoutRoomForTheNewLogNothingIsErasedOrPrunedAndTheErrorSaysSo() throws {
      try withTemporaryFolder { folder in
        let point = try Mount.point(in: folder.path)
        try Mount.with(["-t", "tmpfs", "-o", "size=6m", "none"], at: point) {
          let url = URL(fileURLWithPath: "\(point)/Log.journal")
          let journal = try Journal<Logbook>.create(at: url, options: JournalOptions(layers: .manual))
          for turn in 1...25 {
            try journal.commit { try $0.write(turn, String(repeating: "x", count: 100_000)) }
          }
          let head = journal.head
          try journal.close()
          for rewrite in [
            { _ = try Journal<Logbook>.erase([.page(2)], at: url, reason: "by law") },
            { _ = try Journal<Logbook>.prune(before: .revision(2), at: url) },
          ] {
            let error = #expect(throws: JournalError.self) { try rewrite() }
            #expect(error?.code == .io)
            #expect(error?.message.contains("no room for") == true)
            let after = try Journal<Logbook>.open(at: url)
            #expect(after.head == head)
            #expect(after.base == nil)
            #expect(try after.verify().isSound)
            #expect(after.state.pages[2] != nil)
            try after.close()
          }
          let saved = URL(fileURLWithPath: "\(point)/Saved.journal")
          #expect(throws: JournalError.self) { try Journal<Logbook>.salvage([url], to: saved) }
          #expect(try FileManager.default.contentsOfDirectory(atPath: point) == ["Log.journal"])
        }
      }
    }

    private func erase(at url: URL, hook: @escaping FileHook) throws {
      _ = try Journal<Logbook>.erase(
        [.page(2)], at: url, reason: "by law", by: "eve", includingWords: true,
        options: JournalOptions(fileHook: hook))
    }

    /// Whether page 2 was erased. Checks that all of it is in the journal or none.
    private func isErased(_ pages: Pages, at url: URL, _ place: String) throws -> Bool {
      // Opening for reading changes nothing, and shows the same journal.
      let look = try Journal<Logbook>.open(at: url, mode: .readOnly)
      let head = look.head
      try #require(try look.verify().isSound, "\(place)")
      try look.close()
      let journal = try Journal<Logbook>.open(at: url)
      #expect(journal.head == head, "\(place)")
      let verification = try journal.verify(.deep)
      try #require(verification.isSound, "\(place): \(verification.problems)")
      try journal.close()
      let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
      #expect(Set(names) == ["FORMAT", "HEAD", "entries", "images", "snapshots"], "\(place)")
      if head == pages.head {
        let found = try allBytes(of: url)
        for word in pages.words[2]! where !word.hasPrefix("image") {
          #expect(found.range(of: Data(word.utf8)) != nil, "\(place): \(word) is gone")
        }
        #expect(try snapshots(of: url) == snapshots(of: pages.url), "\(place)")
        return false
      }
      #expect(head.revision == pages.head.revision + 1, "\(place)")
      try check(pages, [2], true, at: url, place)
      return true
    }

    private func check(_ pages: Pages, _ erased: Set<Int>, _ words: Bool, at url: URL, _ place: String) throws
    {
      let found = try allBytes(of: url)
      for page in erased {
        for word in pages.words[page]! + (words ? pages.notes[page]! : []) {
          #expect(found.range(of: Data(word.utf8)) == nil, "\(place): \(word) is still in the folder")
        }
      }
      for page in 1...pages.count where !erased.contains(page) {
        for word in pages.notes[page]! {
          #expect(found.range(of: Data(word.utf8)) != nil, "\(place): \(word) is gone")
        }
      }
    }
  }
}

extension JournalReceipt {
  fileprivate func headOfEntry(in journal: Journal<Logbook>) -> Head? {
    digest == journal.head.digest && revision == journal.head.revision ? journal.head : nil
  }
}
