import CatalogModel
import Files
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LegacyStores

/// What an import does when the journal does not have the history of the previous one, with which the files and the
/// items are compared.
@Suite struct LostHistoryTests {
  enum Loss: CaseIterable {
    /// The history is there.
    case nothing
    /// The history up to now was pruned.
    case pruned
    /// The journal is a copy of the state, whose revisions begin again at 1.
    case copied
  }

  private static let options = JournalOptions(layers: .manual)

  private func person(_ name: String, _ number: String, _ note: String?, city: String? = nil) -> LegacyItem {
    var attributes: [String: FieldValue] = ["name": .string(name), "number": .string(number)]
    if let note { attributes["note"] = .string(note) }
    if let city { attributes["city"] = .string(city) }
    return LegacyItem(list: "persons", kind: "person", className: "JSPerson", attributes: attributes)
  }

  private func store(_ persons: [LegacyItem]) -> LegacyStore {
    var store = LegacyStore(.defaults)
    store.lists = ["persons"]
    store.files = ["p.plist": Layout.file(.dictionary([:]), isXML: false)]
    store.items = persons
    return store
  }

  private func lines(_ journal: CatalogJournal) -> [String] {
    journal.state.things.map { item in
      ["name", "number", "note", "city"].map { item[$0]?.string ?? "-" }.joined(separator: " ")
    }
  }

  /// A journal whose first import is not its first entry, so that the revisions of a copy differ.
  private func makeJournal(_ folder: TemporaryFolder) throws -> CatalogJournal {
    let journal = try folder.journal()
    for name in 1...5 { try journal.commit { _ = try $0.addCategory(name: "\(name)") } }
    return journal
  }

  private func journal(
    _ journal: CatalogJournal, after loss: Loss, in folder: TemporaryFolder
  ) throws -> CatalogJournal {
    switch loss {
    case .nothing: return journal
    case .pruned:
      try journal.close()
      try CatalogJournal.prune(before: .head(), at: journal.url)
      return try CatalogJournal.open(at: journal.url, options: Self.options)
    case .copied:
      let copy = folder.url.appending(path: "Copy.journal")
      try journal.copyState(to: copy)
      try journal.close()
      return try CatalogJournal.open(at: copy, options: Self.options)
    }
  }

  /// The file's old values replaced the journal's edits. In a copy that was not even reported, and edited items were
  /// deleted.
  @Test(arguments: Loss.allCases) func editsOfTheJournalStay(_ loss: Loss) throws {
    try withTemporaryFolder { folder in
      let original = try makeJournal(folder)
      let names = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "K"]
      try original.importStore(store(names.map { person($0, "1", "old") }))
      func edit(_ journal: CatalogJournal) throws {
        try journal.commit { draft in
          for item in [1, 3, 4, 6, 10] {
            try draft.updateItem(EntityID(item), set: ["note": .string("edited")])
          }
          try draft.deleteItem(7)
          try draft.deleteItem(8)
        }
      }
      // Edits in a copy have revisions that the original had before the import.
      if loss != .copied { try edit(original) }
      let journal = try journal(original, after: loss, in: folder)
      if loss == .copied { try edit(journal) }
      var files = [
        person("A", "1", "old"), person("B", "1", "filed"), person("C", "2", "old"),
        person("D", "1", "filed"), person("G", "1", "old"), person("H", "2", "old"), person("I", "1", nil),
        person("K", "1", "old", city: "Rome"),
      ]
      let report = try journal.importStore(store(files))
      let isLost = loss != .nothing
      #expect(
        lines(journal) == [
          "A 1 edited -", "B 1 filed -", isLost ? "C 1 edited -" : "C 2 edited -",
          isLost ? "D 1 edited -" : "D 1 filed -", "F 1 edited -", "I 1 - -", "K 1 edited Rome", "H 2 old -",
        ])
      #expect(report.deleted == 1 && report.added == 1 && report.isComplete)
      let places = ["C", "D", "H", "K"].map { "persons \"\($0)\"" } + ["item:6"]
      #expect(report.problems.map(\.place) == (isLost ? places : [places[1], places[2], places[4]]))
      if isLost {
        #expect(report.problems[0].reason.hasPrefix("note, number in the file and in item:3 differ"))
        #expect(report.problems[0].reason.hasSuffix("the journal's value stays"))
      }
      #expect(try journal.importStore(store(files)).revisions.isEmpty)
      // From now on, the changes of the two sides are told apart again.
      files[0] = person("A", "3", "old")
      files[2] = person("C", "3", "old")
      let later = try journal.importStore(store(files))
      #expect(lines(journal).contains("A 3 edited -") && lines(journal).contains("C 3 edited -"))
      #expect(later.updated == 2 && later.problems.count == (isLost ? 1 : 0))
      try journal.close()
    }
  }

  /// Apps import their files at each launch, mostly unchanged.
  @Test(arguments: [Loss.pruned, .copied])
  func anImportOfUnchangedFilesRecordsWhatTheyHave(_ loss: Loss) throws {
    try withTemporaryFolder { folder in
      let original = try makeJournal(folder)
      try original.importStore(store([person("A", "1", "old"), person("B", "1", "old")]))
      try original.commit { try $0.updateItem(1, set: ["note": .string("edited")]) }
      let journal = try journal(original, after: loss, in: folder)
      let files = store([person("A", "1", "old"), person("B", "1", "old")])
      #expect(try journal.importStore(files).revisions.count == 1)
      #expect(try journal.importStore(files).revisions.isEmpty)
      let report = try journal.importStore(store([person("A", "2", "old"), person("B", "2", "old")]))
      #expect(report.updated == 2 && report.problems.isEmpty)
      #expect(lines(journal) == ["A 2 edited -", "B 2 old -"])
      try journal.close()
    }
  }

  /// An element that a copy has not seen since is not taken for one as of a revision of the copy.
  @Test func listsThatWereNotGivenStayUnknownInACopy() throws {
    try withTemporaryFolder { folder in
      func files(_ number: String) -> LegacyStore {
        var friend = person("F", number, "old")
        friend.list = "friends"
        var store = store([friend])
        store.lists = ["friends"]
        return store
      }
      let original = try makeJournal(folder)
      var both = store([person("A", "1", "old")])
      both.items += files("1").items
      both.lists = ["friends", "persons"]
      try original.importStore(both)
      let journal = try journal(original, after: .copied, in: folder)
      try journal.commit { try $0.updateItem(2, set: ["note": .string("edited")]) }
      try journal.importStore(store([person("A", "1", "old")]))
      let report = try journal.importStore(files("2"))
      #expect(report.problems.count == 1)
      #expect(lines(journal) == ["A 1 old -", "F 1 edited -"])
      try journal.close()
    }
  }

  /// It counted as if the item had had no attributes, so the file's values replaced those of the journal.
  @Test func anImportThatCanNotReadTheHistoryChangesNothing() throws {
    try withTemporaryFolder { folder in
      let isFailing = Atomic<Bool>(false)
      var journal = try folder.journal()
      try journal.importStore(store([person("A", "1", "old")]))
      try journal.commit { try $0.updateItem(1, set: ["note": .string("edited")]) }
      // The log becomes a table when it is opened again, and tables are read on demand.
      let text = String(repeating: "filler ", count: 10_000)
      try journal.commit { draft in
        for _ in 1...30 { try draft.addItem(kind: "filler", attributes: ["text": .string(text)]) }
      }
      try journal.close()
      var options = Self.options
      options.readHook = { _, _ in isFailing.load(ordering: .acquiring) ? .fail(EMFILE) : .proceed }
      journal = try CatalogJournal.open(at: journal.url, options: options)
      let (before, files) = (journal.head.revision, store([person("A", "2", "old")]))
      isFailing.store(true, ordering: .releasing)
      let error = #expect(throws: JournalError.self) { try journal.importStore(files) }
      #expect(error?.code == .outOfResources)
      isFailing.store(false, ordering: .releasing)
      #expect(journal.head.revision == before)
      #expect(try journal.importStore(files).updated == 1)
      #expect(lines(journal)[0] == "A 2 edited -")
      try journal.close()
    }
  }
}
