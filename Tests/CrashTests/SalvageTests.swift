import Files
import Foundation
import JournalMaintenance
import Journaling
import LevelDB
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Damages journals at random, and compares the salvaged journals with the originals.
  @Suite struct SalvageTests {
    /// A journal of many small tables and a log, whose every entry is known.
    private struct Original {
      let url: URL
      let digests: [ContentDigest]

      init(in folder: String, _ random: inout SeededGenerator) throws {
        url = URL(fileURLWithPath: "\(folder)/Log.journal")
        var options = JournalOptions(layers: .manual)
        options.database.writeBufferByteCount = 64 << 10
        var digests: [ContentDigest] = []
        for opening in 0..<3 {
          let journal =
            try opening == 0
            ? Journal<Logbook>.create(at: url, options: options)
            : Journal<Logbook>.open(at: url, options: options)
          for turn in 1...Int.random(in: 20...60, using: &random) {
            let blob = turn % 10 == 0 ? try journal.blobs.add(Data("\(opening) \(turn)".utf8)) : nil
            // The text always differs from the page's own, because a commit without a change makes no entry.
            let text =
              "\(opening) \(turn) " + String(repeating: "x", count: .random(in: 1...4000, using: &random))
            try journal.commit(by: "ana", note: "\(opening) \(turn)") { draft in
              try draft.write(Int.random(in: 1...20, using: &random), text, blob: blob)
            }
            digests.append(journal.head.digest)
          }
          try journal.close()
        }
        self.digests = digests
      }

      func copy(_ name: String) throws -> URL {
        let copy = url.deletingLastPathComponent().appendingPathComponent(name)
        try? FileManager.default.removeItem(at: copy)
        try FileManager.default.copyItem(at: url, to: copy)
        return copy
      }
    }

    /// Damages one file of a journal, and returns a description of the damage.
    private func damage(_ url: URL, _ random: inout SeededGenerator, tablesOnly: Bool = false) throws
      -> String
    {
      let entries = url.appendingPathComponent("entries")
      let names = try FileManager.default.contentsOfDirectory(atPath: entries.path).sorted()
      let data = names.filter { $0.hasSuffix(".ldb") || $0.hasSuffix(".log") }
      let all =
        tablesOnly
        ? data
        : data + names.filter { $0.hasPrefix("MANIFEST") || $0 == "CURRENT" } + ["../HEAD", "../FORMAT"]
      let name = all.randomElement(using: &random)!
      let path = entries.appendingPathComponent(name).standardizedFileURL
      // Earlier damage may have removed the file.
      guard var bytes = try? Data(contentsOf: path) else { return "\(name) is gone already" }
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        try FileManager.default.removeItem(at: path)
        return "\(name) removed"
      case 1 where !bytes.isEmpty:
        let count = Int.random(in: 0..<bytes.count, using: &random)
        try bytes.prefix(count).write(to: path)
        return "\(name) cut to \(count)"
      case 2 where !bytes.isEmpty:
        let start = Int.random(in: 0..<bytes.count, using: &random)
        for index in start..<min(start + 600, bytes.count) { bytes[index] = 0 }
        try bytes.write(to: path)
        return "\(name) zeroed at \(start)"
      default:
        guard let index = bytes.indices.randomElement(using: &random) else { return "\(name) is empty" }
        bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        try bytes.write(to: path)
        return "\(name) flipped at \(index)"
      }
    }

    @Test func aSalvagedJournalIsAPrefixWithEveryEntryBeforeTheDamage() throws {
      var random = SeededGenerator()
      var (rounds, whole, cut, nothing) = (0, 0, 0, 0)
      for _ in 0..<Battery.size(4, long: 100) {
        try withFolderInMemory { folder in
          let original = try Original(in: folder, &random)
          for _ in 0..<25 {
            let damaged = try original.copy("Damaged.journal")
            var deeds: [String] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) { deeds.append(try damage(damaged, &random)) }
            let before = try contents(of: damaged)
            let target = URL(fileURLWithPath: "\(folder)/Saved.journal")
            try? FileManager.default.removeItem(at: target)
            let report: SalvageReport
            do {
              report = try Journal<Logbook>.salvage([damaged], to: target)
            } catch let error as JournalError {
              // Salvage fails only if the first entry is lost, or if nothing identifies the journal. Only the first
              // entry can contradict a FORMAT that names another model.
              let namesAnother = error.code == .otherModel && deeds.contains { $0.contains("FORMAT") }
              try #require(error.code == .damaged || namesAnother, "\(deeds): \(error)")
              #expect(!FileManager.default.fileExists(atPath: target.path))
              nothing += 1
              continue
            }
            try check(target, original, report, "\(deeds)")
            #expect(try contents(of: damaged) == before, "\(deeds)")
            rounds += 1
            if report.head.revision == original.digests.count { whole += 1 } else { cut += 1 }
            // Opening up to the damage gives the same entries.
            let journal = try Journal<Logbook>.openUpToDamage(at: damaged)
            #expect(journal.head == report.head, "\(deeds)")
            #expect((journal.health.damage == nil) == (report.end == nil), "\(deeds)")
            #expect(try journal.verify().entryCount == report.head.revision)
            try journal.close()
            // A journal that opens as usual has lost nothing, so salvage must not lose anything either.
            if let opened = try? Journal<Logbook>.open(at: damaged, mode: .readOnly) {
              if try opened.verify().isSound { #expect(report.head == opened.head, "\(deeds)") }
              try opened.close()
            }
            let diagnosis = try Journal<Logbook>.diagnose(damaged)
            #expect(diagnosis.checkedRevision == report.head.revision || diagnosis.opens, "\(deeds)")
            if report.end != nil { #expect(!diagnosis.isSound, "\(deeds)") }
          }
        }
      }
      print("salvage: \(rounds) saved, \(whole) whole, \(cut) up to the damage, \(nothing) beyond help")
      #expect(whole > 0)
      #expect(cut > 0)
    }

    @Test func salvageCombinesTwoCopiesThatAreDamagedInDifferentPlaces() throws {
      var random = SeededGenerator()
      var (better, whole) = (0, 0)
      for _ in 0..<Battery.size(3, long: 60) {
        try withFolderInMemory { folder in
          let original = try Original(in: folder, &random)
          for _ in 0..<20 {
            let copies = try ["A.journal", "B.journal"].map { try original.copy($0) }
            let deeds = try copies.map { try damage($0, &random, tablesOnly: true) }
            let alone = try copies.map { try saved([$0], original, "\(deeds)") }
            let together = try saved(copies, original, "\(deeds)")
            #expect(together >= max(alone[0], alone[1]), "\(deeds)")
            if together > max(alone[0], alone[1]) { better += 1 }
            if together == original.digests.count { whole += 1 }
          }
        }
      }
      print("salvage: of 2 copies \(whole) times the whole, \(better) times more than of either")
      #expect(whole > 0)
      #expect(better > 0)
    }

    /// A small journal has no tables.
    @Test func salvageReadsALogPastItsDamage() throws {
      try withFolderInMemory { folder in
        let url = URL(fileURLWithPath: "\(folder)/Log.journal")
        let journal = try Journal<Logbook>.create(at: url)
        for turn in 1...12 { try journal.commit(by: "author \(turn)") { try $0.write(turn, "text") } }
        let head = journal.head
        try journal.close()
        let copies = try [("A", "author 3"), ("B", "author 8")].map { name, author in
          let copy = url.deletingLastPathComponent().appendingPathComponent("\(name).journal")
          try FileManager.default.copyItem(at: url, to: copy)
          let entries = copy.appendingPathComponent("entries")
          let names = try FileManager.default.contentsOfDirectory(atPath: entries.path)
          let log = entries.appendingPathComponent(try #require(names.first { $0.hasSuffix(".log") }))
          var bytes = try Data(contentsOf: log)
          let place = try #require(bytes.range(of: Data(author.utf8)))
          bytes[place.lowerBound] ^= 1
          try bytes.write(to: log)
          return copy
        }
        let target = URL(fileURLWithPath: "\(folder)/Saved.journal")
        #expect(try Journal<Logbook>.salvage(copies, to: target).isWhole)
        let saved = try Journal<Logbook>.open(at: target)
        #expect(saved.head == head)
        try saved.close()
      }
    }

    @Test func salvageListsAnImageThatNoCopyHasAndKeepsItsEntry() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let original = try Original(in: folder, &random)
        let (first, second) = (try original.copy("A.journal"), try original.copy("B.journal"))
        let names = try FileManager.default.contentsOfDirectory(
          atPath: first.appendingPathComponent("images").path
        ).sorted()
        func image(_ url: URL, _ index: Int) -> URL { url.appendingPathComponent("images/\(names[index])") }
        // One image is missing from both copies, one from the first, and one is altered in the second.
        for url in [image(first, 0), image(second, 0), image(first, 1)] {
          try FileManager.default.removeItem(at: url)
        }
        try Data("x".utf8).write(to: image(second, 2))
        let target = URL(fileURLWithPath: "\(folder)/Saved.journal")
        let report = try Journal<Logbook>.salvage([first, second], to: target)
        #expect(report.missingImages.map(\.digest.hex) == [names[0]])
        #expect(report.end == nil)
        #expect(!report.isWhole)
        #expect(report.head.revision == original.digests.count)
        let journal = try Journal<Logbook>.open(at: target, mode: .readOnly)
        #expect(try journal.verify().problems.count == 1)
        try journal.close()
        let diagnosis = try Journal<Logbook>.diagnose(target)
        #expect(diagnosis.opens && !diagnosis.isSound)
        #expect(diagnosis.problems.first?.advice.contains("image") == true)
      }
    }

    @Test func anImageThatOneDriveCannotReadComesFromAnotherCopy() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let original = try Original(in: folder, &random)
        let (first, second) = (try original.copy("A.journal"), try original.copy("B.journal"))
        let name = try #require(
          try FileManager.default.contentsOfDirectory(atPath: first.appendingPathComponent("images").path)
            .min())
        let target = URL(fileURLWithPath: "\(folder)/Saved.journal")
        for (sources, isSaved) in [([first, second], true), ([first], false)] {
          try? FileManager.default.removeItem(at: target)
          var options = JournalOptions()
          options.readHook = { path, _ in path.hasSuffix("A.journal/images/\(name)") ? .fail(EIO) : .proceed }
          let report = try Journal<Logbook>.salvage(sources, to: target, options: options, progress: { _ in })
          #expect(report.isWhole == isSaved)
          #expect(report.missingImages.map(\.digest.hex) == (isSaved ? [] : [name]))
          #expect(report.head.revision == original.digests.count)
          #expect(report.problems.map(\.code) == [.io])
          #expect(report.problems.first?.path?.hasSuffix("A.journal/images/\(name)") == true)
          let journal = try Journal<Logbook>.open(at: target, mode: .readOnly)
          #expect(try journal.verify(.deep).isSound == isSaved)
          try journal.close()
        }
      }
    }

    /// Salvage used to go on with the first entry that followed, and to end where nothing followed from that.
    @Test func ofCopiesThatWereWrittenToTheOneThatReachesFurthestIsSalvaged() throws {
      try withFolderInMemory { folder in
        func url(_ name: String) -> URL { URL(fileURLWithPath: "\(folder)/\(name).journal") }
        func write(_ pages: ClosedRange<Int>, in name: String) throws -> Head {
          let journal = try Journal<Logbook>.open(at: url(name))
          defer { try? journal.close() }
          for page in pages { try journal.commit { try $0.write(page, "\(name) \(page)") } }
          return journal.head
        }
        try Journal<Logbook>.create(at: url("Original")).close()
        _ = try write(1...5, in: "Original")
        try FileManager.default.copyItem(at: url("Original"), to: url("Copy"))
        let newest = try write(6...12, in: "Original")
        let fork = try write(6...7, in: "Copy")
        #expect(fork.revision == 7)
        for (number, names) in [["Original", "Copy"], ["Copy", "Original"]].enumerated() {
          let report = try Journal<Logbook>.salvage(names.map(url), to: url("Saved\(number)"))
          #expect(report.head == newest && report.end == nil)
        }
      }
    }

    @Test func whatOneCopyHasErasedStaysErased() throws {
      try withFolderInMemory { folder in
        func url(_ name: String) -> URL { URL(fileURLWithPath: "\(folder)/\(name)") }
        let journal = try Journal<Logbook>.create(at: url("Erased"))
        for turn in 0..<100 {
          try journal.commit { try $0.write(1 + turn % 5, "\(turn) " + String(repeating: "x", count: 4000)) }
        }
        try journal.close()
        try FileManager.default.copyItem(at: url("Erased"), to: url("Old"))
        let report = try Journal<Logbook>.erase([.page(2)], at: url("Erased"), reason: "by law")
        func salvage(_ names: [String], _ name: String) throws -> Journal<Logbook> {
          _ = try Journal<Logbook>.salvage(names.map(url), to: url(name))
          return try Journal<Logbook>.open(at: url(name))
        }
        for (number, names) in [["Erased", "Old"], ["Old", "Erased"]].enumerated() {
          let saved = try salvage(names, "Saved\(number)")
          #expect(saved.head == report.head && saved.state.isErased(.page(2)))
          let verification = try saved.verify(.deep)
          #expect(verification.isSound && verification.erasedEventCount == report.eventCount)
          try saved.close()
        }
        // Where the erased copy has lost entries, the other one still has what they had.
        let entries = url("Erased").appending(path: "entries")
        let names = try FileManager.default.contentsOfDirectory(atPath: entries.path)
        let log = entries.appending(path: try #require(names.filter { $0.hasSuffix(".log") }.max()))
        try cutZerosAhead(ofLogsIn: entries)
        var bytes = try Data(contentsOf: log)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: log)
        let mixed = try salvage(["Erased", "Old"], "Mixed")
        #expect(mixed.head == report.head)
        let verification = try mixed.verify(.deep)
        #expect(verification.isSound && verification.erasedEventCount == report.eventCount)
        #expect(mixed.state.isErased(.page(2)))
        try mixed.close()
      }
    }

    /// A journal that was opened up to its damage showed an entry as the first of its files has it.
    @Test func aFileFromBeforeAnErasureShowsNothingUpToTheDamage() throws {
      try withFolderInMemory { folder in
        let url = URL(fileURLWithPath: "\(folder)/Erased")
        let entries = url.appending(path: "entries")
        let journal = try Journal<Logbook>.create(at: url)
        for page in 1...5 { try journal.commit { try $0.write(page, "page \(page)") } }
        try journal.close()
        func files() throws -> [String] {
          try FileManager.default.contentsOfDirectory(atPath: entries.path).filter {
            $0.hasSuffix(".log") || $0.hasSuffix(".ldb")
          }.sorted()
        }
        let old = try files().map { ($0.suffix(4), try Data(contentsOf: entries.appending(path: $0))) }
        try Journal<Logbook>.erase([.page(2)], at: url, reason: "by law")
        let last = try #require(files().last)
        let newest = try #require(Int(last.dropLast(4)))
        // With lower and with higher numbers than LevelDB's own files.
        for (index, (suffix, bytes)) in old.enumerated() {
          for number in [1 + index, newest + 1 + index] {
            let name = String(repeating: "0", count: 6 - "\(number)".count) + "\(number)\(suffix)"
            let file = entries.appending(path: name)
            #expect(!FileManager.default.fileExists(atPath: file.path))
            try bytes.write(to: file)
          }
        }
        func expectNothingOfIt() throws {
          let damaged = try Journal<Logbook>.openUpToDamage(at: url)
          #expect(damaged.head.revision == 6)
          #expect(damaged.state.isErased(.page(2)) && damaged.state.pages[3] != nil)
          var erasedCount = 0
          let cursor = damaged.entries()
          while let entry = try cursor.next() {
            for event in entry.events { if case .erased = event.change { erasedCount += 1 } }
          }
          #expect(erasedCount == 1)
          try damaged.close()
        }
        try expectNothingOfIt()
        // The old file is the only one with the entry.
        for name in try files() where name.hasSuffix(".ldb") {
          let file = entries.appending(path: name)
          if try !old.contains(where: { try $0.1 == Data(contentsOf: file) }) {
            try FileManager.default.removeItem(at: file)
          }
        }
        try expectNothingOfIt()
      }
    }

    /// Of two copies of one entry, the one with more erased parts was taken, and brought back those of the other.
    @Test func whatAnyCopyHasErasedOfOneEntryStaysErased() throws {
      try withFolderInMemory { folder in
        func url(_ name: String) -> URL { URL(fileURLWithPath: "\(folder)/\(name)") }
        let journal = try Journal<Logbook>.create(at: url("One"))
        try journal.commit { draft in for page in 1...5 { try draft.write(page, "page \(page)") } }
        try journal.close()
        try FileManager.default.copyItem(at: url("One"), to: url("Other"))
        // After the copies part, page 9 of one is not page 9 of the other.
        for (name, pages) in [("One", 9...12), ("Other", 9...9)] {
          let copy = try Journal<Logbook>.open(at: url(name))
          for page in pages { try copy.commit { try $0.write(page, "\(name) \(page)") } }
          try copy.close()
        }
        try Journal<Logbook>.erase([.page(2), .page(4)], at: url("One"), reason: "by law")
        try Journal<Logbook>.erase([.page(3), .page(9)], at: url("Other"), reason: "by law")
        for (number, names) in [["One", "Other"], ["Other", "One"]].enumerated() {
          _ = try Journal<Logbook>.salvage(names.map(url), to: url("Saved\(number)"))
          let saved = try Journal<Logbook>.open(at: url("Saved\(number)"), mode: .readOnly)
          let verification = try saved.verify(.deep)
          #expect(verification.isSound && verification.erasedEventCount == 3, "\(verification.problems)")
          #expect(saved.state.pages[9] != nil)
          try saved.close()
        }
      }
    }

    /// A writer would move entries to other files while salvage looks for them.
    @Test func duringASalvageNoSourceIsOpenedForWriting() throws {
      var random = SeededGenerator()
      try withFolderInMemory { folder in
        let original = try Original(in: folder, &random)
        var codes: [JournalError.Code?] = []
        _ = try Journal<Logbook>.salvage([original.url], to: URL(fileURLWithPath: "\(folder)/Saved")) { _ in
          let error = #expect(throws: JournalError.self) { try Journal<Logbook>.open(at: original.url) }
          codes.append(error?.code)
          try Journal<Logbook>.open(at: original.url, mode: .readOnly).close()
        }
        #expect(codes.contains(.locked) && codes.allSatisfy { $0 == .locked })
        try Journal<Logbook>.open(at: original.url).close()
      }
    }

    @Test func copiesOfDifferentJournalsAreNotMixed() throws {
      try withFolderInMemory { folder in
        let urls = try ["A", "B"].map { name in
          let url = URL(fileURLWithPath: "\(folder)/\(name).journal")
          let journal = try Journal<Logbook>.create(at: url)
          try journal.commit { try $0.write(1, name) }
          try journal.close()
          return url
        }
        let target = URL(fileURLWithPath: "\(folder)/Saved.journal")
        let error = #expect(throws: JournalError.self) { try Journal<Logbook>.salvage(urls, to: target) }
        #expect(error?.code == .wrongUse)
        #expect(!FileManager.default.fileExists(atPath: target.path))
      }
    }

    /// How many entries a salvage of the copies gives.
    private func saved(_ copies: [URL], _ original: Original, _ deeds: String) throws -> Int {
      let target = original.url.deletingLastPathComponent().appendingPathComponent("Saved.journal")
      try? FileManager.default.removeItem(at: target)
      do {
        let report = try Journal<Logbook>.salvage(copies, to: target)
        try check(target, original, report, deeds)
        return report.head.revision
      } catch let error as JournalError where error.code == .damaged {
        return 0
      }
    }

    private func check(_ url: URL, _ original: Original, _ report: SalvageReport, _ deeds: String) throws {
      let journal = try Journal<Logbook>.open(at: url)
      defer { try? journal.close() }
      let revision = journal.head.revision
      #expect(revision == report.head.revision, "\(deeds)")
      #expect(revision == 0 || journal.head.digest == original.digests[revision - 1], "\(deeds)")
      let verification = try journal.verify(.deep)
      try #require(verification.isSound, "\(deeds): \(verification.problems)")
      // Without HEAD, salvage can't know that there were more entries.
      let isKnown = report.acknowledgedRevision == original.digests.count
      if isKnown {
        #expect((report.end == nil) == (revision == original.digests.count), "\(deeds): \(report)")
      }
    }

    private func contents(of url: URL) throws -> [String: Data] {
      var contents: [String: Data] = [:]
      for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
        contents[name] = FileManager.default.contents(atPath: "\(url.path)/\(name)")
      }
      return contents
    }
  }
}
