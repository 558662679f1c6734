import CatalogModel
import Foundation
import InMemoryJournals
import TestSupport
import Testing

/// Entries of one author that an undo menu shows as one step.
struct UndoGroupTests {
  private func title(
    _ journal: CatalogJournal, _ text: String, by author: String, group: String? = nil,
    item: Catalog.Item.ID = 1
  ) throws {
    try journal.commit(by: author, note: text, metadata: group.map { ["journal.group": $0] } ?? [:]) {
      try $0.updateItem(item, set: [author: .string(text)])
    }
  }

  private func undo(_ journal: CatalogJournal, by author: String) throws {
    try journal.commit(try #require(try journal.planUndo(by: author)), by: author)
  }

  private func redo(_ journal: CatalogJournal, by author: String) throws {
    try journal.commit(try #require(try journal.planRedo(by: author)), by: author)
  }

  @Test func theEntriesOfAGroupAreUndoneAndRedoneByOneEntry() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in for _ in 1...2 { try draft.addItem(kind: "book") } }
    try title(journal, "first", by: "ana")
    try title(journal, "a", by: "ana", group: "typing")
    try title(journal, "ab", by: "ana", group: "typing")
    try title(journal, "other", by: "bob", group: "typing")
    try title(journal, "abc", by: "ana", group: "typing", item: 2)

    #expect(try journal.entryToUndo(by: "ana")?.note == "abc")
    let plan = try #require(try journal.planUndo(by: "ana"))
    #expect(plan.action == .undo(6) && plan.note == "undid entries 3-4,6")
    #expect(plan.changes.map(\.entity) == [.item(1), .item(2)])
    try journal.commit(plan, by: "ana")
    #expect(journal.head.revision == 7)
    #expect(journal.state.item(1)?.attributes == ["ana": "first", "bob": "other"])
    #expect(journal.state.item(2)?.attributes == [:])
    #expect(
      try journal.entry(at: 7).metadata == ["journal.undoes": "3-4,6", "journal.reverts": "3-4,6"])
    // The value is that of the entry before the group.
    #expect(
      try journal.blame(.item(1), findsOrigin: true)?.first { $0.key == .attribute("ana") }?.revision == 2)

    #expect(try journal.entryToRedo(by: "ana")?.note == "abc")
    try redo(journal, by: "ana")
    #expect(journal.head.revision == 8)
    #expect(journal.state.records == (try journal.state(asOf: .revision(6)).records))
    #expect(try journal.entry(at: 8).metadata == ["journal.redoes": "3-4,6", "journal.reverts": "7"])

    try undo(journal, by: "ana")
    #expect(journal.state.item(1)?.attributes == ["ana": "first", "bob": "other"])
    try undo(journal, by: "ana")
    #expect(journal.state.item(1)?.attributes == ["bob": "other"])
    #expect(try journal.planUndo(by: "ana") == nil)
    for _ in 1...2 { try redo(journal, by: "ana") }
    #expect(journal.state.records == (try journal.state(asOf: .revision(6)).records))
    try journal.close()
  }

  @Test func aGroupEndsAtAnotherEntryOfItsAuthor() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { try $0.addItem(kind: "book") }
    try title(journal, "a", by: "ana", group: "1")
    try title(journal, "b", by: "ana")
    try title(journal, "c", by: "ana", group: "1")
    try title(journal, "d", by: "ana", group: "2")
    try undo(journal, by: "ana")
    try title(journal, "e", by: "ana", group: "1")
    for text in ["c", "b", "a"] {
      try undo(journal, by: "ana")
      #expect(journal.state.item(1)?["ana"] == .string(text))
    }
    try undo(journal, by: "ana")
    #expect(journal.state.item(1)?["ana"] == nil)
    try journal.close()
  }

  @Test func aConflictOfAGroupNamesTheEditsOfOthers() throws {
    let journal = try CatalogJournal.inMemory()
    func set(_ attributes: [String: FieldValue], by author: String) throws {
      try journal.commit(by: author, metadata: author == "ana" ? ["journal.group": "g"] : [:]) {
        try $0.updateItem(1, set: attributes)
      }
    }
    try journal.commit { try $0.addItem(kind: "book", attributes: ["title": "a", "stars": 1]) }
    try set(["title": "b", "stars": 2], by: "ana")
    try set(["title": "c"], by: "bob")
    try set(["title": "d"], by: "ana")
    let refused = try #require(try journal.planUndo(by: "ana"))
    #expect(refused.conflicts.map(\.revision) == [3] && refused.conflicts.map(\.author) == ["bob"])
    let error = #expect(throws: JournalError.self) { try journal.commit(refused, by: "ana") }
    #expect(error?.code == .conflict)

    let kept = try #require(try journal.planUndo(by: "ana", later: .keep))
    #expect(kept.conflicts.isEmpty && kept.changes.first?.new?["title"] == "c")
    #expect(kept.changes.first?.new?["stars"] == .integer(1))
    let forced = try #require(try journal.planUndo(by: "ana", later: .override))
    #expect(forced.undoes.map(\.revision) == [3])
    try journal.commit(forced, by: "ana")
    #expect(journal.state.item(1)?.attributes == ["title": "a", "stars": 1])
    try journal.close()
  }

  /// The undo itself puts Bob's item back into the category that it then deletes.
  @Test func aConflictWithWhatTheUndoBringsBackNamesTheEditOfTheOther() throws {
    let journal = try CatalogJournal.inMemory()
    let group = ["journal.group": "g"]
    try journal.commit(by: "ana", metadata: group) { try $0.addCategory(name: "Novels") }
    try journal.commit(by: "bob") { try $0.addItem(kind: "book", category: 1) }
    try journal.commit(by: "ana", metadata: group) { try $0.setCategory(ofItem: 1, to: nil) }
    let plan = try #require(try journal.planUndo(by: "ana"))
    #expect(plan.conflicts.map(\.entity) == [.item(1)])
    #expect(plan.conflicts.map(\.revision) == [2] && plan.conflicts.map(\.author) == ["bob"])
    try journal.close()
  }

  @Test func aGroupThatOthersHaveTakenBackInPartIsUndoneForTheRest() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in for _ in 1...2 { try draft.addItem(kind: "book") } }
    try title(journal, "a", by: "ana", group: "g")
    try title(journal, "b", by: "ana", group: "g", item: 2)
    try journal.commit(try journal.planRevert(of: 3), by: "bob")
    let plan = try #require(try journal.planUndo(by: "ana"))
    #expect(plan.conflicts.isEmpty && plan.changes.map(\.entity) == [.item(1)])
    try journal.commit(plan, by: "ana")
    #expect(journal.state.item(1)?.attributes == [:] && journal.state.item(2)?.attributes == [:])
    #expect(try journal.planUndo(by: "ana") == nil)
    try journal.close()
  }

  @Test func revisionsThatAnotherProgramWroteAreNotTakenForAGroup() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { try $0.addItem(kind: "book") }
    try title(journal, "a", by: "ana")
    for text in ["", "-", "2-1", "1-", "1,,2", "1-2-3", "9223372036854775807", "-1", "1-4611686018427387904"]
    {
      try journal.commit(by: "ana", metadata: ["journal.undoes": text, "journal.reverts": text]) {
        try $0.updateItem(1, set: ["by": .string(text)])
      }
    }
    // None is an undo, so each is undone like any other entry.
    for _ in 1...10 { try undo(journal, by: "ana") }
    #expect(journal.state.item(1)?.attributes == [:])
    #expect(try journal.planUndo(by: "ana") == nil)
    try journal.close()
  }
}
