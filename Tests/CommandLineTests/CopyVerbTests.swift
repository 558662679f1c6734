import CatalogModel
import Foundation
import TestSupport
import Testing

/// The verbs that make copies, and those for damaged journals.
@Suite struct CopyVerbTests {
  private func withFixedJournal(_ body: (_ path: String, _ folder: TemporaryFolder) throws -> Void) throws {
    try withTemporaryFolder { folder in try body(try makeFixedJournal(folder), folder) }
  }

  @Test func backupMakesAJournalAndBringsItUpToDate() throws {
    try withFixedJournal { path, folder in
      let backup = folder.path("Finds.backup")
      var result = try journal("backup", path, backup)
      #expect(result.code == 0)
      #expect(
        result.output.hasPrefix(
          "\(backup) has revision 3: 3 new entries, 1 new image, 1 of them shared\ndigest "))
      #expect(try journal("log", backup).output == (try journal("log", path).output))
      #expect(try journal("verify", backup, "--deep").code == 0)
      _ = try journal("restore", path, "item:2", "--at", "1", "--by", "eve")
      result = try journal("backup", path, backup, "--json")
      #expect(result.output.contains(#""revision":4,"#))
      #expect(result.output.contains(#""entries":1,"#))
      #expect(result.output.contains(#""copiedImages":0,"copiedImageByteCount":0,"sharedImages":0}"#))
      #expect(try journal("replay", backup, "--json") == (try journal("replay", path, "--json")))
      // The backup diverges from the journal.
      _ = try journal("undo", backup, "--by", "eve")
      result = try journal("backup", path, backup)
      #expect(result.code == 1)
      #expect(result.error.contains("1 entry more than the journal, from entry 5 on"))
      #expect(try journal("backup", path, path + "/images/x").code == 2)
      #expect(try journal("backup", path, folder.path("none/x")).code == 3)
    }
  }

  @Test func backupWorksWhileAnAppWrites() throws {
    try withFixedJournal { path, folder in
      let app = try CatalogJournal.open(at: URL(fileURLWithPath: path))
      for number in 0..<5 {
        try app.commit(by: "app") { try $0.updateItem(1, set: ["n": .integer(Int64(number))]) }
        let result = try journal("backup", path, folder.path("Finds.backup"))
        #expect(result.code == 0, "\(result.error)")
        #expect(result.output.contains("has revision \(4 + number)"))
      }
      for verb in [
        ["doctor", path], ["gc", path], ["erase", path, "item:1", "--reason", "x"],
        ["prune", path, "--before", "2"], ["undo", path],
      ] {
        #expect(try run(journalPath, verb).code == 3, "\(verb)")
      }
      try app.close()
      #expect(try journal("verify", folder.path("Finds.backup")).code == 0)
    }
  }

  @Test func afterAPruningEveryVerbSaysWhereHistoryBegins() throws {
    try withFixedJournal { path, folder in
      let backup = folder.path("Finds.backup")
      _ = try journal("backup", path, backup)
      let state = try journal("replay", path, "--json", "--at", "2").output
      #expect(try journal("prune", path).code == 2)
      let dry = try journal("prune", path, "--before", "2", "--dry-run", "--json").output
      #expect(dry.hasPrefix(#"{"dryRun":true,"base":2,"#) && dry.contains(#""entries":2,"#))
      #expect(dry.contains(#""images":0,"#) && dry.contains(#""revision":3,"#))
      #expect(try journal("log", path).output.contains("       1  "))
      let result = try journal("prune", path, "--before", "2", "--reason", "room", "--by", "eve")
      #expect(
        result.output.contains("history begins with the state of revision 2\nentry 4 records this; digest "))
      for point in ["2", "1", "2026-08-01"] {
        let again = try journal("prune", path, "--before", point)
        #expect(again.code == 0 && again.output.hasPrefix("nothing to prune"), "\(point) \(again)")
      }
      #expect(try journal("replay", path, "--json", "--at", "2").output == state)
      let log = try journal("log", path).output
      #expect(log.hasSuffix("history up to revision 2, of 2026-08-02 11:30:00, was pruned\n"), "\(log)")
      #expect(!log.contains("       2  ") && log.contains("room"))
      #expect(try !journal("log", path, "-n", "1").output.contains("was pruned"))
      for words in [
        ["show", "1"], ["show", "item:1@1"], ["diff", "1", "3"], ["replay", "--at", "2026-08-01"],
      ] {
        let gone = try journal([words[0], path] + words.dropFirst())
        #expect(gone.code == 1, "\(words)")
        #expect(gone.error.contains("history up to revision 2, of "), "\(words)")
      }
      #expect(try journal("history", path, "category:1").output.contains("history before this was pruned"))
      #expect(try journal("history", path, "category:1", "--stat").output.contains("(pruned before)"))
      let newestFirst = try journal("history", path, "item:1", "--json").output.split(separator: "\n")
      let oldestFirst = try journal("history", path, "item:1", "--json", "--reverse").output.split(
        separator: "\n")
      #expect(newestFirst.count > 1 && oldestFirst == newestFirst.reversed())
      #expect(oldestFirst.first?.contains(#""pruned":true"#) == true)
      #expect(try journal("history", path, "category:1", "--json").output.contains(#""pruned":true"#))
      #expect(try journal("blame", path, "category:1").output.contains("(history before this was pruned)"))
      #expect(try journal("blame", path, "category:1", "--json").output.contains(#""pruned":true"#))
      #expect(try journal("stat", path).output.contains("pruned        up to revision 2, of 2026-08-02"))
      #expect(try journal("stat", path, "--json").output.contains(#""base":2,"#))
      let verified = try journal("verify", path, "--deep").output
      #expect(
        verified.contains("history up to revision 2 was pruned; the state that it begins with is proven"))
      #expect(try journal("verify", path, "--json").output.contains(#""base":2,"baseProven":true"#))
      #expect(try journal("bisect", path, "item:1").output.contains("from the beginning"))
      #expect(try journal("doctor", path).code == 0)
      try check("backup", path, backup, says: "was pruned in the journal, and the backup keeps it")
      #expect(try journal("show", backup, "1").code == 0)
      let new = folder.path("New.backup")
      #expect(try journal("backup", path, new).error == "")
      #expect(try journal("show", new, "1").code == 1)
    }
  }

  /// One tag or snapshot whose entry was pruned made the lists fail, and so did `log --follow -n` with a larger number.
  @Test func tagsAndSnapshotsWhoseEntriesWerePrunedAreListed() throws {
    try withFixedJournal { path, _ in
      #expect(try journal("tag", path, "early", "3", "--by", "ana").code == 0)
      #expect(try journal("prune", path, "--before", "4").code == 0)
      #expect(try journal("snapshot", path, "take", "--at", "4").code == 0)
      #expect(try journal("tag", path, "late", "5", "--by", "ben").code == 0)
      let tags = try journal("tag", path)
      #expect(tags.output.contains("early         3  ") && tags.output.contains("ben"), "\(tags)")
      #expect(tags.output.contains("(history before this was pruned)"))
      let json = try journal("tag", path, "--json").output
      let early = #"{"name":"early","revision":3,"date":null,"author":null,"note":null}"#
      #expect(json.hasPrefix(early), "\(json)")
      let snapshots = try check("snapshot", path, "list")
      #expect(snapshots.output.contains(/\ 4  2[0-9: -]+ +[0-9]+  [0-9,]+  whole/), "\(snapshots)")
      let followed = try run(
        "bash", ["-c", "timeout 60 \"$0\" log \"$1\" --follow -n 100 --json | head -n 2", journalPath, path])
      #expect(String(decoding: followed.output, as: UTF8.self).hasPrefix("{\"revision\":5,"))
    }
  }

  /// The entry of the pruning comes after those that were kept, and only it has the digest of the state before them.
  @Test func theBeginningOfADamagedPrunedJournalIsSalvagedButNotProven() throws {
    try withFixedJournal { path, folder in
      #expect(try journal("prune", path, "--before", "2").code == 0)
      try cutZerosAhead(ofLogsIn: URL(fileURLWithPath: "\(path)/entries"))
      let logs = try FileManager.default.contentsOfDirectory(atPath: "\(path)/entries")
        .filter { $0.hasSuffix(".log") }
      for name in logs {
        let file = URL(fileURLWithPath: "\(path)/entries/\(name)")
        try Data(contentsOf: file).dropLast(5).write(to: file)
      }
      let saved = folder.path("Saved.journal")
      let salvaged = try check("salvage", path, "--to", saved, code: 1, prints: "missing: ")
      #expect(
        salvaged.output.contains("not proven: history was pruned and begins with the state of revision 2"),
        "\(salvaged)")
      let json = try journal("salvage", path, "--to", folder.path("Again.journal"), "--json").output
      #expect(json.contains(#""revision":3,"#) && json.contains(#""base":2,"baseProven":false"#), "\(json)")
      try check(
        "verify", saved, "--deep", prints: "no entry here has the digest of the state that it begins with")
      #expect(try journal("show", saved, "item:1").code == 0)
    }
  }

  @Test func aPrunedJournalWithoutFormatIsSalvagedWhole() throws {
    try withFixedJournal { path, folder in
      #expect(try journal("prune", path, "--before", "2").code == 0)
      func said(_ path: String) throws -> [String] {
        try ["log", "replay"].map { try journal($0, path, "--json").output }
      }
      let before = try said(path)
      try FileManager.default.removeItem(atPath: "\(path)/FORMAT")
      let saved = folder.path("Saved.journal")
      let salvaged = try journal("salvage", path, "--to", saved)
      #expect(salvaged.code == 0 && !salvaged.output.contains("not proven"), "\(salvaged)")
      #expect(try said(saved) == before)
      #expect(try journal("verify", saved, "--deep").code == 0)
    }
  }

  @Test func aBackupGoesThroughAPipe() throws {
    try withFixedJournal { path, folder in
      let file = try run(journalPath, ["backup", path, "-", "--file"])
      #expect(file.code == 0)
      #expect(file.output.starts(with: Data("JRNLBKUP".utf8)))
      let copy = folder.path("Again.journal")
      let back = try run(journalPath, ["init", copy, "--from-backup", "-"], input: file.output)
      #expect(back.code == 0)
      #expect(
        String(decoding: back.output, as: UTF8.self).hasPrefix("created \(copy) with revision 3\ndigest "))
      #expect(try journal("log", copy, "--json").output == (try journal("log", path, "--json").output))
      #expect(try journal("cat", copy, "image:1").output == "hello")
      // A pipe that was cut makes no journal.
      let cut = try run(
        journalPath, ["init", folder.path("Cut.journal"), "--from-backup", "-"],
        input: file.output.dropLast(30))
      #expect(cut.code == 3)
      #expect(String(decoding: cut.error, as: UTF8.self).contains("cut short"))
      #expect(!FileManager.default.fileExists(atPath: folder.path("Cut.journal")))
      let name = folder.path("Finds.jbak")
      #expect(try journal("backup", path, name, "--file").code == 0)
      #expect(try journal("backup", path, name, "--file").code == 0)
      let third = folder.path("Third.journal")
      let created = #"{"path":"\#(third)","journal":"<id>","revision":3,"digest":"<digest>"}"#
      #expect(
        try journal("init", third, "--from-backup", name, "--json").output.withoutChance
          == created.withoutChance + "\n")
      #expect(try journal("init", folder.path("Fourth.journal"), "--from-backup", path + "/FORMAT").code == 3)
    }
  }

  /// It replaced any file that began as a backup does.
  @Test func aBackupFileIsNotReplacedByOneOfAnotherJournalOrAnOlderCopy() throws {
    try withFixedJournal { path, folder in
      let file = folder.path("Finds.jbak")
      #expect(try journal("backup", path, file, "--file").code == 0)
      let bytes = try Data(contentsOf: URL(filePath: file))
      let other = folder.path("Other.journal")
      #expect(try journal("init", other).code == 0)
      var result = try journal("backup", other, file, "--file")
      #expect(result.code == 3 && result.error.contains("a backup of another journal, "), "\(result)")
      let older = folder.path("Older.journal")
      #expect(try journal("replay", path, "--at", "1", "--to", older).code == 0)
      result = try journal("backup", older, file, "--file")
      #expect(result.code == 1 && result.error.contains("2 entries more than the journal"), "\(result)")
      #expect(try Data(contentsOf: URL(filePath: file)) == bytes)
    }
  }

  /// It said that the backup was up to date, although verify said that it was not sound.
  /// The help of prune used to say that backups keep what they have.
  @Test func afterAPruningABackupFileIsReplacedAsAWholeAndThatIsSaid() throws {
    try withFixedJournal { path, folder in
      let (whole, file) = (folder.path("Whole.backup"), folder.path("Finds.jbak"))
      for _ in 1...2 {
        #expect(try journal("backup", path, whole).code == 0)
        #expect(try journal("backup", path, file, "--file").code == 0)
        #expect(try journal("prune", path, "--before", "2").code == 0)
      }
      #expect(try journal("show", whole, "item:1@1").code == 0)
      let restored = folder.path("Restored.journal")
      #expect(try journal("init", restored, "--from-backup", file).code == 0)
      let shown = try journal("show", restored, "item:1@1")
      #expect(shown.code != 0 && shown.error.contains("was pruned"), "\(shown)")
      let help = try journal("help", "prune").output.split(whereSeparator: \.isWhitespace).joined(
        separator: " ")
      #expect(help.contains("A backup in a folder keeps the history that it has."))
      #expect(help.contains("replaces it as a whole, and begins where the journal does."))
    }
  }

  @Test func anImageThatABackupHasLostIsCopiedAgain() throws {
    try withFixedJournal { path, folder in
      let backup = folder.path("Finds.backup")
      #expect(try journal("backup", path, backup, "--copy-images").code == 0)
      let images = "\(backup)/images"
      for name in try FileManager.default.contentsOfDirectory(atPath: images) {
        try FileManager.default.removeItem(atPath: "\(images)/\(name)")
      }
      #expect(try journal("verify", backup).code == 1)
      try check("backup", path, backup, says: "the backup had lost 1 image")
      #expect(try journal("verify", backup).code == 0)
      #expect(try journal("backup", path, backup).error == "")
    }
  }

  /// The error named only the hash of the image, and no way to back up the rest.
  @Test func aLostImageIsNamedAndAfterItsErasureTheRestIsBackedUp() throws {
    try withFixedJournal { path, folder in
      let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
      try FileManager.default.removeItem(atPath: "\(path)/images/\(hash)")
      for words in [
        ["backup", path, folder.path("Finds.backup")], ["backup", path, folder.path("Finds.jbak"), "--file"],
        ["replay", path, "--at", "3", "--to", folder.path("Fork.journal")],
        ["replay", path, "--at", "3", "--no-history", "--to", folder.path("State.journal")],
      ] {
        let result = try journal(words)
        #expect(
          result.code == 3 && result.error.contains("or erase image:1, so that the rest"),
          "\(words) \(result.error)")
      }
      #expect(try journal("erase", path, "image:1", "--reason", "lost").code == 0)
      #expect(try journal("backup", path, folder.path("Finds.backup")).code == 0)
      #expect(try journal("verify", folder.path("Finds.backup")).code == 0)
    }
  }

  /// It made an empty journal with the same identity, which took commits.
  @Test func aJournalWhoseLogIsGoneIsNotSalvagedAsAnEmptyOne() throws {
    try withFixedJournal { path, folder in
      let entries = "\(path)/entries"
      for name in try FileManager.default.contentsOfDirectory(atPath: entries)
      where name.hasSuffix(".log") || name.hasSuffix(".ldb") {
        try FileManager.default.removeItem(atPath: "\(entries)/\(name)")
      }
      let saved = folder.path("Saved.journal")
      for isHeadGone in [false, true] {
        if isHeadGone { try FileManager.default.removeItem(atPath: "\(path)/HEAD") }
        try check("salvage", path, "--to", saved, code: 3, says: "not even the first entry")
        #expect(!FileManager.default.fileExists(atPath: saved))
      }
      let empty = folder.path("Empty.journal")
      #expect(try journal("init", empty).code == 0)
      #expect(try journal("salvage", empty, "--to", saved).code == 0)
    }
  }

  /// Salvage said "has 3 entries of 1 that were acknowledged".
  @Test func salvageNeverHasMoreEntriesThanItCounts() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      #expect(try journal("init", path).code == 0)
      let events = Data(#"[{"operation":"add","changes":{"kind":"book"}}]"#.utf8)
      var heads: [Data] = []
      for _ in 1...3 {
        #expect(try run(journalPath, ["commit", path], input: events).code == 0)
        heads.append(try Data(contentsOf: URL(filePath: path + "/HEAD")))
      }
      let copy = folder.path("Copy.journal")
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      func salvaged(_ name: String, _ sources: String...) throws -> String {
        let result = try journal(["salvage"] + sources + ["--to", folder.path(name)])
        return result.output.components(separatedBy: "\n")[0]
      }
      #expect(
        try salvaged("A.journal", path).hasSuffix("A.journal has 3 entries of 3 that were acknowledged"))
      try heads[0].write(to: URL(filePath: path + "/HEAD"))
      #expect(try salvaged("B.journal", path).hasSuffix("has 3 entries, 1 or more of them acknowledged"))
      #expect(try salvaged("C.journal", path, copy).hasSuffix("has 3 entries of 3 that were acknowledged"))
      // Of a pruned history, the entries before its base do not count.
      #expect(try journal("prune", copy, "--before", "2").code == 0)
      #expect(try salvaged("D.journal", copy).hasSuffix("has 2 entries of 2 that were acknowledged"))
    }
  }

  /// The entries of one copy used to be left out without a word, with exit code 0.
  @Test func salvageNamesACopyThatHasAnotherHistory() throws {
    try withTemporaryFolder { folder in
      let paths = ["One.journal", "Two.journal"].map { folder.path($0) }
      func add(_ path: String, _ kind: String) throws {
        let event = #"[{"operation":"add","changes":{"kind":"\#(kind)"}}]"#
        #expect(try run(journalPath, ["commit", path], input: Data(event.utf8)).code == 0)
      }
      #expect(try journal("init", paths[0]).code == 0)
      try add(paths[0], "base")
      try FileManager.default.copyItem(atPath: paths[0], toPath: paths[1])
      let same = try journal("salvage", paths[0], paths[1], "--to", folder.path("Same.journal"))
      #expect(same.code == 0 && !same.output.contains("missing"), "\(same)")
      try add(paths[0], "one")
      try add(paths[1], "two")
      let saved = folder.path("Saved.journal")
      let result = try journal("salvage", paths[0], paths[1], "--to", saved)
      #expect(
        result.code == 1 && result.output.contains("missing: this copy has another history"), "\(result)")
      // It is the one whose entry is not in the new journal.
      let hasOne = try journal("log", saved, "--touched", "@kind", "--patch").output.contains("one")
      #expect(result.output.contains(hasOne ? "Two.journal" : "One.journal"), "\(result)")
    }
  }

  /// Nothing is left to compare the older copy's newest entry with.
  @Test func salvageTakesACopyFromBeforeAPruning() throws {
    try withFixedJournal { path, folder in
      let copy = folder.path("Old.journal")
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      for _ in 1...3 {
        let event = Data(#"[{"operation":"add","changes":{"kind":"late"}}]"#.utf8)
        #expect(try run(journalPath, ["commit", path], input: event).code == 0)
      }
      #expect(try journal("prune", path, "--before", "HEAD").code == 0)
      let result = try journal("salvage", path, copy, "--to", folder.path("Saved.journal"))
      #expect(result.code == 0 || result.code == 1, "\(result)")
      #expect(try journal("verify", folder.path("Saved.journal")).code == 0)
    }
  }

  /// The list used to say that there are no snapshots, with exit code 0.
  @Test func aSnapshotWhoseRecordIsAlteredCountsAsAProblem() throws {
    try withFixedJournal { path, _ in
      #expect(try journal("snapshot", path, "take").code == 0)
      let folder = URL(filePath: path).appending(path: "snapshots")
      let record = try #require(
        try FileManager.default.contentsOfDirectory(atPath: folder.path).first {
          $0.hasSuffix(".record") && !$0.contains("-")
        })
      let handle = try FileHandle(forWritingTo: folder.appending(path: record))
      try handle.seekToEnd()
      try handle.write(contentsOf: Data("xx".utf8))
      try handle.close()
      let list = try journal("snapshot", path, "list")
      #expect(list.code == 1 && !list.output.contains("there are no snapshots"), "\(list)")
      #expect(list.error.contains("1 snapshot can't be used"), "\(list)")
    }
  }

  /// The records of a backup in one file.
  private struct BackupRecords {
    struct Record {
      let kind: UInt8
      var byteCount: UInt64
      var content: Data
    }

    let start: Data
    var records: [Record] = []

    init(_ bytes: Data) {
      start = bytes.prefix(9)
      var rest = bytes.dropFirst(9)
      while let kind = rest.popFirst() {
        let byteCount = rest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        records.append(Record(kind: kind, byteCount: byteCount, content: rest.prefix(Int(byteCount))))
        rest = rest.dropFirst(Int(byteCount))
      }
    }

    var bytes: Data {
      records.reduce(into: start) { bytes, record in
        bytes.append(record.kind)
        for shift in stride(from: 56, through: 0, by: -8) {
          bytes.append(UInt8(truncatingIfNeeded: record.byteCount >> UInt64(shift)))
        }
        bytes.append(record.content)
      }
    }

    /// The index of the first record of a kind.
    func index(_ kind: Character) -> Int? { records.firstIndex { $0.kind == kind.asciiValue } }
  }

  private func expectRefused(
    _ backup: BackupRecords, _ words: String, in folder: TemporaryFolder,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let copy = folder.path("Forged.journal")
    let result = try run(journalPath, ["init", copy, "--from-backup", "-"], input: backup.bytes)
    let error = String(decoding: result.error, as: UTF8.self)
    #expect(result.code == 3 && error.contains(words), "\(result.code) \(error)", sourceLocation: location)
    #expect(!FileManager.default.fileExists(atPath: copy), sourceLocation: location)
  }

  @Test func aBackupFileWithoutAnImageOrWithItAfterItsEntryIsRefused() throws {
    try withFixedJournal { path, folder in
      for isPruned in [false, true] {
        // After the pruning, only the base names the image.
        if isPruned { #expect(try journal("prune", path, "--before", "3").code == 0) }
        let whole = BackupRecords(try run(journalPath, ["backup", path, "-", "--file"]).output)
        let image = try #require(whole.index("B"))
        var forged = whole
        let record = forged.records.remove(at: image)
        try expectRefused(forged, "it lacks an image", in: folder)
        forged.records.insert(record, at: forged.records.count - 1)
        try expectRefused(forged, "it lacks an image", in: folder)
        let back = try run(
          journalPath, ["init", folder.path("\(isPruned).journal"), "--from-backup", "-"], input: whole.bytes)
        #expect(back.code == 0)
        #expect(try journal("verify", folder.path("\(isPruned).journal"), "--deep").code == 0)
      }
    }
  }

  @Test func numbersInABackupFileThatAreTooLargeAreRefused() throws {
    try withFixedJournal { path, folder in
      #expect(try journal("prune", path, "--before", "2").code == 0)
      let whole = BackupRecords(try run(journalPath, ["backup", path, "-", "--file"]).output)
      for kind in ["B", "S"] as [Character] {
        var forged = whole
        forged.records[try #require(whole.index(kind))].byteCount = UInt64(Int.max)
        try expectRefused(forged, "must be free, including a reserve of 1048576", in: folder)
      }
      var forged = whole
      let index = try #require(whole.index("S"))
      var base = whole.records[index].content
      base.replaceSubrange(
        try #require(base.range(of: Data("\nrevision 2\n".utf8))), with: Data("\nrevision \(Int.max)\n".utf8))
      let seal = try #require(base.range(of: Data("sha256 ".utf8))).lowerBound
      let digest = SHA256Hash.digest(Array(base[base.startIndex..<seal])).hex
      base.replaceSubrange(seal + 7..<seal + 71, with: Data(digest.utf8))
      forged.records[index].content = base
      forged.records[index].byteCount = UInt64(base.count)
      try expectRefused(forged, "the base of its history is altered", in: folder)
    }
  }

  @Test func doctorSaysWhatIsWrongAndChangesNothing() throws {
    try withFixedJournal { path, folder in
      #expect(try journal("doctor", path).output == "all is well up to entry 3\n")
      let image = path + "/images/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
      try Data("hellx".utf8).write(to: URL(filePath: image))
      var result = try journal("doctor", path)
      #expect(result.code == 1)
      #expect(
        result.output == """
          damage: the bytes of an image are altered; restore the file from a backup (\(image))
              Restore the file from a backup, or add the same image again. Without its bytes, erase the image: a journal that lacks one can't be backed up.
          the journal opens

          """)
      try Data("hello".utf8).write(to: URL(filePath: image))
      try FileManager.default.removeItem(atPath: path + "/HEAD")
      result = try journal("doctor", path)
      #expect(result.code == 1)
      #expect(result.output.contains("HEAD is missing"))
      #expect(result.output.hasSuffix("the journal does not open; 3 of 3 entries are proven\n"))
      let saved = folder.path("Saved.journal")
      result = try journal("salvage", path, "--to", saved)
      #expect(result.code == 1)
      // All entries are in the new journal, but without HEAD that is not known.
      let unknown =
        "not proven: later entries may be missing, because HEAD can't be read and nothing else shows which one was the "
        + "newest"
      let problem = "can't open the file: it does not exist (\(path)/HEAD)"
      #expect(
        result.output.hasPrefix("\(saved) has 3 entries\n\(unknown)\nproblem: \(problem)\ndigest "),
        "\(result)")
      let again = try journal("salvage", path, "--to", folder.path("Again.journal"), "--json").output
      #expect(
        again.contains(#""problems":[{"message":"can't open the file: it does not exist","revision":null,"#))
      #expect(try journal("verify", saved).code == 0)
      #expect(try journal("doctor", path, "--json").output.contains(#""opens":false,"provenRevision":3"#))
      #expect(try journal("salvage", path).code == 2)
      #expect(try journal("salvage", path, "--to", saved).code == 3)
      #expect(try journal("doctor", folder.path("none")).code == 3)
    }
  }

  @Test func doctorNamesForeignFiles() throws {
    try withFixedJournal { path, _ in
      try Data("x".utf8).write(to: URL(filePath: path + "/notes.txt"))
      let result = try check("doctor", path)
      #expect(result.output.contains("notes.txt"))
      #expect(result.output.hasSuffix("all is well up to entry 3\n"))
    }
  }

  @Test func gcRemovesWhatNoEntryNames() throws {
    try withFixedJournal { path, _ in
      #expect(try journal("gc", path).output == "removed 0 images of 0 bytes\n")
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: path))
      _ = try opened.blobs.add(Data("never named".utf8))
      // An image that only a deleted entity names stays.
      try opened.commit { try $0.deleteImage(1) }
      try opened.close()
      #expect(try journal("doctor", path).output.contains("note: no entry names an image of 11 bytes"))
      #expect(try journal("doctor", path).code == 0)
      #expect(try journal("gc", path, "--dry-run").output == "would remove 1 image of 11 bytes\n")
      #expect(
        try journal("gc", path, "--dry-run", "--json").output
          == #"{"dryRun":true,"images":1,"imageByteCount":11}"# + "\n")
      #expect(try journal("gc", path).output == "removed 1 image of 11 bytes\n")
      #expect(try journal("gc", path).output == "removed 0 images of 0 bytes\n")
      #expect(try journal("cat", path, "image:1@3").output == "hello")
      #expect(try journal("verify", path).code == 0)
    }
  }

  @Test func eraseReportsInJSONWhatItErased() throws {
    try withFixedJournal { path, _ in
      let reason = ["--reason", "by law", "--by", "eve", "--notes", "--json"]
      func erase(_ entity: String) throws -> String {
        let result = try journal(["erase", path, entity] + reason)
        #expect(result.code == 0)
        return result.output.withoutChance
      }
      let end = #""revision":4,"digest":"<digest>"}"# + "\n"
      let (first, second) = (try erase("item:1"), try erase("item:1"))
      #expect(first == #"{"entities":["item:1","image:1"],"events":4,"images":1,"annotations":3,"# + end)
      #expect(second == #"{"entities":["item:1"],"events":0,"images":0,"annotations":0,"# + end)
    }
  }

  @Test func eraseRemovesEveryByteOfAnItemsHistory() throws {
    try withFixedJournal { path, folder in
      let words: Set = ["blue cup", "hello", "cup.png", "first find", "a photo", "no place"]
      func found(in place: String) throws -> Set<String> {
        var found: Set<String> = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: place) {
          let bytes = FileManager.default.contents(atPath: "\(place)/\(name)") ?? Data()
          found.formUnion(words.filter { bytes.range(of: Data($0.utf8)) != nil })
        }
        return found
      }
      let backup = folder.path("Finds.backup")
      #expect(try journal("backup", path, backup).code == 0)
      for place in [path, backup] { #expect(try found(in: place) == words) }
      let digest = try journal("log", path, "-n1", "--json").output
      #expect(try journal("erase", path, "item:1").code == 2)
      #expect(try journal("erase", path, "item:9", "--reason", "x").code == 1)
      var result = try journal("erase", path, "item:1", "--reason", "by law", "--by", "eve", "--notes")
      #expect(result.code == 0)
      #expect(
        result.output.hasPrefix(
          "erased item:1, image:1: 4 events, 1 image, the annotations of 3 entries\nentry 4 records this; digest "
        ))
      for place in [path, backup] {
        if place == backup {
          try check("backup", path, backup, says: "the journal had an erasure, so the backup was rewritten")
          #expect(try journal("backup", path, backup).error == "")
        }
        #expect(try found(in: place) == [])
        #expect(try journal("verify", place, "--deep").code == 0)
        #expect(try journal("doctor", place).code == 0)
      }
      result = try journal("show", path, "item:1")
      #expect(result.code == 1)
      #expect(result.error.contains("entry 4 erased it, by eve: by law"))
      let log = try journal("log", path)
      #expect(log.output.contains("eve"))
      #expect(log.output.contains("by law"))
      #expect(try journal("show", path, "4").output.contains("journal.erases = item:1 image:1"))
      // The digests of the entries are the same as before the erasure.
      let sealed = try #require(digest.firstMatch(of: /"digest":"([0-9a-f]{64})"/)?.1)
      #expect(try journal("show", path, "3", "--json").output.contains(sealed))
      #expect(try journal("undo", path, "--by", "eve").code != 3)
    }
  }
}
