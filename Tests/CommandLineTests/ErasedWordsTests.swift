import CatalogModel
import Foundation
import TestSupport
import Testing

/// `erase --notes` finds the copies of a note that reverts, undos and redos have made, and names those of people.
@Suite struct ErasedWordsTests {
  private static let secret = "Smith is ill"

  /// Two items that the second entry changes, and whose first one is changed back by the third. So the reverts of the
  /// second entry change only the other item, and quote its note.
  private func withQuotes(
    note: String = secret, _ body: (_ path: String, _ folder: TemporaryFolder) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Persons.journal")
      let app = try CatalogJournal.create(at: URL(filePath: path))
      try app.commit(by: "ana", note: "first") { draft in
        for _ in 1...2 { try draft.addItem(kind: "person", attributes: ["age": 30]) }
      }
      try app.commit(by: "bob", note: note) { draft in
        for item in 1...2 { try draft.updateItem(Catalog.Item.ID(item), set: ["age": 31]) }
      }
      try app.commit(by: "ana", note: "back") { try $0.updateItem(1, set: ["age": 32]) }
      try app.close()
      for words in [
        ["revert", "2", "--theirs", "--by", "eve"], ["undo", "--by", "eve"], ["redo", "--by", "eve"],
      ] {
        #expect(try run(journalPath, [words[0], path] + words.dropFirst()).code == 0)
      }
      try body(path, folder)
    }
  }

  private static func update(age: Int) -> String {
    #"[{"operation":"update","entity":"item:2","changes":{"attributes":{"age":\#(age)}}}]"#
  }

  private func holds(_ place: String, _ text: String = secret) throws -> Bool {
    if let bytes = FileManager.default.contents(atPath: place) {
      return bytes.range(of: Data(text.utf8)) != nil
    }
    return try FileManager.default.subpathsOfDirectory(atPath: place).contains { name in
      FileManager.default.contents(atPath: "\(place)/\(name)")?.range(of: Data(text.utf8)) != nil
    }
  }

  @Test func erasingANoteErasesWhatRevertsUndosAndRedosQuoteOfItAlsoInBackups() throws {
    try withQuotes { path, folder in
      let (backup, file) = (folder.path("Persons.backup"), folder.path("Persons.jbak"))
      #expect(try journal("backup", path, backup).code == 0)
      #expect(try journal("backup", path, file, "--file").code == 0)
      let notes = try journal("log", path).output
      for note in [
        "reverted entry 2: Smith is ill", "undid entry 4: reverted entry 2: Smith is ill",
        "redid what was undone by entry 5: undid entry 4: reverted entry 2: Smith is ill",
      ] {
        #expect(notes.contains(note), "\(notes)")
      }
      let erased = try journal("erase", path, "item:1", "--reason", "by law", "--notes")
      #expect(
        erased.code == 0 && erased.output.contains("the annotations of 6 entries\nentry 7"), "\(erased)")
      #expect(try journal("backup", path, backup).code == 0)
      #expect(try journal("backup", path, file, "--file").code == 0)
      for place in [path, backup, file] { #expect(try !holds(place), "\(place)") }
      for place in [path, backup] { #expect(try journal("verify", place, "--deep").code == 0) }
      let again = try journal("erase", path, "item:1", "--reason", "by law", "--notes")
      #expect(again.output == "nothing to erase: no content of item:1 is left\n", "\(again)")
    }
  }

  /// Earlier versions left the quotes when they erased the note.
  @Test func aNewErasureFindsQuotesOfANoteThatWasErasedBefore() throws {
    try withQuotes { path, _ in
      #expect(try journal("erase", path, "item:1", "--reason", "by law").code == 0)
      #expect(try holds(path))
      let erased = try journal("erase", path, "item:1", "--reason", "the notes too", "--notes")
      #expect(erased.code == 0 && erased.output.contains("the annotations of 6 entries"), "\(erased)")
      #expect(try !holds(path))
    }
  }

  @Test func textsThatPeopleWroteElsewhereAreNamedAndStay() throws {
    try withQuotes { path, _ in
      let own = [
        ["--note", "see entry 2 (smith is ILL), as Bob says"], ["--note", "Smith is illustrious"],
        ["--note", "reverted entry 2: by request"],
      ]
      for (index, note) in own.enumerated() {
        let made = try run(
          journalPath, ["commit", path] + note, input: Data(Self.update(age: 40 + index).utf8))
        #expect(made.code == 0, "\(String(decoding: made.error, as: UTF8.self))")
      }
      let erased = try journal("erase", path, "item:1", "--reason", "by law", "--notes", "--json")
      #expect(erased.output.contains(#""annotations":6,"mentions":[7],"revision":10"#), "\(erased)")
      let log = try journal("log", path).output
      #expect(
        log.contains("Smith is illustrious") && log.contains("by request") && log.contains("smith is ILL"))
    }
    try withQuotes { path, _ in
      let note = ["--note", "Smith is ill!"]
      #expect(
        try run(journalPath, ["commit", path] + note, input: Data(Self.update(age: 40).utf8)).code == 0)
      let erased = try journal("erase", path, "item:1", "--reason", "by law", "--notes")
      #expect(
        erased.output.contains("the same text is in the notes or metadata of these entries, which stay: 7;"),
        "\(erased)")
    }
  }

  @Test func whatImportsRememberOfAnErasedItemIsNamed() throws {
    try withTemporaryFolder { folder in
      let (path, file) = (folder.path("J.journal"), folder.path("toDoItems.plist"))
      let list = try PropertyListSerialization.data(
        fromPropertyList: [["titleKey": "Rise"], ["titleKey": "Eat"]], format: .binary, options: 0)
      try list.write(to: URL(filePath: file))
      #expect(try journal("import", path, "plist", file).code == 0)
      let memory = try journal("find", path, "--kind", "legacyStore", "--json").output
      let name = try #require(memory.firstMatch(of: /"entity":"(item:[0-9]+)"/)?.1)
      let erased = try journal("erase", path, "item:1", "--reason", "by law")
      #expect(erased.code == 0 && erased.error.hasSuffix("erase that too: \(name)\n"), "\(erased)")
      let both = try journal("erase", path, "item:1", String(name), "--reason", "by law")
      #expect(both.code == 0 && both.error.isEmpty, "\(both)")
    }
  }

  /// The base does not say which of the pruned entries changed an item, apart from the newest.
  @Test(arguments: [2, 3]) func quotesOfPrunedNotesAreErasedOrNamed(_ base: Int) throws {
    try withQuotes { path, _ in
      #expect(try journal("prune", path, "--before", "\(base)").code == 0)
      let erased = try journal("erase", path, "item:1", "--reason", "by law", "--notes", "--json")
      if base == 2 {
        // The newest change of the item that was pruned is the one that they quote.
        #expect(!erased.output.contains("mentions"), "\(erased)")
        #expect(try !holds(path))
      } else {
        #expect(erased.output.contains(#""mentions":[4,5,6]"#), "\(erased)")
      }
    }
  }
}
