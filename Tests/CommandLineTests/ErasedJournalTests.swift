import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// What the verbs say about erased content, and about two dates that differ.
@Suite struct ErasedJournalTests {
  private func output(_ words: [String], code: Int32 = 0) throws -> String {
    try withFixedJournal { path, folder in
      let erased = folder.path("Erased.journal")
      try FileManager.default.copyItem(atPath: path, toPath: erased)
      try CatalogJournal.erase(
        [.item(1)], at: URL(fileURLWithPath: erased), reason: "by law", includingWords: true)
      let result = try run(journalPath, [words[0], erased] + words.dropFirst())
      #expect(result.code == code)
      return String(decoding: result.output + result.error, as: UTF8.self)
    }
  }

  @Test func historyListsErasedEvents() throws {
    let text = try output(["history", "item:1"])
    #expect(text.contains("+ item:1\n    content: (erased)"))
    #expect(text.contains("~ item:1\n    content: (erased)"))
    #expect(text.contains("(erased)"))
    #expect(!text.contains("age"))
    let table = try output(["history", "item:1", "--stat"])
    #expect(table.contains("add, erased"))
    #expect(table.contains("update, erased"))
    let json = try output(["history", "item:1", "--json"])
    let oldestFirst = try output(["history", "item:1", "--json", "--reverse"])
    #expect(oldestFirst.split(separator: "\n") == json.split(separator: "\n").reversed())
    #expect(json.contains(#""author":null,"note":null"#))
    #expect(json.contains(#""operation":"add","entity":"item:1","previous":0,"erased":true,"changes":{}"#))
  }

  @Test func showSaysThatAnEntityWasErased() throws {
    #expect(try output(["show", "item:1"], code: 1).contains("erased"))
    let entry = try output(["show", "2"])
    #expect(entry.contains("Author:  (erased)"))
    #expect(entry.contains("~ item:1\n    content: (erased)"))
    #expect(!entry.contains("phone"))
  }

  /// The verb said that everything was as requested already.
  @Test func anEntryWhoseContentWasErasedCanNotBeReverted() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("J.journal")
      let app = try CatalogJournal.create(at: URL(filePath: path))
      for name in ["Ana", "Bob"] {
        try app.commit(by: "ana") { _ = try $0.addItem(kind: "person", attributes: ["name": .string(name)]) }
      }
      try app.close()
      #expect(try journal("erase", path, "item:2", "--reason", "by law", "--by", "ana").code == 0)
      try check("revert", path, "2", code: 2, says: "the content of its changes was erased")
      try check("revert", path, "3", code: 2, says: "it changed no entity")
      // The author can still undo what is left.
      try check("undo", path, "--by", "ana", prints: "undid entry 1")
    }
  }

  /// It said that everything was as requested already, or left the erased item out and did not say so.
  @Test func aRestoreOfAGroupNamesWhatWasErased() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("J.journal")
      let app = try CatalogJournal.create(at: URL(filePath: path))
      for name in ["Ana", "Bob"] {
        try app.commit { _ = try $0.addItem(kind: "person", attributes: ["name": .string(name)]) }
      }
      try app.close()
      #expect(try journal("erase", path, "item:2", "--reason", "by law").code == 0)
      let note = "journal: these can't be restored, because their content at revision 2 was erased: item:2"
      let nothing = "nothing to do: everything else is as requested already\n"
      for (words, rest) in [
        (["--all"], ""), (["--kind", "person"], "; whether they had this kind is not known"),
      ] {
        let result = try journal(["restore", path, "--at", "2"] + words)
        let (output, error) = (result.output, result.error)
        #expect(result.code == 0 && output == nothing && error == note + rest + "\n", "\(words): \(error)")
      }
      try check("restore", path, "--kind", "place", "--at", "2", code: 1, says: note)
      // It did not exist yet.
      let earlier = try journal("restore", path, "--all", "--at", "1")
      #expect(earlier.output == "nothing to do: everything is as requested already\n", "\(earlier)")
      #expect(earlier.error.isEmpty, "\(earlier)")
    }
  }

  /// It looked like an item of a category that exists, or of none.
  @Test func anItemOfAnErasedCategoryIsShownWithItsReference() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let app = try CatalogJournal.create(at: URL(filePath: path))
      try app.commit { draft in
        let category = try draft.addCategory(name: "Secret")
        try draft.addItem(kind: "book", category: category, attributes: ["title": "Dune"])
        try draft.addItem(kind: "book", attributes: ["title": "Emma"])
        let other = try draft.addCategory(name: "Open")
        try draft.addItem(kind: "book", category: other, attributes: ["title": "Ulysses"])
      }
      try app.close()
      #expect(try journal("erase", path, "category:1", "--reason", "by law").code == 0)
      let shown = try journal("show", path, "item:1").output
      #expect(shown.contains("\n  category      category:1 (erased)\n"), "\(shown)")
      let blame = try journal("blame", path, "item:1").output
      #expect(blame.contains(/category +category:1 \(erased\) +1/), "\(blame)")
      let replay = try journal("replay", path).output
      #expect(replay.contains(/category +\(none\) +1\ncategory +category:1 \(erased\) +1\n/), "\(replay)")
      #expect(replay.contains(/item:1 +book +category:1 \(erased\) +1/), "\(replay)")
      // JSON has the number.
      let item = #"{"id":1,"kind":"book","category":1,"#
      #expect(try journal("show", path, "item:1", "--json").output.hasPrefix(item))
      let state = try journal("replay", path, "--json").output
      let open = #"{"id":2,"name":"Open","color":null,"created":1,"modified":1}"#
      #expect(state.contains(#""categories":[\#(open)],"items":[\#(item)"#), "\(state)")
      #expect(!state.contains("Secret"), "\(state)")
      #expect(try journal("blame", path, "item:1", "--json").output.contains(#""@category","value":1,"#))
      let history = try journal("history", path, "item:1").output
      #expect(history.contains("\n    category: category:1 (erased)\n"), "\(history)")
      // One that exists is not marked.
      let other = try journal("show", path, "item:3").output
      #expect(other.contains("\n  category      category:2 (Open)\n"), "\(other)")
    }
  }

  @Test func logShowsThatAuthorAndNoteWereErased() throws {
    #expect(try output(["log"]).contains("2026-08-02 11:30:00  (erased)"))
    #expect(try output(["log", "--json"]).contains(#""author":null,"note":null,"metadata":null"#))
  }

  @Test func verifyFindsAnErasedJournalSoundAndCountsWhatWasErased() throws {
    let text = try output(["verify", "--deep"])
    #expect(text.contains("all is well"))
    #expect(text.contains("4 events were erased"))
    #expect(try output(["verify", "--json"]).contains(#""erasedEvents":4"#))
  }

  @Test func twoDatesThatDifferAreBothShown() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Clock.journal")
      let clocks = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      func date(_ text: String) -> Date? { Timestamp(text)?.date }
      try clocks.commit(by: "ana", date: date("2026-08-02T10:00:00Z")) { try $0.addItem(kind: "find") }
      try clocks.commit(by: "ben", note: "late", date: date("2026-08-01T10:00:00Z")) {
        try $0.addItem(kind: "find")
      }
      // A difference of less than a second is ignored.
      try clocks.commit(by: "eve", date: date("2026-08-02T09:59:59.5Z")) { try $0.addItem(kind: "find") }
      try clocks.close()
      func output(_ words: String...) throws -> String {
        let result = try journal([words[0], path] + words.dropFirst())
        #expect(result.code == 0)
        return result.output
      }
      #expect(try output("log").contains("late [clock: 2026-08-01 10:00:00]"))
      #expect(try output("log").components(separatedBy: "clock").count == 2)
      let json = try output("log", "--json")
      #expect(
        json.contains(#""date":"2026-08-02T10:00:00.000000Z","clockDate":"2026-08-01T10:00:00.000000Z""#))
      #expect(json.components(separatedBy: "clockDate").count == 2)
      #expect(try output("show", "2").contains("Clock:   2026-08-01T10:00:00.000000Z"))
      #expect(try output("history", "item:2").contains("[clock: 2026-08-01 10:00:00]"))
      #expect(try output("history", "item:2", "--json").contains("clockDate"))
      // Points in time refer to the date that orders entries.
      #expect(try output("log", "--until", "2026-08-01T12:00:00Z").isEmpty)
    }
  }

  @Test func refusingAJournalOfAnotherModelNamesBothModels() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Bank.journal")
      try Journal<Bank>.create(at: URL(fileURLWithPath: path)).close()
      for verb in ["log", "stat", "verify", "replay"] {
        let result = try journal([verb, path])
        #expect(result.code != 0)
        #expect(result.error.contains("bank/3"), "\(result.error)")
        #expect(result.error.contains("catalog/2"), "\(result.error)")
      }
    }
  }
}

/// A model that the command line does not know.
struct Bank: EventSourced {
  static let schema = "bank/3"
  static let kindNames = ["account"]
  func record(of entity: EntityKey) -> EntityRecord? { nil }
  func revision(of entity: EntityKey) -> Revision { 0 }
  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {}
}
