import CatalogModel
import Foundation
import JSON
import TestSupport
import Testing

/// The verbs that explain the past and bring it back, tested by their whole outputs on a fixed journal.
@Suite struct AuditVerbTests {
  /// They were not found.
  @Test func findSearchesTextsInsideListsAndObjects() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Tools.journal")
      let tools = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      try tools.commit { draft in
        _ = try draft.addItem(
          kind: "tool", attributes: ["name": "Kettle", "tags": ["hot"], "place": ["name": "Kitchen"]])
      }
      try tools.close()
      for text in ["HOT", "kitch", "kettle", "tool"] {
        try expect(
          ["find", text, "--json"], in: path,
          prints: #"{"entity":"item:1","label":"Kettle","kind":"tool","revision":1}"#)
      }
      try expect(
        ["find", "tags"], in: path, prints: "",
        says: "journal: nothing found; --deleted searches deleted entities", code: 1)
    }
  }

  @Test func findListsEntitiesByTextKindAndCondition() throws {
    try withFixedJournal { path, _ in
      try expect(
        ["find", "CUP"], in: path,
        prints: """
          ENTITY      KIND        CHANGED  LABEL
          category:1  category          1  Cups
          item:1      find              3  blue cup
          image:1     image             2  cup.png
          """)
      try expect(
        ["find", "--deleted", "--json"], in: path,
        prints: #"{"entity":"item:2","label":"the \u001b[31mred\nfield","kind":"place","revision":3}"#)
      try expect(
        ["find", "--at", "1", "--kind", "place"], in: path,
        prints: """
          ENTITY      KIND        CHANGED  LABEL
          item:2      place             1  the \\u{1b}[31mred\\nfield
          """)
      try expect(
        ["find", "item:1", "--where", "age=212.5", "--where", "@category=1", "--json"], in: path,
        prints: #"{"entity":"item:1","label":"blue cup","kind":"find","revision":3}"#)
      try expect(
        ["find", "--kind", "place", "--at", "1", "--where", "age=null", "--json"], in: path,
        prints: #"{"entity":"item:2","label":"the \u001b[31mred\nfield","kind":"place","revision":1}"#)
      try expect(
        ["find", "--where", "age!=null", "--json"], in: path,
        prints: #"{"entity":"item:1","label":"blue cup","kind":"find","revision":3}"#)
      try expect(
        ["find", "--kind", "find", "--where", "age=null"], in: path, prints: "",
        says: "journal: nothing found; --deleted searches deleted entities", code: 1)
      try expect(
        ["find", "--category", "Cups", "--where", "age=200"], in: path, prints: "",
        says: "journal: nothing found; --deleted searches deleted entities", code: 1)
      try expect(
        ["find", "age=200"], in: path, prints: "",
        says:
          "journal: nothing found; --deleted searches deleted entities; for a condition, write --where age=200",
        code: 1)
      try expect(
        ["find", "--category", "item:1"], in: path, prints: "",
        says:
          "journal: there is no category \"item:1\"; journal find JOURNAL --kind category lists them", code: 1
      )
      try expect(
        ["find", "--where", "age"], in: path, prints: "",
        says:
          "journal: a condition is FIELD=VALUE, or with !=, <, <=, >, >= or ^= (begins with), not \"age\"",
        code: 2)
    }
  }

  @Test func diffShowsWhatChangedBetweenTwoPoints() throws {
    try withFixedJournal { path, _ in
      try expect(
        ["diff", "1", "--json"], in: path,
        prints: #"""
          {"entity":"item:1","operation":"update","changes":{"age":{"old":200,"new":212.5}}}
          {"entity":"item:2","operation":"delete","changes":{"@kind":{"old":"place"},\#
          "name":{"old":"the \u001b[31mred\nfield"}}}
          {"entity":"image:1","operation":"add","changes":{"@item":{"new":1},"@name":{"new":"cup.png"},\#
          "@mediaType":{"new":"image/png"},\#
          "@sha256":{"new":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}}}
          """#)
      try expect(
        ["diff", "0", "1", "category:1", "--json"], in: path,
        prints: #"""
          {"entity":"category:1","operation":"add","changes":{"@name":{"new":"Cups"},"@color":{"new":"#FF8000FF"}}}
          """#)
      try expect(
        ["diff", "HEAD", "HEAD~1"], in: path,
        prints: #"""
          ~ item:1  blue cup
              found: (none) → 1970-01-01 00:00:00
          + item:2  the \u{1b}[31mred\nfield
              kind: place
              name: "the \u001b[31mred\nfield"
          """#)
      try expect(
        ["diff", "1", "HEAD", "--stat", "--kind", "find"], in: path,
        prints: """
             ENTITY  LABEL     CHANGED
          ~  item:1  blue cup  age
          0 added, 1 changed, 0 deleted
          """)
      try expect(["diff", "2", "2"], in: path, prints: "", says: "there are no differences")
    }
  }

  @Test func blameShowsTheEntryThatSetEachField() throws {
    try withFixedJournal { path, _ in
      try expect(
        ["blame", "item:1"], in: path,
        prints: """
          FIELD     VALUE              REVISION  DATE (UTC)           AUTHOR  NOTE
          kind      find                      1  2026-08-01 10:00:00  ana     first find
          category  category:1 (Cups)         1  2026-08-01 10:00:00  ana     first find
          age       212.5                     2  2026-08-02 11:30:00  ben     a photo
          name      "blue cup"                1  2026-08-01 10:00:00  ana     first find
          """)
      try expect(
        ["blame", "item:2@1", "--json"], in: path,
        prints: #"""
          {"entity":"item:2","field":"@kind","value":"place","revision":1,\#
          "date":"2026-08-01T10:00:00.000000Z","author":"ana","note":"first find"}
          {"entity":"item:2","field":"name","value":"the \u001b[31mred\nfield","revision":1,\#
          "date":"2026-08-01T10:00:00.000000Z","author":"ana","note":"first find"}
          """#)
      try expect(
        ["blame", "item:2"], in: path, prints: "",
        says:
          "journal: item:2 does not exist at revision 3: it was deleted by revision 3; item:2@2 is what it was "
          + "before", code: 1)
    }
  }

  @Test func logFiltersEntriesAndShowsTheirPatches() throws {
    try withFixedJournal { path, _ in
      try expect(
        ["log", "item:1", "--touched", "found", "--patch", "-n", "1"], in: path,
        prints: """
          entry 3
          Date:    2026-08-03 00:00:00
          Author:  ana

              no place after all

          ~ item:1  blue cup
              found: 1970-01-01 00:00:00 → (none)
          """)
      try expect(
        ["log", "--operation", "delete", "--patch", "--json"], in: path,
        prints: #"""
          {"revision":3,"date":"2026-08-03T00:00:00.000000Z","author":"ana","note":"no place after all",\#
          "metadata":{},"digest":"<digest>","events":[{"operation":"delete","entity":"item:2","previous":1,\#
          "changes":{"@kind":{"old":"place"},"name":{"old":"the \u001b[31mred\nfield"}}}]}
          """#)
      try expect(
        ["log", "--category", "Cups", "--note", "PHOTO", "--stat"], in: path,
        prints: """
          REVISION  DATE (UTC)           AUTHOR                CHANGES       NOTE
                 2  2026-08-02 11:30:00  ben                   +1 ~1         a photo
                    ~ item:1 (blue cup): age, found
          """)
      try expect(
        ["log", "image:1", "--reverse"], in: path,
        prints: """
          REVISION  DATE (UTC)           AUTHOR                CHANGES       NOTE
                 2  2026-08-02 11:30:00  ben                   +1 ~1         a photo
          """)
      try expect(["log", "--author", "zoe"], in: path, prints: "", says: "no entry matches")
    }
  }

  @Test func catPrintsBytesOfImagesAndFields() throws {
    try withFixedJournal { path, _ in
      #expect(try run(journalPath, ["cat", path, "image:1"]).output == Data("hello".utf8))
      #expect(
        try run(journalPath, ["cat", path, "item:2.name@1"]).output == Data("the \u{1B}[31mred\nfield".utf8))
      try expect(["cat", "item:1.age@HEAD~2"], in: path, prints: "200")
      try expect(
        ["cat", "item:1.weight"], in: path, prints: "",
        says: "journal: item:1 has no attribute weight at revision 3", code: 1)
    }
  }

  @Test func bisectFindsTheFirstRevisionWhereAConditionHolds() throws {
    try withFixedJournal { path, _ in
      try expect(
        ["bisect", "item:1", "--where", "age=212.5"], in: path,
        prints: """
          revision 3: yes
          revision 1: no
          revision 2: yes
          first held at revision 2, 2026-08-02 11:30:00, ben: a photo
          """)
      try expect(
        ["bisect", "--run", "grep -q cup.png", "--json"], in: path,
        prints: #"""
          {"revision":2,"date":"2026-08-02T11:30:00.250000Z","author":"ben","note":"a photo\n\nand its age","states":3}
          """#)
      try expect(
        ["bisect", "item:2"], in: path, prints: "",
        says: "journal: the condition does not hold at revision 3, the last one tested", code: 1)
      // It used to name the first entry to test, and its author.
      try expect(
        ["bisect", "item:1", "--where", "age=212.5", "--from", "3"], in: path, prints: "",
        says:
          "journal: the condition already held at revision 2, before the first one to test; choose an earlier one "
          + "with --from", code: 1)
      try expect(
        ["bisect", "item:1", "--where", "age=212.5", "--from", "2"], in: path,
        prints: """
          revision 3: yes
          revision 2: yes
          revision 1: no
          first held at revision 2, 2026-08-02 11:30:00, ben: a photo
          """)
    }
  }

  /// An interrupted bisect left the whole state in the temporary folder, and its command kept running.
  @Test func bisectLeavesNoFileAndItsCommandIsInItsProcessGroup() throws {
    try withFixedJournal { path, _ in
      let temporary = URL(fileURLWithPath: path).deletingLastPathComponent().appending(path: "tmp")
      try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: false)
      let command =
        "grep -q categories && test -z \"$(ls -A \"$TMPDIR\")\" "
        + "&& test \"$(ps -o pgid= -p $$)\" = \"$(ps -o pgid= -p $PPID)\""
      let found = try journal("bisect", path, "--run", command, environment: ["TMPDIR": temporary.path])
      #expect(found.output.hasSuffix("It has held from the beginning.\n"), "\(found)")
    }
  }

  /// Options that had no effect were accepted, and tags looked as if they were restored.
  @Test func optionsThatWouldHaveNoEffectAreWrongUse() throws {
    try withFixedJournal { path, _ in
      try expect(
        ["tag", "--delete"], in: path, prints: "",
        says: "journal: --delete needs the NAME of a tag; see journal help tag", code: 2)
      try expect(
        ["tag", "--list", "first"], in: path, prints: "",
        says: "journal: --list takes no NAME: it lists all tags; see journal help tag", code: 2)
      try expect(["tag", "first", "1"], in: path, prints: "tagged revision 1 as first")
      try expect(
        ["restore", "tag:1"], in: path, prints: "",
        says: "journal: tag:1 can't be restored: a tag is not part of a state; journal tag makes a new one",
        code: 2)
      try expect(["tag", "--delete", "first", "--json"], in: path, prints: #"{"name":"first","deleted":5}"#)
      #expect(try journal("snapshot", path, "take", "--at", "2").code == 0)
      try expect(["snapshot", "drop", "2", "--json"], in: path, prints: #"{"revision":2,"dropped":true}"#)
      try expect(
        ["replay", "--to", path + "2", "--json"], in: path,
        prints: "{\"path\":\"\(path)2\",\"revision\":5}")
    }
  }

  /// The verb said that there was nothing to do, with exit code 0.
  @Test func anEntryThatOnlyMadeATagCanNotBeRevertedAndTheErrorSaysWhy() throws {
    try withFixedJournal { path, _ in
      #expect(try journal("tag", path, "first", "1", "--by", "ana").code == 0)
      let reason =
        "journal: entry 4 changed only tags; journal tag makes them, and with --delete deletes them"
      for revision in ["4", "HEAD"] {
        try expect(["revert", revision], in: path, prints: "", says: reason, code: 2)
      }
      // Of several entries, none is reverted.
      try expect(["revert", "4", "3"], in: path, prints: "", says: reason, code: 2)
      try expect(["revert", "3", "4", "--dry-run"], in: path, prints: "", says: reason, code: 2)
      #expect(try journal("help", "revert").output.contains("journal tag --delete deletes the tag"))
      // Those that options select leave it out, and undo passes over it.
      try check(
        "revert", path, "--author", "ana", "--since", "3", "--dry-run", code: 1, says: "no entry matches")
      let undone = try journal("undo", path, "--by", "ana")
      #expect(undone.output.contains("entry 5 undid entry 3: no place after all"), "\(undone)")
    }
  }

  @Test func anUndoOfAGroupTakesBackAllItsEntriesAndNamesThem() throws {
    try withFixedJournal { path, _ in
      func commit(_ attributes: String, by author: String, group: String? = nil) throws {
        let metadata = group.map { #""journal.group":"\#($0)""# } ?? ""
        let result = try run(
          journalPath, ["commit", path, "--by", author],
          input: Data(
            #"""
            {"metadata":{\#(metadata)},"events":[{"operation":"update","entity":"item:1",
            "changes":{"attributes":{\#(attributes)}}}]}
            """#.utf8))
        #expect(result.code == 0, "\(String(decoding: result.error, as: UTF8.self))")
      }
      try commit(#""age":1"#, by: "zoe", group: "typing")
      try commit(#""weight":2"#, by: "eve")
      try commit(#""age":3,"color":"blue""#, by: "zoe", group: "typing")
      try expect(
        ["undo", "--by", "zoe"], in: path,
        prints: """
          entry 7 undid entries 4,6: 1 entity changed

          ~ item:1  blue cup
              age: 3 → 212.5
              color: "blue" → (none)
          """)
      #expect(try journal("redo", path, "--by", "zoe").code == 0)
      try commit(#""age":4"#, by: "eve")
      // What is refused is shown as --force would do it, also in the fields that conflict.
      let refused = try journal("undo", path, "--by", "zoe")
      #expect(refused.code == 1)
      #expect(
        refused.output.hasPrefix(
          """
          undoing entries 4,6 with --force would change 1 entity, but later edits conflict; nothing was written

          ~ item:1  blue cup
              age: 4 → 212.5
              color: "blue" → (none)

          Conflicting later edits:
          """), "\(refused)")
      #expect(refused.error.contains("entries 4,6 were not undone: later edits"), "\(refused)")
      let changes = try journal("undo", path, "--by", "zoe", "--dry-run", "--json").output.split(
        separator: ",\"undoes\"")[0]
      #expect(changes.contains(#""age":{"old":4,"new":212.5}"#), "\(changes)")
      let forced = try journal("undo", path, "--by", "zoe", "--force", "--dry-run", "--json").output
      #expect(forced.hasPrefix(changes), "\(forced)")
    }
  }

  /// Each revert was shown as if the ones before had not been done.
  @Test func aDryRunOfSeveralRevertsShowsWhatEachWouldDo() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let app = try CatalogJournal.create(at: URL(filePath: path))
      try app.commit { try $0.addItem(kind: "book", attributes: ["title": "Dun"]) }
      try app.commit { try $0.updateItem(1, set: ["title": "Dune"]) }
      try app.commit { try $0.deleteItem(1) }
      try app.close()
      let shown = try journal("revert", path, "2", "3", "--dry-run", "--json").output
      let done = try journal("revert", path, "2", "3", "--json").output
      #expect(shown.contains("\"old\":\"Dune\",\"new\":\"Dun\""))
      #expect(
        shown.replacing("\"revision\":null,\"dryRun\":true", with: "")
          == done.replacing(/"revision":[45],"dryRun":false/, with: ""))
    }
  }

  @Test func tagsAreEntriesAndNamePointsInTime() throws {
    try withFixedJournal { path, _ in
      try expect(["tag", "first", "HEAD~2", "--by", "ana"], in: path, prints: "tagged revision 1 as first")
      try expect(
        ["tag", "first", "--by", "ana"], in: path, prints: "",
        says: "journal: the tag first exists already, at revision 1; delete it before you add another",
        code: 1)
      let list = try journal("tag", path)
      #expect(list.output.contains("first         1  "))
      #expect(try journal("log", path, "--until", "1").output.contains("(first) first find"))
      _ = try journal("tag", path, "again", "HEAD~3", "--by", "ana")
      let log = try journal("log", path).output
      #expect(log.contains("(first, again) first find"))
      #expect(log == (try journal("log", path, "--until", "HEAD").output))
      #expect(try journal("show", path, "item:2@first").code == 0)
      #expect(try journal("tag", path, "--delete", "first", "--by", "ana").code == 0)
      #expect(try journal("show", path, "item:2@first").code == 2)
      #expect(try journal("log", path).output.contains("(again) first find"))
      #expect(try journal("log", path, "-n", "1", "--json").output.contains(#""entity":"tag:1""#))
      #expect(try journal("verify", path).code == 0)
    }
  }

  @Test func restoreBringsBackEntitiesFieldsOrEverything() throws {
    try withFixedJournal { path, _ in
      let plan = #"""
        "changes":[{"entity":"item:2","operation":"add","changes":{"@kind":{"new":"place"},\#
        "name":{"new":"the \u001b[31mred\nfield"}}}],"undoes":[{"revision":3,\#
        "date":"2026-08-03T00:00:00.000000Z","author":"ana",\#
        "note":"no place after all","entity":"item:2","fields":[]}],"conflicts":[]}
        """#
      try expect(
        ["restore", "item:2", "--at", "2", "--dry-run", "--json"], in: path,
        prints: #"{"revision":null,"dryRun":true,"# + plan)
      try expect(
        ["restore", "item:2@2", "--by", "ben", "--json"], in: path,
        prints: #"{"revision":4,"dryRun":false,"# + plan)
      try expect(
        ["restore", "item:1", "--at", "1", "--by", "ben", "--fields", "age"], in: path,
        prints: """
          entry 5 restored age of item:1 as of revision 1: 1 entity changed

          ~ item:1  blue cup
              age: 212.5 → 200

          Later edits that it undid:
          REVISION  DATE (UTC)           AUTHOR  ENTITY             CHANGE  NOTE
                 2  2026-08-02 11:30:00  ben     item:1 (blue cup)  age     a photo
          """)
      try expect(
        ["restore", "image:1", "--at", "1"], in: path,
        prints: """
          restoring revision 1 with --force would change 1 entity, but later edits conflict; nothing was written

          - image:1  cup.png
              item: item:1 (blue cup)
              name: cup.png
              mediaType: image/png
              sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
              byteCount: 5

          Conflicting later edits:
          REVISION  DATE (UTC)           AUTHOR  ENTITY             CHANGE  NOTE
                 2  2026-08-02 11:30:00  ben     image:1 (cup.png)  add     a photo
          """,
        says: "journal: nothing was restored: image:1 did not exist at revision 1; --force deletes what was "
          + "added since, --keep-new keeps it", code: 1)
      try check(
        "restore", path, "--all", "--at", "2001-01-01", code: 1, says: "nothing existed then; --force")
      for (option, group) in [("--kind", "find"), ("--category", "category:1")] {
        try check(
          "restore", path, option, group, "--at", "2001-01-01", code: 1, says: "nothing existed then; --force"
        )
      }
      try check("restore", path, "image:1", "--at", "1", "--force", "--dry-run", prints: "dry run")
      try expect(
        ["restore", "--all", "--at", "1", "--keep-new"], in: path,
        prints: "nothing to do: everything is as requested already")
      try expect(
        ["restore", "--all", "--at", "1", "--by", "ben", "--note", "back"], in: path,
        prints: """
          entry 6 restored everything as of revision 1: 1 entity changed

          - image:1  cup.png
              item: item:1 (blue cup)
              name: cup.png
              mediaType: image/png
              sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
              byteCount: 5

          Later edits that it undid:
          REVISION  DATE (UTC)           AUTHOR  ENTITY             CHANGE  NOTE
                 2  2026-08-02 11:30:00  ben     image:1 (cup.png)  add     a photo
          """)
      try expect(["diff", "1"], in: path, prints: "", says: "there are no differences")
      let show = try journal("show", path, "HEAD")
      #expect(show.output.contains("journal.restores = 1") && show.output.contains("    back\n"))
      #expect(try journal("verify", path).code == 0)
      try expect(
        ["restore", "item:1"], in: path, prints: "",
        says: "journal: --at is missing: the point in time, such as --at yesterday", code: 2)
      try expect(
        ["restore", "item:9", "--at", "1"], in: path, prints: "",
        says: "journal: item:9 never existed in this journal", code: 1)
    }
  }

  @Test func aReplayToAnotherFolderMakesASeparateJournal() throws {
    try withFixedJournal { path, _ in
      let copy = path + "-copy"
      #expect(try journal("replay", path, "--at", "2", "--to", copy).code == 0)
      let (old, new) = (
        try journal("log", path, "--until", "2", "--json"), try journal("log", copy, "--json")
      )
      #expect(new.output == old.output && !new.output.isEmpty)
      #expect(try journal("replay", copy, "--json") == (try journal("replay", path, "--at", "2", "--json")))
      #expect(try journal("verify", copy).code == 0)
      #expect(try journal("cat", copy, "image:1").output == "hello")
      let bare = path + "-bare"
      #expect(
        try journal("replay", path, "--at", "3", "--to", bare, "--no-history", "--by", "ben")
          .code == 0)
      // The number of item 2, which was deleted, stays used.
      #expect(try journal("verify", bare).output.hasPrefix("1 entry, 4 events, 1 blob"))
      #expect(try journal("show", bare, "image:1").code == 0)
      #expect(try journal("show", bare, "1").output.contains("journal.copyOf = "))
      #expect(try journal("replay", path, "--no-history").code == 2)
      #expect(try journal("replay", path, "--at", "3", "--to", copy).code == 3)
    }
  }

  /// The newcomer knows git, and has read only `journal help`.
  @Test func theCommandsThatHelpNamesAnswerANewcomersQuestions() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let journalOfBooks = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      func day(_ number: Int) -> Date { Date(timeIntervalSinceNow: TimeInterval(number) * 86_400) }
      try journalOfBooks.commit(by: "Ana", note: "moving in", date: day(-9)) { draft in
        for title in ["Dun", "Emma"] {
          try draft.addItem(kind: "book", attributes: ["title": .string(title)])
        }
      }
      try journalOfBooks.commit(by: "Bob", note: "spelling", date: day(-8)) {
        try $0.updateItem(1, set: ["title": .string("Dune")])
      }
      try journalOfBooks.commit(by: "Bob", note: "tidy up", date: day(-8)) { try $0.deleteItem(2) }
      try journalOfBooks.commit(by: "Eve", note: "newer", date: day(-1)) { try $0.addItem(kind: "film") }
      try journalOfBooks.close()
      let help = try journal("help").output
      for command in [
        "history Books.journal item:42", "find Books.journal --deleted", "restore Books.journal item:42\n",
      ] {
        #expect(help.contains("journal \(command)"))
      }
      #expect(
        try journal("history", path, "item:1").output.contains(
          "Bob  spelling\n~ item:1  Dune\n    title: \"Dun\" → \"Dune\""))
      #expect(try journal("find", path, "--deleted").output.contains("item:2      book              3  Emma"))
      // The item had been deleted by then. The error says what to ask for instead.
      let early = try check("restore", path, "item:2", "--at", "yesterday", code: 1)
      #expect(early.error.contains("it was deleted by revision 3; item:2@2 is what it was before"))
      #expect(try journal("restore", path, "item:2", "--dry-run").output.contains("+ item:2  Emma"))
      #expect(
        try journal("restore", path, "item:2").output.hasPrefix("entry 5 restored item:2 as of revision 2"))
      // For an item that exists, a point in time is needed.
      #expect(try journal("restore", path, "item:1").code == 2)
      try expect(
        ["restore", "item:7"], in: path, prints: "", says: "journal: item:7 never existed in this journal",
        code: 1)
      let reverted = try journal(
        "revert", path, "--author", "bob", "--since", "9 days ago", "--until", "7 days ago")
      #expect(reverted.code == 0)
      #expect(reverted.output.contains("entry 3, by Bob: tidy up\nnothing to do"))
      #expect(reverted.output.contains("entry 2, by Bob: spelling\nentry 6 reverted entry 2: spelling"))
      #expect(try journal("log", path, "-n", "1").output.contains("reverted entry 2"))
    }
  }

  @Test func revertAndUndoMakeEntriesThatTakeEarlierOnesBack() throws {
    try withFixedJournal { path, _ in
      try expect(
        ["revert", "2", "--by", "eve"], in: path,
        prints: """
          entry 4 reverted entry 2: a photo: 2 entities changed

          ~ item:1  blue cup
              age: 212.5 → 200
          - image:1  cup.png
              item: item:1 (blue cup)
              name: cup.png
              mediaType: image/png
              sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
              byteCount: 5
          """)
      try expect(
        ["undo", "--by", "eve", "--json"], in: path,
        prints: #"""
          {"revision":5,"dryRun":false,"changes":[{"entity":"item:1","operation":"update",\#
          "changes":{"age":{"old":200,"new":212.5}}},{"entity":"image:1","operation":"add",\#
          "changes":{"@item":{"new":1},"@name":{"new":"cup.png"},"@mediaType":{"new":"image/png"},\#
          "@sha256":{"new":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}}}],\#
          "undoes":[],"conflicts":[]}
          """#)
      #expect(try journal("redo", path, "--by", "eve").code == 0)
      try expect(
        ["undo", "--by", "zoe"], in: path, prints: "", says: "journal: there is nothing for zoe to undo",
        code: 1)
      try expect(
        ["revert", "1", "--dry-run", "--json"], in: path,
        prints: #"""
          {"revision":null,"dryRun":true,"changes":[{"entity":"category:1","operation":"delete",\#
          "changes":{"@name":{"old":"Cups"},"@color":{"old":"#FF8000FF"}}},{"entity":"item:1","operation":"delete",\#
          "changes":{"@kind":{"old":"find"},"@category":{"old":1},"age":{"old":200},\#
          "name":{"old":"blue cup"}}}],"undoes":[],\#
          "conflicts":[{"revision":3,"date":"2026-08-03T00:00:00.000000Z","author":"ana",\#
          "note":"no place after all","entity":"item:1","fields":["found"]}]}
          """#,
        says:
          "journal: entry 1 was not reverted: later edits changed the same fields; --theirs keeps them and reverts the "
          + "rest, "
          + "--force overrides them", code: 1)
      #expect(
        try journal(
          "revert", path, "--author", "ana", "--since", "2026-08-02", "--until", "2026-08-04", "--by", "eve"
        )
        .code == 0)
      #expect(try journal("show", path, "item:2").code == 0)
      #expect(try journal("verify", path).code == 0)
    }
  }

  @Test func anAttributeThatIsNamedAsAFieldIsInQuotationMarks() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Places.journal")
      let places = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      try places.commit { try $0.addItem(kind: "place", attributes: ["kind": .string("bar")]) }
      try places.commit { try $0.updateItem(1, set: ["kind": .string("pub")]) }
      try places.close()
      let diff = try journal("diff", path, "1", "2").output
      let history = try journal("history", path, "item:1").output
      let log = try journal("log", path, "--patch").output
      for printed in [diff, history, log] {
        #expect(printed.contains(#""kind": "bar" → "pub""#), "\(printed)")
      }
      let blame = try journal("blame", path, "item:1").output
      #expect(blame.contains("kind    place") && blame.contains(#""kind"  "pub""#), "\(blame)")
    }
  }

  @Test func diffShowsLongTextsAndNestedValuesOnlyWhereTheyDiffer() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Notes.journal")
      let notes = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      let lines = (1...40).map { "line \($0)" }
      let start = String(repeating: "a common beginning ", count: 10)
      try notes.commit { draft in
        try draft.addItem(
          kind: "note",
          attributes: [
            "text": .string(lines.joined(separator: "\n")), "long": .string(start + "one"),
            "flags": .string(start + "🇩🇪🇫🇷e\u{301} one" + start), "windows": .string("one\r\ntwo"),
            "ends": .string("a\r\nb"),
            "name": .dictionary(["common": .string("A"), "official": .string("B")]),
          ])
      }
      try notes.commit { draft in
        try draft.updateItem(
          1,
          set: [
            "flags": .string(start + "🇩🇪🇫🇹e\u{300} one" + start), "windows": .string("one\r\nthree"),
            "ends": .string("a\nb"),
            "text": .string((lines[..<20] + ["new"] + lines[21...]).joined(separator: "\n")),
            "long": .string(start + "two"),
            "name": .dictionary(["common": .string("A"), "official": .string("C")]),
          ])
      }
      try notes.close()
      try expect(
        ["diff", "1", "2"], in: path,
        prints: """
          ~ item:1  A
              ends:
                @@ line 1
                - a\\r
                + a
                  b
              long: …n beginning one" → …n beginning two"
              name.official: "B" → "C"
              text:
                @@ line 20
                  line 20
                - line 21
                + new
                  line 22
              flags: … beginning 🇩🇪🇫🇷é onea common… → … beginning 🇩🇪🇫🇹è onea common…
              windows:
                @@ line 1
                  one\\r
                - two
                + three
          """)
      let full = try journal("diff", path, "1", "2", "--full").output
      #expect(full.contains(start + "one") && full.contains("line 40"))
      #expect(try journal("blame", path, "item:1", "--full").output.contains(start + "two"))
      #expect(try journal("show", path, "item:1", "--full").output.contains(start + "two"))
      #expect(try !journal("show", path, "item:1").output.contains(start + "two"))
    }
  }

  @Test func tablesFitTheTerminalAndDatesAreLocalOnRequest() throws {
    try withFixedJournal { path, _ in
      let narrow = try journal("log", path, environment: ["COLUMNS": "72"]).output
      #expect(narrow.split(separator: "\n").allSatisfy { $0.count <= 72 })
      #expect(narrow.contains("…"))
      let local = try journal("log", path, "-n1", "--local", environment: ["TZ": "America/New_York"]).output
      #expect(local.contains("DATE (LOCAL)") && local.contains("2026-08-02 20:00:00"))
      let day = try journal(
        "show", path, "item:2@2026-08-02 20:00", "--local", environment: ["TZ": "America/New_York"])
      #expect(day.code == 1 && day.error.contains("revision 3"))
    }
  }

  /// Dates in UTC were printed under the title DATE (LOCAL), and restores took another point.
  @Test func aZoneThatCanNotBeReadIsAnErrorOfLocal() throws {
    try withFixedJournal { path, _ in
      for zone in ["<+0330>-3:30", "Amerca/New_York", ":Europe/Berlin", "GMT+3"] {
        let refused = try journal("log", path, "--local", environment: ["TZ": zone])
        #expect(refused.code == 2 && refused.output.isEmpty, "\(refused)")
        #expect(
          refused.error.contains("TZ=\(zone); set TZ to a name of the time zone database"), "\(refused)")
        #expect(try journal("log", path, environment: ["TZ": zone]).code == 0)
      }
      for zone in ["UTC", "UTC0", "Europe/Berlin", ":/etc/localtime", ""] {
        let read = try journal("log", path, "--local", environment: ["TZ": zone])
        #expect(read.code == 0, "\(zone): \(read)")
      }
    }
  }

  @Test func completionsAndTheManualNameEveryVerb() throws {
    let verbs = try journal("help").output.split(separator: "\n")
      .filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") && $0.contains("  ") }
      .compactMap { $0.split(separator: " ").first.map(String.init) }
    #expect(verbs.contains("restore"))
    for shell in ["bash", "zsh", "fish"] {
      let script = try journal("completions", shell).output
      #expect(script.contains("restore") && script.contains("keep-new") && script.contains("blame"))
    }
    let syntax = try run("bash", ["-n"], input: Data(try journal("completions", "bash").output.utf8))
    #expect(syntax.code == 0 && syntax.error.isEmpty)
    #expect(try journal("completions", "csh").code == 2)
    let page = try journal("man").output
    #expect(page.hasPrefix(".TH JOURNAL 1") && page.contains(".SS journal restore"))
    // man takes quotation marks around an argument of a macro away.
    #expect(page.contains("jq \\-e \\(dq.items") && !page.dropFirst(100).contains("\""))
  }
}
