import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Whatever happens during a pruning, pruned content is nowhere in the folder, and everything else is unchanged.
  @Suite struct PruneTests {
    @Test func prunedContentIsNowhereInTheFolderAndAllElseIsUnchanged() throws {
      var random = SeededGenerator()
      for round in 0..<Battery.size(10, long: 200) {
        try withFolderInMemory { folder in
          let pages = try Pages(in: folder, count: Int.random(in: 2...6, using: &random), &random)
          let point = Int.random(in: 1...pages.head.revision, using: &random)
          let original = try Journal<Logbook>.open(at: try pages.copy("Original.journal"), mode: .readOnly)
          defer { try? original.close() }
          let planned = try Journal<Logbook>.prune(before: .revision(point), at: pages.url, isDryRun: true)
          let report = try Journal<Logbook>.prune(before: .revision(point), at: pages.url)
          #expect(planned.imageCount == report.imageCount && planned.entryByteCount == report.entryByteCount)
          #expect(planned.head == pages.head)
          try check(pages, point, original, at: pages.url, "round \(round), point \(point)")
          let journal = try Journal<Logbook>.open(at: pages.url)
          for revision in point...pages.head.revision {
            let state = try journal.state(asOf: .revision(revision))
            let was = try original.state(asOf: .revision(revision))
            #expect(StateDigest.digest(of: state) == StateDigest.digest(of: was))
          }
          #expect(try journal.verify(.deep).problems.map(\.description) == [])
          try journal.close()
          try writeLayers(at: pages.url, &random)
          // Content of the base can be erased, too.
          let state = try original.state(asOf: .revision(point))
          guard let page = (1...pages.count).first(where: { state.pages[$0] != nil }) else { return }
          try Journal<Logbook>.erase([.page(page)], at: pages.url, reason: "by law")
          let found = try allBytes(of: pages.url)
          for word in pages.words[page]! {
            #expect(found.range(of: Data(word.utf8)) == nil, "\(word) is there")
          }
          let again = try Journal<Logbook>.open(at: pages.url)
          #expect(try again.state(asOf: .start).isErased(.page(page)))
          let verification = try again.verify(.deep)
          #expect(verification.problems.map(\.description) == [])
          #expect(verification.isBaseProven)
          try again.close()
        }
      }
    }

    @Test func ifAnyOperationOfAPruningFailsItIsDoneInFullOrNotAtAll() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 2, &random)
        let original = try Journal<Logbook>.open(at: try pages.copy("Original.journal"), mode: .readOnly)
        try pages.failEachOperation(of: "prune", prune) { try isPruned(pages, original, at: $0, $1) }
      }
    }

    @Test func aPruningThatIsKilledAtAnyOperationIsDoneInFullOrNotAtAll() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 2, &random)
        let original = try Journal<Logbook>.open(at: try pages.copy("Original.journal"), mode: .readOnly)
        try pages.killAtEachOperation(of: "prune") { try isPruned(pages, original, at: $0, $1) }
      }
    }

    @Test func anAlteredCutOrMissingBaseIsNamedAndComesBackFromABackup() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 2, &random)
        try prune(at: pages.url) { _ in .proceed }
        let whole = try Journal<Logbook>.open(at: pages.url)
        let backup = URL(fileURLWithPath: "\(folder)/Log.backup")
        try whole.backup(to: backup)
        try whole.close()
        let base = "/entries/BASE"
        let bytes = try #require(FileManager.default.contents(atPath: pages.url.path + base))
        var damaged: [(Data?, String)] = [(nil, "missing"), (Data(), "empty"), (bytes.dropLast(), "cut")]
        for _ in 0..<Battery.size(40, long: 1000) {
          var altered = bytes
          let index = Int.random(in: 0..<bytes.count, using: &random)
          altered[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
          damaged.append((altered, "byte \(index)"))
        }
        for (contents, place) in damaged {
          let url = try pages.copy("Damaged.journal")
          let file = URL(fileURLWithPath: url.path + base)
          try FileManager.default.removeItem(at: file)
          if let contents {
            try contents.write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
          }
          let diagnosis = try Journal<Logbook>.diagnose(url)
          #expect(!diagnosis.isSound, "\(place)")
          let finding = try #require(
            diagnosis.problems.first { $0.path?.hasSuffix(base) == true }, "\(place)")
          #expect(finding.advice.contains("BASE"), "\(place)")
          // Without layers, the state can't be computed, so the journal does not open.
          let error = #expect(throws: JournalError.self) { try Journal<Logbook>.open(at: url) }
          #expect(error?.code == .damaged && error?.path?.hasSuffix(base) == true, "\(place): \(error!)")
          // The base of a backup is the same.
          try? FileManager.default.removeItem(at: file)
          try FileManager.default.copyItem(atPath: backup.path + base, toPath: file.path)
          #expect(try Journal<Logbook>.diagnose(url).isSound, "\(place)")
          // Salvage takes the base from the backup.
          if place == "missing" {
            try FileManager.default.removeItem(at: file)
            let saved = URL(fileURLWithPath: "\(folder)/Saved.journal")
            let report = try Journal<Logbook>.salvage([url, backup], to: saved)
            #expect(report.isWhole)
            let journal = try Journal<Logbook>.open(at: saved)
            #expect(try journal.verify(.deep).isSound)
            try journal.close()
          }
        }
      }
    }

    @Test func aBackupKeepsWhatIsPrunedLaterAndSaysSo() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let pages = try Pages(in: folder, count: 2, &random)
        func url(_ name: String) -> URL { URL(fileURLWithPath: "\(folder)/\(name)") }
        func backup(_ name: String) throws -> BackupReport {
          let journal = try Journal<Logbook>.open(at: pages.url)
          defer { try? journal.close() }
          return try journal.backup(to: url(name))
        }
        let early = try Journal<Logbook>.open(at: pages.url)
        try early.copy(to: url("Early"), through: .revision(2))
        try early.close()
        #expect(try backup("Old").keepsPruned == nil)
        // A copy becomes a backup by its receipt.
        try FileManager.default.copyItem(
          at: url("Old").appending(path: "RECEIPT"), to: url("Early").appending(path: "RECEIPT"))
        let report = try Journal<Logbook>.prune(before: .revision(5), at: pages.url)
        #expect(try backup("Old").keepsPruned == 5)
        #expect(try backup("Old").entryCount == 0)
        let new = try backup("New")
        #expect(new.keepsPruned == nil && new.entryCount == report.head.revision - 5)
        let old = try Journal<Logbook>.open(at: url("Old"), mode: .readOnly)
        #expect(old.base == nil && old.head == report.head)
        #expect(try old.entry(at: 1).note == pages.turns[0].note)
        #expect(try old.verify(.deep).isSound)
        try old.close()
        // A backup that ends before the point of the pruning can't be updated.
        let error = #expect(throws: JournalError.self) { try backup("Early") }
        #expect(error?.code == .conflict && error?.message.contains("was pruned") == true)
        // An erasure also removes the page from the old backup, with all that was pruned.
        try Journal<Logbook>.erase([.page(2)], at: pages.url, reason: "by law")
        let rebuilt = try backup("Old")
        #expect(rebuilt.isRebuilt && rebuilt.keepsPruned == nil)
        let found = try allBytes(of: url("Old"))
        for word in pages.words[2]! { #expect(found.range(of: Data(word.utf8)) == nil) }
        let again = try Journal<Logbook>.open(at: url("Old"))
        #expect(again.base?.revision == 5)
        #expect(try again.verify(.deep).problems.map(\.description) == [])
        try again.close()
      }
    }

    /// Checks that layers begin with the base, and that every state that they back equals the replayed one.
    private func writeLayers(at url: URL, _ random: inout SeededGenerator) throws {
      var options = JournalOptions()
      options.layers = .many
      let journal = try Journal<Logbook>.open(at: url, options: options)
      for _ in 0..<12 {
        let page = Int.random(in: 100...105, using: &random)
        try journal.commit { try $0.write(page, "\($0.revision)") }
      }
      journal.waitForLayers()
      try journal.close()
      let again = try Journal<Logbook>.open(at: url, mode: .readOnly, options: options)
      #expect(try again.statistics().layerCount > 0)
      let start = try again.revision(at: .start)
      for revision in start...again.head.revision {
        let state = try again.state(asOf: .revision(revision))
        let replayed = try again.version(replayedTo: .revision(revision)).state
        #expect(StateDigest.digest(of: state) == StateDigest.digest(of: replayed))
      }
      #expect(try again.verify(.deep).problems.map(\.description) == [])
      try again.close()
    }

    private func prune(at url: URL, hook: @escaping FileHook) throws {
      _ = try Journal<Logbook>.prune(
        before: .head(back: 3), at: url, reason: "room", by: "eve", options: JournalOptions(fileHook: hook))
    }

    /// Whether the history before the last three entries was pruned. Checks that all of it is in the journal or none.
    private func isPruned(
      _ pages: Pages, _ original: Journal<Logbook>, at url: URL, _ place: String
    ) throws -> Bool {
      let look = try Journal<Logbook>.open(at: url, mode: .readOnly)
      let head = look.head
      try #require(try look.verify().isSound, "\(place)")
      try look.close()
      let journal = try Journal<Logbook>.open(at: url)
      #expect(journal.head == head, "\(place)")
      let base = journal.base
      let verification = try journal.verify(.deep)
      try #require(verification.isSound, "\(place): \(verification.problems)")
      try journal.close()
      let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
      #expect(Set(names) == ["FORMAT", "HEAD", "entries", "images", "snapshots"], "\(place)")
      let format = try String(contentsOfFile: url.path + "/FORMAT", encoding: .utf8)
      #expect(format.hasSuffix("must base 1\n") == (base != nil), "\(place)")
      if head == pages.head {
        #expect(base == nil, "\(place)")
        let found = try allBytes(of: url)
        for turn in pages.turns {
          #expect(found.range(of: Data(turn.note.utf8)) != nil, "\(place): \(turn.note) is gone")
        }
        return false
      }
      #expect(
        head.revision == pages.head.revision + 1 && base?.revision == pages.head.revision - 3, "\(place)")
      try check(pages, pages.head.revision - 3, original, at: url, place)
      return true
    }

    /// Searches the bytes of a pruned journal for content that must be there and for content that must not.
    private func check(
      _ pages: Pages, _ point: Revision, _ original: Journal<Logbook>, at url: URL, _ place: String
    ) throws {
      let found = try allBytes(of: url)
      func has(_ word: String) -> Bool { found.range(of: Data(word.utf8)) != nil }
      let state = try original.state(asOf: .revision(point))
      for (index, turn) in pages.turns.enumerated() {
        let revision = index + 1
        #expect(has(turn.note) == (revision > point), "\(place): \(turn.note)")
        let stays = revision > point || state.pages[turn.page]?.modified == revision
        #expect(has(turn.text) == stays, "\(place): \(turn.text)")
        if revision % 3 != 0 { #expect(has(turn.image) == stays, "\(place): \(turn.image)") }
      }
    }
  }
}
