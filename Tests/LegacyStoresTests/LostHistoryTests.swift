import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import LegacyStores

/// A repeated import needs no history: digests of what the files had tell which side has changed a value.
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
      #expect(
        lines(journal) == [
          "A 1 edited -", "B 1 filed -", "C 2 edited -", "D 1 filed -", "F 1 edited -", "I 1 - -",
          "K 1 edited Rome", "H 2 old -",
        ])
      #expect(report.deleted == 1 && report.added == 1 && report.isComplete)
      #expect(report.problems.map(\.place) == ["persons \"H\"", "persons \"D\"", "item:6"])
      #expect(try journal.importStore(store(files)).revisions.isEmpty)
      files[0] = person("A", "3", "old")
      files[2] = person("C", "3", "old")
      let later = try journal.importStore(store(files))
      #expect(lines(journal).contains("A 3 edited -") && lines(journal).contains("C 3 edited -"))
      #expect(later.updated == 2 && later.problems.isEmpty)
      try journal.close()
    }
  }

  @Test(arguments: Loss.allCases) func anImportOfUnchangedFilesMakesNoEntry(_ loss: Loss) throws {
    try withTemporaryFolder { folder in
      let original = try makeJournal(folder)
      let files = store([person("A", "1", "old"), person("B", "1", "old")])
      try original.importStore(files)
      try original.commit { try $0.updateItem(1, set: ["note": .string("edited")]) }
      let journal = try journal(original, after: loss, in: folder)
      #expect(try journal.importStore(files).revisions.isEmpty)
      try journal.close()
    }
  }
}
