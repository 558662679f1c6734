import CatalogModel
import Foundation
import TestSupport
import Testing

/// Commands as a newcomer types them: with a wrong place, swapped arguments, or for something that is no journal.
@Suite struct MistakenCommandTests {
  // MARK: Places

  /// The journal around them did not open any more.
  @Test func nothingIsMadeInsideAJournal() throws {
    try withFixedJournal { path, folder in
      let other = folder.path("Other.journal")
      let file = folder.path("Other.jbak")
      #expect(try journal("init", other).code == 0)
      #expect(try journal("backup", other, file, "--file").code == 0)
      for words in [
        ["init", "\(path)/sub"], ["replay", path, "--to", "\(path)/sub"], ["backup", other, "\(path)/sub"],
        ["backup", other, "\(path)/sub", "--file"], ["salvage", path, "--to", "\(path)/images/sub"],
        ["init", "\(path)/images/sub", "--from-backup", file],
      ] {
        let result = try journal(words)
        #expect(result.code == 2, "\(words): \(result.error)")
        #expect(result.error.contains("\"sub\" would be inside the journal "), "\(words): \(result.error)")
      }
      try check(
        "log", path, "--shared-images", "\(path)/images", code: 2, says: "would be inside the journal ")
      #expect(try journal("log", path).code == 0)
      try FileManager.default.createDirectory(atPath: "\(path)/sub", withIntermediateDirectories: false)
      let opened = try check("log", path, says: "this folder is ignored")
      #expect(opened.error.split(separator: "\n").count == 1, "\(opened)")
    }
  }

  @Test func aPlaceThatIsNoJournalIsNamedWithAWayOut() throws {
    try withFixedJournal { path, folder in
      let none = folder.path("None.journal")
      for verb in ["log", "doctor"] {
        #expect(
          try journal(verb, none)
            == Outcome(code: 3, output: "", error: "journal: there is no journal at \(none)\n"))
      }
      let file = folder.path("Finds.jbak")
      #expect(try journal("backup", path, file, "--file").code == 0)
      for words in [["log", file], ["salvage", file, "--to", none]] {
        let result = try journal(words)
        #expect(result.error.contains("init --from-backup"), "\(words)")
      }
      try check("init", "/", code: 3, says: "something is already there")
    }
  }

  /// A journal was written to as if it were its own backup.
  @Test func aJournalIsNotTakenForABackup() throws {
    try withFixedJournal { path, folder in
      let copy = folder.path("Copy.journal")
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      #expect(try journal("tag", copy, "wrong").code == 0)
      try check("backup", copy, path, code: 3, says: "swap the two")
      #expect(!FileManager.default.fileExists(atPath: "\(path)/RECEIPT"))
      let unchanged = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
      #expect(unchanged.head.revision == 3)
      try unchanged.close()
      try check("backup", path, "-", code: 2, says: "needs --file")
    }
  }

  @Test func doctorDoesNotCallWhatAnotherProgramWroteDamage() throws {
    try withFixedJournal { path, folder in
      let empty = folder.path("Empty")
      try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
      let foreign = try journal("doctor", empty)
      #expect(foreign.code == 3 && foreign.output.isEmpty)
      #expect(foreign.error.contains("this is not a journal"), "\(foreign)")
      let file = URL(filePath: "\(path)/FORMAT")
      let format = try String(contentsOf: file, encoding: .utf8)
      for (old, new, advice) in [
        ("journal 2 ", "journal 99 ", "Use a newer version"),
        ("model catalog ", "model notebook ", "Use the app that wrote it"),
      ] {
        try Data(format.replacing(old, with: new).utf8).write(to: file)
        let result = try journal("doctor", path)
        #expect(result.code == 1 && result.output.hasPrefix("note: "), "\(result)")
        #expect(result.output.contains(advice) && !result.output.contains("damage: "), "\(result)")
      }
    }
  }

  // MARK: Results

  /// It said that acknowledged entries were missing, and to restore a backup.
  @Test func aFollowerOfAPrunedJournalSaysOnlyToOpenItAgain() throws {
    try withFixedJournal { path, folder in
      let files = try ["output", "error"].map { name in
        let file = folder.url.appending(path: name)
        try Data().write(to: file)
        return file
      }
      let process = Process()
      process.executableURL = URL(filePath: journalPath)
      process.arguments = ["log", path, "--follow", "--since", "0"]
      process.standardOutput = try FileHandle(forWritingTo: files[0])
      process.standardError = try FileHandle(forWritingTo: files[1])
      try process.run()
      let end = Date() + 60
      while try Data(contentsOf: files[0]).isEmpty, Date() < end { usleep(10_000) }
      #expect(try journal("prune", path, "--before", "2").code == 0)
      while process.isRunning, Date() < end { usleep(10_000) }
      // Tests may run on threads that block other signals, which the process inherits.
      if process.isRunning { kill(process.processIdentifier, SIGKILL) }
      process.waitUntilExit()
      #expect(process.terminationStatus == 3)
      let error = try String(contentsOf: files[1], encoding: .utf8)
      #expect(error.contains("since the journal was opened; open it again"), "\(error)")
      #expect(!error.contains("acknowledged") && !error.contains("backup"), "\(error)")
    }
  }

  @Test func aJournalOfOneStateSaysThatItHasOneEntry() throws {
    try withFixedJournal { path, folder in
      let copy = folder.path("Copy.journal")
      let result = try journal("replay", path, "--at", "2", "--to", copy, "--no-history")
      #expect(result.output == "created \(copy) with the state of revision 2, as its entry 1\n")
      let json = try journal("replay", path, "--at", "2", "--to", copy + "2", "--no-history", "--json").output
      #expect(json.contains(#""revision":1"#), "\(json)")
    }
  }

  /// They had the newest names, unlike `history` and `show`.
  @Test func logNamesEntitiesAsTheyWereNamedThen() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("People.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      try made.commit { _ = try $0.addItem(kind: "person", attributes: ["name": "Good"]) }
      for age in 1...3 { try made.commit { try $0.updateItem(1, set: ["age": .integer(Int64(age))]) } }
      try made.commit { try $0.updateItem(1, set: ["name": "Evil"]) }
      try made.commit { try $0.updateItem(1, set: ["age": 4]) }
      try made.commit { try $0.deleteItem(1) }
      try made.close()
      let names = ["Good", "Good", "Good", "Good", "Evil", "Evil", "Evil"]
      for order in [["--reverse"], []] {
        let wanted = order.isEmpty ? names.reversed() : names
        for (option, pattern) in [("--stat", /item:1 \((\w+)\)/), ("--patch", /[+~\-] item:1  (\w+)/)] {
          let result = try journal(["log", path, option] + order)
          #expect(
            result.output.matches(of: pattern).map { String($0.output.1) } == wanted, "\(result.output)")
        }
      }
      #expect(try journal("log", path, "--stat", "--until", "1").output.contains("+ item:1 (Good): add"))
    }
  }

  /// A text that a number had replaced was still the name, or the name was missing before that.
  @Test func logNamesEntitiesWithoutATitleAsTheyWereNamedThen() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("People.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      try made.commit { _ = try $0.addItem(kind: "person", attributes: ["nick": "Good", "zodiac": "Leo"]) }
      for (name, value) in [("age", 1), ("nick", 5), ("age", 2), ("nick", "Evil"), ("zodiac", "Ox")]
        as [(String, FieldValue)]
      {
        try made.commit { try $0.updateItem(1, set: [name: value]) }
      }
      try made.close()
      let names = ["Good", "Good", "Leo", "Leo", "Evil", "Evil"]
      for order in [["--reverse"], []] {
        let result = try journal(["log", path, "--stat"] + order)
        let wanted = order.isEmpty ? names.reversed() : names
        #expect(
          result.output.matches(of: /item:1 \((\w+)\)/).map { String($0.output.1) } == wanted,
          "\(result.output)")
      }
    }
  }

  /// Only its number was shown.
  @Test func aCategoryIsNamedAsItWasNamedThen() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      try made.commit { draft in
        let shelf = try draft.addCategory(name: "Novels")
        try draft.addItem(kind: "book", category: shelf, attributes: ["title": "Dune"])
      }
      try made.commit { try $0.setName(ofCategory: 1, to: "Stories") }
      try made.commit { try $0.setCategory(ofItem: 1, to: nil) }
      try made.commit { try $0.deleteCategory(1) }
      try made.close()
      let (first, second) = ("category: category:1 (Novels)", "category: category:1 (Stories) → (none)")
      for (words, texts) in [
        (["show", "item:1@1"], ["category      category:1 (Novels)"]),
        (["show", "item:1@2"], ["category      category:1 (Stories)"]),
        (["blame", "item:1@1"], ["category:1 (Novels)"]), (["blame", "item:1@2"], ["category:1 (Stories)"]),
        (["history", "item:1"], [first, second]), (["log", "--patch"], [first, second]),
        (["show", "1"], [first]), (["show", "3"], [second]), (["diff", "2", "3"], [second]),
        (["diff", "1", "3", "item:1"], ["category: category:1 (Novels) → (none)"]),
        (["diff", "3", "1", "item:1"], ["category: (none) → category:1 (Novels)"]),
        (["restore", "item:1", "--at", "1", "--dry-run"], ["category: (none) → category:1 (Novels)"]),
        (["restore", "item:1", "--at", "1"], ["category: (none) → category:1 (Novels)"]),
      ] as [([String], [String])] {
        let result = try journal([words[0], path] + words.dropFirst())
        #expect(
          result.code == 0 && texts.allSatisfy { result.output.contains($0) }, "\(words): \(result.output)")
      }
      let json = try journal("history", path, "item:1@3", "--json").output
      #expect(json.contains(#""@category":{"old":1}"#) && !json.contains("Stories"), "\(json)")
    }
  }

  /// Only those entries were found whose items are of the kind, or in the category, now.
  @Test func logFiltersItemsByWhatTheyWereThen() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      try made.commit { draft in
        let (first, second) = (try draft.addCategory(name: "A"), try draft.addCategory(name: "B"))
        try draft.addItem(kind: "draft", category: first, attributes: ["title": "Dun"])
        try draft.addItem(kind: "book", category: second, attributes: ["title": "Emma"])
      }
      try made.commit { try $0.updateItem(1, set: ["title": "Dune"]) }
      try made.commit { try $0.setKind(ofItem: 1, to: "book") }
      try made.commit { try $0.setCategory(ofItem: 1, to: 2) }
      try made.commit { try $0.updateItem(1, set: ["stars": 5]) }
      try made.commit { try $0.deleteItem(1) }
      try made.commit { try $0.updateItem(2, set: ["stars": 4]) }
      try made.close()
      for (words, revisions) in [
        (["--kind", "draft"], [1, 2, 3]), (["--kind", "book"], [1, 3, 4, 5, 6, 7]),
        (["--category", "A"], [1, 2, 3, 4]), (["--category", "2"], [1, 4, 5, 6, 7]),
        (["--category", "A", "--kind", "book"], [3, 4]), (["--kind", "draft", "--until", "2"], [1, 2]),
        (["--kind", "draft", "--since", "2"], [3]), (["item:1", "--kind", "book"], [3, 4, 5, 6]),
        (["--category", "A", "--operation", "update", "--touched", "@category"], [4]),
        (["--kind", "category"], [1]),
      ] {
        for order in [["--reverse"], []] {
          let result = try journal(["log", path, "--json"] + words + order)
          let found = result.output.matches(of: /"revision":([0-9]+),"date"/).compactMap { Int($0.output.1) }
          #expect(found == (order.isEmpty ? revisions.reversed() : revisions), "\(words): \(result.output)")
        }
      }
    }
  }

  /// Each version had a copy of the whole record: for 5,000 small changes beside a text of 4 MB, 19 seconds.
  @Test func smallChangesOfALargeRecordAreSmallInItsHistory() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Finds.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      let text = FieldValue.string(String(repeating: "x", count: 4 << 20))
      try made.commit { _ = try $0.addItem(kind: "find", attributes: ["name": "cup", "text": text]) }
      for number in 1...100 {
        try made.commit { try $0.updateItem(1, set: ["n": .integer(Int64(number))]) }
      }
      let history = try made.history(of: EntityKey.item(1))
      #expect(history.count == 101 && history.reduce(0) { $0 + $1.byteCount } < 13 << 20)
      #expect(history[0].before?["n"] == .integer(99) && history[0].after?["n"] == .integer(100))
      #expect(history[0].after?["text"] == text)
      #expect(history[0].parts == [PartChange(key: .attribute("n"), old: .integer(99), new: .integer(100))])
      try made.close()
      let printed = try journal("history", path, "item:1", "-n", "100").output
      #expect(printed.components(separatedBy: "~ item:1  cup\n").count == 101)
      #expect(printed.contains("    n: 99 → 100\n") && printed.contains("    n: (none) → 1\n"))
    }
  }

  @Test func tablesFitWideAuthorsLongKindsAndLongLabels() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Finds.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      try made.commit(by: String(repeating: "日本語", count: 10), note: "one") {
        _ = try $0.addItem(
          kind: "legacyStore", attributes: ["title": .string(String(repeating: "x", count: 100_000))])
      }
      try made.close()
      #expect(try journal("log", path).output.contains("日本語日本語日本語…   +1"))
      let found = try journal("find", path).output
      #expect(found.hasPrefix("ENTITY      KIND         CHANGED  LABEL\n"), "\(found.prefix(100))")
      #expect(found.count < 400 && found.hasSuffix("x…\n"))
      #expect(try journal("find", path, "--json").output.count > 100_000)
    }
  }

  /// Only the last column was cut, and none in the tables of `replay`.
  @Test func tablesFitTheTerminalHoweverLongTheirTextsAre() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Finds.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      func long(_ word: String) -> String { String(repeating: word, count: 12) }
      try made.commit(by: long("author"), note: long("note")) { draft in
        let shelf = try draft.addCategory(name: long("shelf"))
        let attributes: [String: FieldValue] = [
          "title": .string(long("title")), long("first"): 1, long("second"): 2,
        ]
        try draft.addItem(kind: long("kind"), category: shelf, attributes: attributes)
      }
      try made.commit(by: long("author"), note: long("note")) {
        try $0.updateItem(1, set: [long("first"): 2, long("second"): 3])
      }
      try made.tag(long("tag"), by: long("author"))
      try made.close()
      for words in [
        ["log"], ["find"], ["replay"], ["history", "item:1", "--stat"], ["blame", "item:1"], ["tag"],
        ["diff", "1", "2", "--stat"], ["restore", "item:1", "--at", "1", "--dry-run"],
      ] {
        let result = try run(
          journalPath, [words[0], path] + words.dropFirst(), environment: ["COLUMNS": "80"])
        let output = String(decoding: result.output, as: UTF8.self)
        // What a restore changes is no table.
        let table = output.components(separatedBy: "Later edits that it would undo:\n").last ?? ""
        #expect(result.code == 0 && table.contains("…"), "\(words): \(output)")
        #expect(table.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(words): \(output)")
      }
      #expect(try journal("replay", path).output.contains(long("kind")))
      // Counts are not cut.
      let narrow = try journal("replay", path, environment: ["COLUMNS": "40"]).output
      #expect(narrow.contains("  1\n\nITEM"), "\(narrow)")
      #expect(try journal("history", path, "item:1", "--stat").output.contains(long("second")))
      #expect(try journal("tag", path).output.contains(long("tag")))
    }
  }

  // MARK: Options

  @Test func usageShowsRequiredOptionsWithoutBrackets() throws {
    for (verb, option) in [
      ("erase", "--reason TEXT"), ("prune", "--before SELECTOR"), ("salvage", "--to DIR"),
    ] {
      let help = try journal("help", verb).output
      #expect(help.contains(" \(option)") && !help.contains("[\(option)]"), "\(help)")
    }
  }

  @Test func aConditionThatCanNotBeTestedIsNotANo() throws {
    try withFixedJournal { path, _ in
      #expect(try journal("bisect", path, "--run", "nosuchcommand").code == 3)
      #expect(try journal("bisect", path, "--run", "").code == 2)
      try check("tag", path, "--delete", "first", "2", code: 2, says: "--delete takes no SELECTOR")
    }
  }
}
