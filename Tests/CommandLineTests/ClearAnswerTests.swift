import CatalogModel
import Foundation
import TestSupport
import Testing

/// Commands that could be meant in two ways, or whose answer could be misunderstood.
@Suite struct ClearAnswerTests {
  /// The point of one entity was applied to the others.
  @Test func aRestoreOfSeveralEntitiesNeedsAPointForAll() throws {
    try withFixedJournal { path, _ in
      for words in [["item:1@1", "item:2"], ["item:2", "item:1@1"]] {
        let mixed = try journal("restore", path, words[0], words[1], "--dry-run")
        #expect(mixed.code == 2 && mixed.error.contains("--at is missing for item:2;"), "\(mixed)")
      }
      #expect(try journal("restore", path, "item:1@1", "item:2@1", "--dry-run").code == 0)
    }
  }

  /// Nothing was found, as if no entity had such a value.
  @Test func fieldsThatNoEntityCanHaveAreErrors() throws {
    try withFixedJournal { path, _ in
      for words in [["find", "--where", "@colour=1"], ["log", "--touched", "@colour"]] {
        try check(words[0], path, words[1], words[2], code: 2, says: "there is no field @colour")
      }
      try check(
        "find", path, "--where", "@category=Cups", code: 2, says: "@category is the number of a category")
      #expect(try journal("find", path, "--where", "@category=1").code == 0)
      #expect(try journal("find", path, "--where", "@category!=null").code == 0)
      let nested = try journal("log", path, "--touched", "name.common")
      #expect(nested.error == "no entry matches; entries record whole attributes, such as name\n")
    }
  }

  @Test func aSearchPrintsAtMostAsManyEntitiesAsAsked() throws {
    try withFixedJournal { path, _ in
      let all = try journal("find", path, "--json").output.split(separator: "\n")
      #expect(all.count > 2)
      for count in [0, 1, 2, 100] {
        let some = try journal("find", path, "--json", "-n", "\(count)")
        #expect(some.code == 0 && some.output.split(separator: "\n") == Array(all.prefix(count)), "\(some)")
      }
      let table = try journal("find", path, "-n", "1").output.split(separator: "\n")
      #expect(table.count == 2 && table[0].hasPrefix("ENTITY"))
    }
  }

  /// The whole entry was reverted.
  @Test func anEntityNamesAnEntryToRevertOnlyIfThatChangedNothingElse() throws {
    try withFixedJournal { path, _ in
      let refused = try check("revert", path, "item:1", "--dry-run", code: 2)
      #expect(
        refused.error.contains("item:1 names entry 3, which also changed item:2; write 3 to revert it"),
        "\(refused)")
      #expect(try journal("revert", path, "3", "--dry-run").code == 0)
      let app = try CatalogJournal.open(at: URL(filePath: path))
      try app.commit { try $0.updateItem(1, set: ["age": 7]) }
      try app.close()
      #expect(try journal("revert", path, "item:1", "--dry-run").code == 0)
    }
  }

  /// Another entry replaced the reason and the author, and a deleted entity was said to be there at an earlier point.
  @Test func whatIsErasedAlreadyIsNotErasedAgain() throws {
    try withFixedJournal { path, _ in
      #expect(try journal("erase", path, "item:2", "--reason", "by law", "--by", "eve").code == 0)
      let again = try journal("erase", path, "item:2", "--reason", "again", "--by", "bob")
      #expect(
        again == Outcome(code: 0, output: "nothing to erase: no content of item:2 is left\n", error: ""))
      let words = try journal("erase", path, "item:2", "--reason", "words", "--by", "bob", "--notes")
      #expect(words.output.contains("the annotations of 2 entries\nentry 5 records this"), "\(words)")
      let none = try journal("erase", path, "item:2", "--reason", "words", "--by", "bob", "--notes")
      #expect(none.output.hasPrefix("nothing to erase"), "\(none)")
      for verb in ["show", "blame"] {
        let shown = try check(verb, path, "item:2", code: 1, says: "its content was erased")
        #expect(shown.error.contains("entry 4 erased it, by eve: by law"), "\(shown)")
        #expect(!shown.error.contains("what it was before"), "\(shown)")
      }
      let log = try journal("log", path).output
      #expect(log.contains(#/ 4 .* eve +erased +by law/#), "\(log)")
    }
  }

  /// Each deletion was found.
  @Test func aDeletionTouchesOnlyWhatTheItemHad() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      try made.commit { draft in
        try draft.addItem(kind: "book", attributes: ["title": "Dune"])
        try draft.addItem(kind: "person", attributes: ["name": "Ana"])
      }
      try made.commit { try $0.deleteItem(1) }
      try made.commit { try $0.deleteItem(2) }
      try made.close()
      for (field, revisions) in [("title", [2, 1]), ("name", [3, 1]), ("@kind", [3, 2, 1]), ("stars", [])]
        as [(String, [Int])]
      {
        let output = try journal("log", path, "--json", "--touched", field).output
        let found = output.matches(of: /"revision":([0-9]+),"date"/).compactMap { Int($0.output.1) }
        #expect(found == revisions, "\(field): \(output)")
      }
    }
  }

  @Test func aFieldWithoutItsSignIsNamedWithIt() throws {
    try withFixedJournal { path, _ in
      let hint = "; the catalog's own field is @kind\n"
      let touched = try journal("log", path, "--touched", "kind")
      #expect(touched == Outcome(code: 0, output: "", error: "no entry matches" + hint))
      let found = try journal("find", path, "--where", "kind=find")
      #expect(found.code == 1 && found.error.hasSuffix(hint), "\(found)")
      try check(
        "restore", path, "item:1", "--at", "1", "--fields", "kind", code: 1, says: "own field is @kind")
      #expect(try journal("find", path, "--where", "@kind=find").code == 0)
    }
  }

  /// Without a revision of that number, the year of the entries was not found.
  @Test func aYearOfTheEntriesIsAPoint() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      try made.commit(note: "the first", date: Timestamp("2025-06-01T00:00:00Z")?.date) {
        _ = try $0.addItem(kind: "book")
      }
      try made.close()
      try check("log", path, "--since", "2025", prints: "the first")
      try check("log", path, "--since", "2024", code: 1, says: "there is no revision 2024")
      // A year that has not begun was a revision.
      try check("log", path, "--until", "2099", prints: "the first")
      try check("log", path, "--until", "9999", code: 1, says: "there is no revision 9999")
    }
  }

  /// The category that has the name now was deleted with its items, the one that had it then was not restored, and find
  /// and bisect looked for items of the wrong one.
  @Test func theNameOfACategoryIsTheOneThatItHadThen() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      func add(_ title: String) throws {
        try made.commit { draft in
          let novels = try draft.addCategory(name: "Novels")
          try draft.addItem(kind: "book", category: novels, attributes: ["title": .string(title)])
        }
      }
      try add("Dune")
      try made.commit { draft in
        try draft.deleteItem(1)
        try draft.deleteCategory(1)
      }
      try add("Solaris")
      try made.close()
      let then = try journal("find", path, "--category", "Novels", "--at", "1").output
      #expect(then.contains("Dune") && !then.contains("Solaris"), "\(then)")
      let now = try journal("find", path, "--category", "Novels").output
      #expect(now.contains("Solaris") && !now.contains("Dune"), "\(now)")
      try check("bisect", path, "--category", "Novels", "--where", "title=Dune", "--to", "1")
      let log = try journal("log", path, "--category", "Novels", "--until", "1", "--json").output
      #expect(log.contains(#"{"revision":1,"#), "\(log)")

      let refused = try check("restore", path, "--category", "Novels", "--at", "1", code: 2)
      #expect(
        refused.error.contains(
          "\"Novels\" was the name of category:1 at revision 1, and is that of category:2 now; write the one to "
            + "restore, such as --category category:1"), "\(refused)")
      let restored = try check(
        "restore", path, "--category", "category:1", "--at", "1", prints: "+ item:1  Dune")
      #expect(!restored.output.contains("category:2") && !restored.output.contains("item:2"), "\(restored)")

      let app = try CatalogJournal.open(at: URL(filePath: path))
      try app.commit { draft in
        try draft.setName(ofCategory: 1, to: "Old")
        try draft.setName(ofCategory: 2, to: "New")
      }
      try app.close()
      let past = try journal("restore", path, "--category", "Novels", "--at", "1", "--dry-run").output
      #expect(past.contains("name: Old → Novels") && !past.contains("category:2"), "\(past)")
      // No category had this name then.
      let newer = try journal("restore", path, "--category", "New", "--at", "1", "--dry-run").output
      #expect(newer.contains("- category:2  New") && newer.contains("- item:2  Solaris"), "\(newer)")
    }
  }

  /// Without a hint, it seemed that the author that log finds had made no entry.
  @Test func anAuthorThatIsNotFoundIsNamedAsItIsWritten() throws {
    try withFixedJournal { path, _ in
      #expect(try journal("log", path, "--author", "BE").output.contains("a photo"))
      let part = try check("revert", path, "--author", "BE", "--dry-run", code: 1)
      #expect(
        part.error.contains("no author is named \"BE\"; log --author also finds parts of names: ben"),
        "\(part)")
      for verb in ["undo", "redo"] {
        let other = try check(verb, path, "--by", "ANA", "--dry-run", code: 1)
        #expect(other.error.contains("there is nothing for ANA to \(verb) (did you mean ana?)"), "\(other)")
      }
      // The name is right, so nothing else is suggested.
      let right = try journal("redo", path, "--by", "ana").error
      #expect(right == "journal: there is nothing for ana to redo\n", "\(right)")
    }
  }

  /// No state was asked for, but the error was that it can't be made.
  @Test func aLogSinceADateBeforeThePruningBeginsThere() throws {
    try withFixedJournal { path, _ in
      let dry = try journal("prune", path, "--before", "2", "--dry-run").output
      #expect(dry.hasPrefix("would remove entries 1 to 2 of "), "\(dry)")
      #expect(try journal("prune", path, "--before", "2", "--reason", "room", "--by", "eve").code == 0)
      for point in ["2026-08-01", "2020"] {
        for words in [[], ["--reverse"]] {
          let result = try journal(["log", path, "--since", point] + words)
          #expect(result.code == 0 && result.output.contains("no place after all"), "\(result.output)")
          #expect(
            result.output.contains("history up to revision 2, of 2026-08-02 11:30:00, was pruned"),
            "\(result.output)")
          #expect(result.output.contains(/eve +pruned +room/), "\(result.output)")
        }
      }
      try check("replay", path, "--at", "2026-08-01", code: 1, says: "can't be made any more")
    }
  }

  @Test func aConditionWithTwoSignsIsRefusedAndBlanksAroundTheFieldAreNot() throws {
    try withFixedJournal { path, _ in
      try check("find", path, "--where", "age==212.5", code: 2, says: "age=212.5 instead of")
      #expect(try journal("find", path, "--where", "age = 212.5").code == 0)
      #expect(try journal("find", path, "--where", " = 212.5").code == 2)
    }
  }

  /// It said only that there are no differences.
  @Test func aDiffFromAnEntitySaysWhatThatMeans() throws {
    try withFixedJournal { path, _ in
      try check("diff", path, "item:1", says: "item:1 is the point of its newest change")
      #expect(try journal("diff", path, "1", "item:1").error == "")
    }
  }

  @Test func whatTheCommandOfABisectionPrintsIsNoResult() throws {
    try withFixedJournal { path, _ in
      let found = try check(
        "bisect", path, "--run", "echo noise; grep -q cup.png", prints: "first held at revision 2")
      #expect(!found.output.contains("noise") && found.error.contains("noise"), "\(found)")
    }
  }

  /// The journal of a variable that is not set was looked for in the current folder.
  @Test func anEmptyPathIsWrongUse() throws {
    for words in [["log", ""], ["salvage", "", "--to", "x"], ["import", "", "plist", "x"]] {
      let result = try journal(words)
      #expect(
        result.code == 2 && result.error.hasPrefix("journal: JOURNAL is empty; "), "\(words): \(result.error)"
      )
    }
  }
}
