import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// What the verbs print of entries whose authors were erased and whose clock was wrong.
@Suite struct AttributionTests {
  /// Two persons, the first of which is erased. The clock was a day slow at the second entry, which also made a tag.
  private func withErasedPerson(_ body: (String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Persons.journal")
      let url = URL(filePath: path)
      func date(_ text: String) -> Date? { Timestamp(text)?.date }
      let whole = try CatalogJournal.create(at: url)
      try whole.commit(by: "Smith", note: "by Smith", date: date("2026-08-02T10:00:00Z")) { draft in
        try draft.addItem(kind: "person", attributes: ["name": "Smith"])
        try draft.addItem(kind: "person", attributes: ["name": "Bob", "age": 30])
      }
      try whole.commit(by: "Smith", note: "of Smith", date: date("2026-08-01T10:00:00Z")) { draft in
        try draft.updateItem(1, set: ["phone": "Smith's"])
        try draft.updateItem(2, set: ["age": 31])
        try draft.addTag("old", at: 1)
      }
      try whole.close()
      try CatalogJournal.erase([.item(1)], at: url, reason: "by law", by: "eve", includingWords: true)
      try body(path)
    }
  }

  /// The members that name an entry in JSON.
  private let late =
    #""date":"2026-08-02T10:00:00.000000Z","clockDate":"2026-08-01T10:00:00.000000Z","author":null,"note":null"#

  @Test func blameShowsErasedAuthorsAndTheClocksDate() throws {
    try withErasedPerson { path in
      try expect(
        ["blame", "item:2"], in: path,
        prints: """
          FIELD  VALUE   REVISION  DATE (UTC)           AUTHOR    NOTE
          kind   person         1  2026-08-02 10:00:00  (erased)
          age    31             2  2026-08-02 10:00:00  (erased)  [clock: 2026-08-01 10:00:00]
          name   "Bob"          1  2026-08-02 10:00:00  (erased)
          """)
      let first = #""revision":1,"date":"2026-08-02T10:00:00.000000Z","author":null,"note":null}"#
      try expect(
        ["blame", "item:2", "--json"], in: path,
        prints: """
          {"entity":"item:2","field":"@kind","value":"person",\(first)
          {"entity":"item:2","field":"age","value":31,"revision":2,\(late)}
          {"entity":"item:2","field":"name","value":"Bob",\(first)
          """)
      // The clock's date is in the same time zone as the other dates.
      let local = try journal("blame", path, "item:2", "--local", environment: ["TZ": "America/New_York"])
      #expect(local.output.contains("2026-08-02 06:00:00  (erased)  [clock: 2026-08-01 06:00:00]"))
    }
  }

  @Test func bisectShowsAnErasedAuthorAndTheClocksDate() throws {
    try withErasedPerson { path in
      try expect(
        ["bisect", "item:2", "--where", "age=31"], in: path,
        prints: """
          revision 3: yes
          revision 1: no
          revision 2: yes
          first held at revision 2, 2026-08-02 10:00:00, (erased): [clock: 2026-08-01 10:00:00]
          """)
      try expect(
        ["bisect", "item:2", "--where", "age=31", "--json"], in: path,
        prints: #"{"revision":2,\#(late),"states":3}"#)
    }
  }

  @Test func tagsShowErasedAuthorsAndTheClocksDate() throws {
    try withErasedPerson { path in
      try expect(
        ["tag"], in: path,
        prints: """
          TAG  REVISION  MADE (UTC)           AUTHOR    NOTE
          old         1  2026-08-02 10:00:00  (erased)  [clock: 2026-08-01 10:00:00]
          """)
      try expect(["tag", "--json"], in: path, prints: #"{"name":"old","revision":1,\#(late)}"#)
    }
  }

  @Test func restoresAndRevertsShowErasedAuthorsAndTheClocksDateOfLaterEdits() throws {
    try withErasedPerson { path in
      let table = """
        REVISION  DATE (UTC)           AUTHOR    ENTITY        CHANGE  NOTE
               2  2026-08-02 10:00:00  (erased)  item:2 (Bob)  age     [clock: 2026-08-01 10:00:00]
        """
      try expect(
        ["restore", "item:2", "--at", "1", "--dry-run"], in: path,
        prints: """
          dry run: restored item:2 as of revision 1: 1 entity would change; nothing was written

          ~ item:2  Bob
              age: 31 → 30

          Later edits that it would undo:
          \(table)
          """)
      let edit = #"{"revision":2,\#(late),"entity":"item:2","fields":["age"]}"#
      try expect(
        ["restore", "item:2", "--at", "1", "--dry-run", "--json"], in: path,
        prints: #"""
          {"revision":null,"dryRun":true,"changes":[{"entity":"item:2","operation":"update",\#
          "changes":{"age":{"old":31,"new":30}}}],"undoes":[\#(edit)],"conflicts":[]}
          """#)
      let refusal =
        "journal: entry 1 was not reverted: later edits changed the same fields; --theirs keeps them and reverts the "
        + "rest, --force overrides them"
      try expect(
        ["revert", "1", "--dry-run"], in: path,
        prints: """
          reverting entry 1 with --force would change 1 entity, but later edits conflict; nothing was written

          - item:2  Bob
              kind: person
              age: 31
              name: "Bob"

          Conflicting later edits:
          \(table)
          """, says: refusal, code: 1)
      try expect(
        ["revert", "1", "--dry-run", "--json"], in: path,
        prints: #"""
          {"revision":null,"dryRun":true,"changes":[{"entity":"item:2","operation":"delete",\#
          "changes":{"@kind":{"old":"person"},"age":{"old":31},"name":{"old":"Bob"}}}],\#
          "undoes":[],"conflicts":[\#(edit)]}
          """#, says: refusal, code: 1)
      // An erased author is no one's, so not that of the empty name either.
      let several = try journal("revert", path, "1", "2", "--dry-run").output
      #expect(several.contains("entry 2, by (erased): [clock: 2026-08-01 10:00:00]\n"), "\(several)")
      #expect(several.contains("entry 1, by (erased)\n"), "\(several)")
      try check("revert", path, "--author", "", "--dry-run", code: 1, says: "no entry matches")
    }
  }

  @Test func historiesEntriesAndLogsShowErasedAuthorsAndTheClocksDate() throws {
    try withErasedPerson { path in
      try expect(
        ["history", "item:2"], in: path,
        prints: """
          revision 2  2026-08-02 10:00:00  (erased)  [clock: 2026-08-01 10:00:00]
          ~ item:2  Bob
              age: 30 → 31
          revision 1  2026-08-02 10:00:00  (erased)
          + item:2  Bob
              kind: person
              age: 30
              name: "Bob"
          """)
      let history = try journal("history", path, "item:2", "--json").output
      #expect(history.hasPrefix(#"{"revision":2,"entity":"item:2",\#(late),"event":"#), "\(history)")
      let entry = try journal("show", path, "2").output
      #expect(
        entry.contains(
          """
          Date:    2026-08-02T10:00:00.000000Z
          Clock:   2026-08-01T10:00:00.000000Z
          Author:  (erased)
          """), "\(entry)")
      #expect(entry.contains("~ item:1\n    content: (erased)\n~ item:2  Bob\n"), "\(entry)")
      #expect(
        try journal("show", path, "2", "--json").output.hasPrefix(
          #"{"revision":2,\#(late),"metadata":null,"#))
      let log = try journal("log", path, "--until", "2", "--stat").output
      #expect(
        log.contains("10:00:00  (erased)              +1 ~2         [clock: 2026-08-01 10:00:00]\n"), "\(log)"
      )
      // An erased event had no such mark if it was an add.
      #expect(log.contains("~ item:1: update, erased\n") && log.contains("+ item:1: add, erased\n"), "\(log)")
    }
  }

  @Test func diffFindReplayAndExportHaveOnlyWhatWasNotErased() throws {
    try withErasedPerson { path in
      try expect(
        ["diff", "0", "1"], in: path,
        prints: """
          + item:2  Bob
              kind: person
              age: 30
              name: "Bob"
          """)
      try expect(
        ["diff", "0", "1", "--json"], in: path,
        prints: #"""
          {"entity":"item:2","operation":"add",\#
          "changes":{"@kind":{"new":"person"},"age":{"new":30},"name":{"new":"Bob"}}}
          """#)
      try expect(
        ["find", "--kind", "person", "--at", "1"], in: path,
        prints: """
          ENTITY      KIND        CHANGED  LABEL
          item:2      person            1  Bob
          """)
      try expect(
        ["find", "--kind", "person", "--json"], in: path,
        prints: #"{"entity":"item:2","label":"Bob","kind":"person","revision":2}"#)
      #expect(try journal("find", path, "--deleted").code == 1)
      let replay = try journal("replay", path, "--at", "2").output
      #expect(replay.contains("\n1 item, 0 categories, 0 images\n"), "\(replay)")
      let state = try journal("replay", path, "--at", "2", "--json").output
      #expect(
        state.hasSuffix(
          #"""
          "categories":[],"items":[{"id":2,"kind":"person","category":null,"attributes":{"age":31,"name":"Bob"},\#
          "images":[],"created":1,"modified":2}],"images":[]}

          """#), "\(state)")
      let folder = path + "-exported"
      try expect(
        ["export", "defaults", "--to", folder, "--json"], in: path,
        prints: #"{"source":"defaults","revision":3,"items":1,"written":1,"unchanged":0,"problems":[]}"#)
      #expect(
        try journal("export", path, "defaults", "--to", folder).output
          == "exported defaults as of revision 3: 1 item, 0 files written, 1 as before\n")
      let file = try Data(contentsOf: URL(filePath: folder + "/Preferences.plist"))
      #expect(file.range(of: Data("Bob".utf8)) != nil && file.range(of: Data("Smith".utf8)) == nil)
    }
  }

  @Test func noVerbPrintsAnythingThatWasErased() throws {
    try withErasedPerson { path in
      let lines = [
        "blame item:1", "blame item:2", "bisect item:2", "diff 0", "find", "find --at 1", "find --deleted",
        "history item:1", "history item:2", "log", "log --patch", "replay", "replay --at 1",
        "restore item:1 --at 1 --dry-run", "restore --all --at 0 --dry-run", "revert 1 --dry-run",
        "revert 2 --dry-run", "show 1", "show 2", "show item:1", "show item:1@1", "show item:2", "stat",
        "tag",
      ]
      for line in lines {
        let words = line.split(separator: " ").map(String.init)
        for options in [[], ["--json"]] {
          let result = try run(journalPath, [words[0], path] + words.dropFirst() + options)
          let printed = String(decoding: result.output + result.error, as: UTF8.self)
          #expect(!printed.isEmpty && result.code < 2 && !printed.contains("Smith"), "\(line): \(printed)")
        }
      }
    }
  }
}
