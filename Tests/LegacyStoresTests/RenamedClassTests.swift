import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// What a repeated import does when the app's classes have other names.
@Suite struct RenamedClassTests {
  /// Elements with a text each and a part of another class.
  private func write(
    _ folder: TemporaryFolder, _ elements: [(className: String, text: String)], part: String = "Old.Part"
  ) throws -> LegacyStore {
    let nodes = elements.map { className, text in
      ArchiveNode.Value.node(
        ArchiveNode(
          ArchivedClass(className),
          [
            "text": .string(text), "size": .integer(7),
            "part": .node(ArchiveNode(ArchivedClass(part), ["of": .string(text)])),
          ]))
    }
    return try .archives([folder.write("list", ArchiveNode.array(nodes).archived())])
  }

  private func texts(_ journal: CatalogJournal) -> [String] {
    journal.state.things.map { "\($0.id) \($0.kind) \($0["text"]?.string ?? "-")" }
  }

  /// All items were deleted and added again, and the edited one was there twice.
  @Test func itemsOfARenamedClassStayTheSame() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(write(folder, [("Old.Thing", "a"), ("Old.Thing", "a"), ("Old.Thing", "c")]))
      try journal.commit { try $0.updateItem(2, set: ["text": "edited", "part": [:], "mine": 1]) }
      let new = try write(
        folder, [("New.Thing", "a"), ("New.Thing", "a"), ("New.Thing", "c")], part: "New.Part")
      let report = try journal.importStore(new)
      #expect(report.added == 0 && report.deleted == 0)
      #expect(texts(journal) == ["1 Thing a", "2 Thing edited", "3 Thing c"])
      #expect(journal.state.item(2)?["part"] == [:] && journal.state.item(2)?["mine"] == 1)
      #expect(journal.state.item(3)?["part"]?.objectClass == "New.Part")
      let reasons = report.problems.map(\.reason)
      #expect(reasons.count == 2 && report.isComplete, "\(reasons)")
      #expect(reasons.contains { $0.contains("Old.Thing") && $0.contains("New.Thing") })
      #expect(reasons.contains { $0.contains("Old.Part") && $0.contains("New.Part") })
      #expect(try journal.importStore(new).revisions.isEmpty)
      let target = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: target)
      let archive = try KeyedArchive(ArchiveBytes(contentsOf: target.appending(path: "list")))
      let names = Set(try archive.inspect().classes.map(\.description.name))
      #expect(names.isSuperset(of: ["New.Thing", "New.Part"]) && !names.contains { $0.hasPrefix("Old") })
    }
  }

  @Test func anEditOfTheJournalInAPartOfARenamedClassStays() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(write(folder, [("Old.Thing", "a"), ("Old.Thing", "b")]))
      let mine: FieldValue = [Reference.objectClass: "Old.Part", "of": "me"]
      try journal.commit { try $0.updateItem(1, set: ["part": mine]) }
      try journal.importStore(write(folder, [("Old.Thing", "a"), ("Old.Thing", "b")], part: "New.Part"))
      #expect(journal.state.item(1)?["part"] == [Reference.objectClass: "New.Part", "of": "me"])
    }
  }

  @Test func someElementsMayBeEditedWhenTheirClassIsRenamed() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let texts = ["a", "b", "c", "d", "e", "f"]
      try journal.importStore(write(folder, texts.map { ("Old.Thing", $0) }))
      try journal.commit { draft in
        try draft.updateItem(3, set: ["mine": true])
        try draft.updateItem(4, set: ["text": "edited"])
      }
      // The second is edited in the file, and one is added at the start.
      let now = ["z", "a", "B", "c", "d", "e", "f"]
      let report = try journal.importStore(write(folder, now.map { ("New.Spot", $0) }, part: "New.Part"))
      #expect(report.added == 1 && report.deleted == 0)
      let found = self.texts(journal)
      #expect(
        found.prefix(6) == [
          "1 Spot a", "2 Spot B", "3 Spot c", "4 Spot edited", "5 Spot e", "6 Spot f",
        ])
      #expect(found.count == 7 && found.last?.hasSuffix("Spot z") == true)
      #expect(journal.state.item(3)?["mine"] == true)
    }
  }

  @Test func aClassMayBeSplitAndOthersJoined() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(
        write(folder, [("Thing", "a"), ("Thing", "b"), ("Left", "c"), ("Right", "d"), ("Same", "e")]))
      try journal.commit { draft in
        for id in 1...5 { try draft.updateItem(EntityID(id), set: ["mine": .integer(Int64(id))]) }
      }
      let report = try journal.importStore(
        write(folder, [("Cafe", "a"), ("Museum", "b"), ("Both", "c"), ("Both", "d"), ("Same", "e")]))
      #expect(report.added == 0 && report.deleted == 0)
      #expect(texts(journal) == ["1 Cafe a", "2 Museum b", "3 Both c", "4 Both d", "5 Same e"])
      #expect(journal.state.things.map { $0["mine"] } == [1, 2, 3, 4, 5])
      #expect(report.problems.contains { $0.reason.contains("Thing now have the class Cafe or Museum") })
      // A part of a class is split off.
      let second = try journal.importStore(
        write(folder, [("Cafe", "a"), ("Bar", "b"), ("Both", "c"), ("Both", "d"), ("Bar", "e")]))
      #expect(second.added == 0 && second.deleted == 0 && second.updated == 2)
    }
  }

  @Test func anItemThatWasDeletedInTheJournalStaysDeletedWhenItsClassIsRenamed() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(write(folder, [("Old.Thing", "a"), ("Old.Thing", "b")]))
      try journal.commit { try $0.deleteItem(1) }
      let new = try write(folder, [("New.Thing", "a"), ("New.Thing", "b")], part: "New.Part")
      let report = try journal.importStore(new)
      #expect(report.added == 0 && texts(journal) == ["2 Thing b"])
      #expect(try journal.importStore(new).revisions.isEmpty)
    }
  }

  /// A part of a list with two classes is not taken for one of the other class.
  @Test func anElementOfAClassThatStaysIsNoRenamedOne() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(write(folder, [("Place", "a"), ("Person", "b"), ("Person", "x")]))
      let report = try journal.importStore(write(folder, [("Place", "a"), ("Place", "c"), ("Person", "x")]))
      #expect(report.added == 1 && report.deleted == 1)
    }
  }
}
