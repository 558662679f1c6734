import CatalogModel
import Foundation
import TestSupport
import Testing

@testable import journal

@Suite struct ProgramTests {
  /// A program links libpq only if it uses the library for shared journals.
  @Test func onlyAProgramWithSharedJournalsLinksLibpq() throws {
    func links(_ program: String) throws -> Bool {
      let url = URL(filePath: journalPath).deletingLastPathComponent().appending(path: program)
      return try Data(contentsOf: url).range(of: Data("libpq.".utf8)) != nil
    }
    #expect(try links("journal") && !links("recipes"))
  }

  @Test func wrongUseExitsWithTwoAndOneSentence() throws {
    func expect(_ words: [String], says sentence: String) throws {
      let result = try journal(words)
      #expect(result.code == 2)
      #expect(result.output.isEmpty)
      #expect(result.error == "journal: \(sentence)\n")
    }
    try expect([], says: "a verb is missing; see journal help")
    try expect(["lgo"], says: "unknown verb lgo (did you mean log?); see journal help")
    try expect(["--verbose"], says: "unknown option --verbose; see journal help")
    try expect(
      ["log"], says: "JOURNAL is missing (the journal's folder, such as Books.journal); see journal help log")
    try expect(["help", "frob"], says: "unknown verb frob; see journal help")
    try expect(
      ["import", "J", "svn", "x"],
      says: "there is no import from \"svn\", only from entries, csv, jsonl, git, archive, defaults, "
        + "plist and scarybugs; see journal help import")
    try expect(
      ["import", "J", "git", "x", "--key", "id"], says: "--key needs --records FILE; see journal help import")
    try expect(
      ["import", "J", "git", "x", "--records", "f"],
      says: "--records needs --key FIELD, to tell one object from another")
    try expect(["import", "J", "git", "/nowhere/at/all"], says: "there is no folder /nowhere/at/all")
  }

  /// The error named no option, and `export --to ""` wrote to the current folder.
  @Test func anEmptyPointOrPathOfAnOptionIsNamed() throws {
    var options = Syntax.common.map { (verb: "log", option: $0) }
    for verb in Verbs.all { options += verb.manual.syntax.options.map { (verb: verb.name, option: $0) } }
    var count = 0
    for (verb, option) in options {
      let advice: String
      switch option.value {
      case "SELECTOR"?: advice = "write a point in time, such as 120, HEAD~3, 2026-08-01 or yesterday"
      case "DIR"?, "FILE"?, "FOLDER"?: advice = "write a path; a variable of the shell may not be set"
      default: continue
      }
      let outcome = try journal(verb, option.name, "")
      let error = "journal: \(option.name) is empty: \(advice); see journal help \(verb)\n"
      #expect(outcome == Outcome(code: 2, output: "", error: error))
      count += 1
    }
    #expect(count > 15)
    // An empty text may be an author or a note.
    try withFixedJournal { (path, _) throws in
      #expect(try journal("tag", path, "first", "--by", "", "--note", "").code == 0)
      #expect(try journal("log", path, "--author", "").code == 0)
    }
  }

  @Test func missingEntitiesExitWithOne() throws {
    try withFixedJournal { (path, _) throws in
      #expect(
        try journal("show", path, "item:2")
          == Outcome(
            code: 1, output: "",
            error:
              "journal: item:2 does not exist at revision 3: it was deleted by revision 3; item:2@2 is what it "
              + "was before\n"))
      #expect(
        try journal("history", path, "item:9")
          == Outcome(code: 1, output: "", error: "journal: item:9 never existed in this journal\n"))
      #expect(
        try journal("replay", path, "--at", "4")
          == Outcome(code: 1, output: "", error: "journal: there is no revision 4; the newest one is 3\n")
      )
      #expect(try journal("replay", path, "--at", "then").code == 2)
      #expect(try journal("show", path, "thing:1").code == 2)
    }
  }

  /// `diff` said of an entity that never existed that there are no differences, and `log` with `--since HEAD` that no
  /// entry matches.
  @Test func aSearchThatFindsNothingExitsWithOneAndAnEmptyListWithZero() throws {
    try withFixedJournal { path, _ in
      func expect(_ code: Int32, _ commands: [[String]]) throws {
        for words in commands {
          let result = try journal([words[0], path] + words.dropFirst())
          #expect(result.code == code && !result.error.isEmpty, "\(words): \(result.code)")
          #expect(result.output.isEmpty, "\(words)")
        }
      }
      try expect(
        1,
        [
          ["find", "nothing"], ["find", "--deleted", "nothing"], ["find", "--category", "none"],
          ["bisect", "nothing"], ["log", "item:9"], ["log", "item:9", "--since", "HEAD"],
          ["log", "--category", "none"], ["history", "item:9"], ["blame", "item:9"], ["show", "item:9"],
          ["show", "9"], ["cat", "item:9.name"], ["diff", "1", "2", "item:9"],
        ])
      try expect(
        0,
        [
          ["log", "--author", "zoe"], ["log", "--kind", "none"], ["log", "--since", "HEAD"],
          ["log", "item:1", "--until", "0"], ["diff", "2", "2"], ["diff", "1", "2", "category:1"],
          ["diff", "1", "2", "--kind", "none"], ["tag"],
        ])
      #expect(try journal("snapshot", path, "list").code == 0)
    }
    let codes = "find and bisect exit with 1 if they find nothing."
    for words in [["help"], ["man"]] {
      let text = String(decoding: try run(journalPath, words).output, as: UTF8.self)
      #expect(text.replacing("\n", with: " ").contains(codes))
    }
  }

  /// `blame --full` ended in a trap, and no test had run it.
  @Test func everyOptionOfEveryReadingVerbWorks() throws {
    let operands: [String: [String]] = [
      "bisect": ["item:1.age"], "blame": ["item:1"], "cat": ["item:1.name"], "diff": ["1", "3"], "doctor": [],
      "find": ["cup"], "history": ["item:1"], "log": [], "replay": [], "show": ["item:1"], "snapshot": [],
      "stat": [], "tag": [], "verify": [],
    ]
    try withFixedJournal { path, folder in
      for (verb, words) in operands {
        for option in try Verbs.named(verb).manual.syntax.options + Syntax.common
        where option.name != "--follow" {
          let values: [[String]] =
            switch option.value {
            case nil: [[]]
            case "N": ["0", "1", "\(Int.max)"].map { [$0] }
            default: [[folder.path("Value")]]
            }
          for value in values {
            let words = [verb, path] + words + [option.name] + value
            let result = try journal(words)
            #expect((0...3).contains(result.code), "\(words): \(result.code)")
          }
        }
      }
    }
  }

  @Test func journalsThatCanNotBeOpenedExitWithThree() throws {
    try withTemporaryFolder { folder in
      for verb in ["log", "replay", "stat", "verify"] {
        let outcome = try check(verb, folder.path("None.journal"), code: 3)
        #expect(outcome.output == "")
        #expect(outcome.error.hasPrefix("journal: ") && outcome.error.hasSuffix("\n"))
        #expect(outcome.error.count { $0 == "\n" } == 1)
      }
      let path = try makeFixedJournal(folder)
      #expect(try journal("init", path).code == 3)
    }
  }

  @Test func initMakesAnEmptyJournal() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("New.journal")
      let made = try journal("init", path)
      #expect(made == Outcome(code: 0, output: "created the empty journal \(path)\n", error: ""))
      let listed = try journal("log", path)
      #expect(listed == Outcome(code: 0, output: "", error: "no entry matches\n"))
    }
  }

  @Test func verifyFindsAChangedImage() throws {
    try withFixedJournal { path, _ in
      let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
      try Data("jello".utf8).write(to: URL(fileURLWithPath: "\(path)/images/\(hash)"))
      let outcome = try check("verify", path, code: 1)
      #expect(outcome.output.contains("\(hash)"))
      #expect(outcome.output.contains("not sound"))
      #expect(
        outcome.error
          == "journal: the journal has 1 problem; run journal doctor, or restore it from a backup\n")
    }
  }

  @Test func readingChangesNothingOnDisk() throws {
    try withFixedJournal { path, _ in
      func files() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
          files[name] = FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data()
        }
        return files
      }
      let before = try files()
      for words in [["log"], ["show", "1"], ["history", "item:1"], ["replay"], ["stat"], ["verify"]] {
        #expect(try run(journalPath, [words[0], path] + words.dropFirst()).code == 0)
      }
      #expect(try files() == before)
    }
  }

  @Test func closingTheOutputEndsTheProgramQuietly() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Long.journal")
      let journal = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      try journal.commit(note: String(repeating: "long ", count: 100_000)) { try $0.addItem(kind: "a") }
      try journal.close()
      let script = "\"$0\" log \"$1\" --json | head -c 10; echo \"${PIPESTATUS[0]}\""
      let result = try run("bash", ["-c", script, journalPath, path])
      #expect(String(decoding: result.output, as: UTF8.self) == "{\"revision0\n")
      #expect(result.error.isEmpty)
    }
  }

  /// A verb ended where its reader did, with exit code 0.
  @Test func closingTheOutputChangesNeitherTheWorkNorTheExitCodeOfAVerb() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Long.journal")
      let journal = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      try journal.commit(by: "ana") { _ = try $0.addItem(kind: "a") }
      for turn in 1...40 {
        let note = String(repeating: "long ", count: 2000)
        try journal.commit(by: "bob", note: note) { try $0.updateItem(1, set: ["a\(turn)": 1]) }
      }
      try journal.commit(by: "ana") { draft in
        let blob = try journal.blobs.add(Data(count: 1 << 20))
        _ = try draft.addImage(to: 1, name: "a", mediaType: "a/b", blob: blob)
      }
      try journal.close()
      func expect(_ line: String, _ code: Int32) throws {
        let result = try run(
          "bash", ["-c", "(sleep 0.2; \(line)) | true; exit \"${PIPESTATUS[0]}\"", journalPath, path])
        #expect(result.code == code, "\(line): \(String(decoding: result.error, as: UTF8.self))")
      }
      try expect("\"$0\" backup \"$1\" --file -", 3)
      try expect("\"$0\" revert \"$1\" --author bob", 0)
      #expect(try run(journalPath, ["cat", path, "item:1.a1"]).code == 1)
      #expect(try run(journalPath, ["log", path, "-n", "1"]).output.starts(with: Data("REVISION".utf8)))
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: path), mode: .readOnly)
      #expect(opened.head.revision == 82 && opened.state.item(1)?.attributes.isEmpty == true)
      try opened.close()
      try FileManager.default.removeItem(atPath: "\(path)/HEAD")
      try expect("\"$0\" doctor \"$1\"", 1)
    }
  }

  /// Swift replaced bytes that are not UTF-8, and a folder with another name was created.
  @Test func aPathThatIsNotUTF8IsRefused() throws {
    try withTemporaryFolder { folder in
      let result = try run(
        "bash", ["-c", "cd \"$1\" && \"$0\" init $'bad\\xff.journal'", journalPath, folder.url.path])
      #expect(result.code == 2)
      #expect(String(decoding: result.error, as: UTF8.self).contains("is not UTF-8"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }
  }

  @Test func everyVerbHasHelpWithExamples() throws {
    let overview = try journal("help")
    #expect(try journal("--help") == overview)
    for verb in Verbs.all {
      #expect(overview.output.contains("  \(verb.name) "))
      let help = try run(journalPath, ["help", verb.name])
      let text = String(decoding: help.output, as: UTF8.self)
      #expect(help.code == 0)
      #expect(text.hasPrefix("usage: journal \(verb.name)"))
      #expect(text.contains("Examples:\n  journal \(verb.name) "))
      #expect(try run(journalPath, [verb.name, "--help"]).output == help.output)
    }
    #expect(try journal("--version").output == "journal \(Program.version)\n")
  }

  @Test func helpExplainsAVerb() throws {
    #expect(
      try journal("help", "stat").output == """
        usage: journal stat JOURNAL [--json]

        Shows how much a journal contains, its first and newest date, and its size on disk; prune --dry-run shows what a
        pruning frees. If the first entry is damaged, it says that its date can't be read; in JSON it is null. For a shared
        journal it also asks the server, and shows the address of the log, how far behind this node is, how the server flushes
        commits, and whether commits wait for a standby.

          JOURNAL  the journal's folder, such as Books.journal

          --json                  print JSON instead of a table
          --local                 read and print dates in the zone of this machine (TZ) instead of UTC; JSON always has them in UTC
          --no-pager              print long results without a pager
          --verbose               report on standard error what the journal does and finds
          --unsafe-settings       write to a shared log even if its server may lose what it confirms
          --shared-images FOLDER  where the nodes of a shared journal have their images, if not in the database
          --help                  print this help

        Examples:
          journal stat Books.journal
              counts, dates and bytes

        """)
  }

  @Test func outputIntoAPipeHasNoColour() throws {
    try withFixedJournal { path, _ in
      let outcome = try journal("log", path)
      #expect(outcome.code == 0 && !outcome.output.contains("\u{1B}"))
    }
  }

  @Test func verboseSaysWhatTheJournalDoes() throws {
    try withFixedJournal { path, _ in
      let result = try journal(["stat", path, "--verbose"])
      #expect(result.code == 0)
      #expect(result.error == "journal: info: the journal was opened at revision 3; 7 events were replayed\n")
    }
  }
}
