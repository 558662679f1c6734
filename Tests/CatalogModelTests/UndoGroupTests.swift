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

  /// Eve's item referred to Bob's before Bob deleted it, and the undo can't bring Bob's item back.
  @Test func aConflictWithAReferenceToWhatTheGroupAddedAndDeletedNamesTheEditOfTheOther() throws {
    struct Card: CatalogItem {
      static let kind = "card"
      static let rules: [Rule] = [.reference(\.friends, onDelete: .nullify)]
      var friends: [ItemID<Card>]
    }
    for isUpdate in [false, true] {
      let journal = try CatalogJournal.inMemory()
      try journal.declare(Card.self)
      let group = ["journal.group": "g"]
      let old = try journal.commit { try $0.insert(Card(friends: [])) }.value
      let new = try journal.commit(by: "bob", metadata: group) { try $0.insert(Card(friends: [])) }.value
      let commit = try journal.commit(by: "eve") { draft in
        if isUpdate {
          try draft.update(old) { $0.friends = [old, new] }
          return old
        }
        return try draft.insert(Card(friends: [old, new]))
      }
      let referrer = commit.value.entity
      try journal.commit(by: "bob", metadata: group) { try $0.delete(new) }

      let plan = try #require(try journal.planUndo(by: "bob"))
      #expect(plan.conflicts.map(\.entity) == [referrer])
      #expect(plan.conflicts.map(\.revision) == [commit.revision] && plan.conflicts.map(\.author) == ["eve"])
      for later in [LaterEdits.keep, .override] {
        // Without the reference, the two entries have changed nothing.
        #expect(try journal.planUndo(by: "bob", later: later)?.changes == nil)
      }
      try journal.close()
    }
  }

  /// Without a rule, a reference to a deleted item could be set and removed.
  @Test func anUndoOfAGroupLeavesDeletedWhatWasDeletedBeforeTheGroup() throws {
    struct Free: CatalogItem {
      static let kind = "card"
      var friends: [ItemID<Free>]
    }
    struct Card: CatalogItem {
      static let kind = "card"
      static let rules: [Rule] = [.reference(\.friends, onDelete: .nullify)]
      var friends: [ItemID<Card>]
    }
    let journal = try CatalogJournal.inMemory()
    let group = ["journal.group": "g"]
    let lost = try journal.commit { try $0.insert(Free(friends: [])) }.value
    let card = try journal.commit { try $0.insert(Free(friends: [lost])) }.value
    try journal.commit(by: "eve") { try $0.delete(lost) }
    for _ in 1...2 {
      try journal.commit(by: "bob", metadata: group) { draft in
        try draft.update(card) { $0.friends = [] }
        try draft.insert(Free(friends: []))
      }
    }
    try journal.declare(Card.self)

    // As the undo of a single entry, which gives back no reference to what is not there.
    for later in [LaterEdits.refuse, .keep, .override] {
      let plan = try #require(try journal.planUndo(by: "bob", later: later))
      #expect(plan.conflicts.isEmpty && plan.changes.count == 2)
      #expect(plan.changes.allSatisfy { $0.new == nil })
    }
    try journal.commit(try #require(try journal.planUndo(by: "bob")), by: "bob")
    #expect(try journal.state.value(of: card)?.friends == [] && journal.state.item(lost) == nil)
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

  /// Ann moves an item from the first category by way of the second to the third.
  @Test func aCategoryThatAnItemHadOnlyWithinAGroupMayBeDeleted() throws {
    for edits in [false, true] {
      for later in [LaterEdits.refuse, .keep, .override] {
        let journal = try CatalogJournal.inMemory()
        try journal.commit { draft in
          for name in ["Novels", "Poems", "Plays"] { try draft.addCategory(name: name) }
          try draft.addItem(kind: "book", category: 1)
        }
        func move(to category: Catalog.Category.ID) throws {
          try journal.commit(by: "ana", metadata: ["journal.group": "g"]) {
            try $0.setCategory(ofItem: 1, to: category)
          }
        }
        try move(to: 2)
        // An edit of another field in between makes no difference.
        if edits { try title(journal, "b", by: "bob") }
        try move(to: 3)
        try journal.commit(by: "bob") { try $0.deleteCategory(2) }
        let plan = try #require(try journal.planUndo(by: "ana", later: later))
        #expect(plan.conflicts.isEmpty && plan.undoes.isEmpty && plan.changes.map(\.entity) == [.item(1)])
        try journal.commit(plan, by: "ana")
        #expect(journal.state.item(1)?.category == 1 && journal.state.categoryCount == 2)
        #expect(journal.state.item(1)?["bob"] == (edits ? "b" : nil))
        try journal.close()
      }
    }
  }

  @Test func aDeletionOfWhatTheValueBeforeAGroupRefersToIsAConflict() throws {
    let journal = try CatalogJournal.inMemory()
    let group = ["journal.group": "g"]
    try journal.commit { draft in
      for _ in 1...2 { try draft.addItem(kind: "book") }
      try draft.addCategory(name: "Novels")
    }
    try title(journal, "a", by: "ana", group: "g", item: 2)
    // Bob adds the category, uses it and deletes it between entries of the group.
    try journal.commit(by: "bob") { draft in
      let poems = try draft.addCategory(name: "Poems")
      try draft.setCategory(ofItem: 1, to: poems)
    }
    try journal.commit(by: "ana", metadata: group) { try $0.setCategory(ofItem: 1, to: 1) }
    try journal.commit(by: "bob") { try $0.deleteCategory(2) }
    try title(journal, "b", by: "ana", group: "g", item: 2)

    let plan = try #require(try journal.planUndo(by: "ana"))
    #expect(plan.conflicts.map(\.entity) == [.category(2)] && plan.conflicts.map(\.revision) == [5])
    let forced = try #require(try journal.planUndo(by: "ana", later: .override))
    #expect(forced.undoes.map(\.revision) == [5])
    try journal.commit(forced, by: "ana")
    #expect(journal.state.item(1)?.category == 2 && journal.state.category(2)?.name == "Poems")
    #expect(journal.state.item(2)?.attributes == [:] && journal.state.problems() == [])
    try journal.close()
  }

  @Test func aUniqueValueThatAnItemHadOnlyWithinAGroupMayBeUsed() throws {
    struct Book: CatalogItem {
      static let kind = "book"
      static let rules: [Rule] = [.unique(\.isbn)]
      var isbn: Int
    }
    let journal = try CatalogJournal.inMemory()
    try journal.declare(Book.self)
    let book = try journal.commit { try $0.insert(Book(isbn: 1)) }.value
    for isbn in [2, 3] {
      try journal.commit(by: "ana", metadata: ["journal.group": "g"]) { draft in
        try draft.update(book) { $0.isbn = isbn }
      }
    }
    try journal.commit(by: "bob") { _ = try $0.insert(Book(isbn: 2)) }
    let plan = try #require(try journal.planUndo(by: "ana"))
    #expect(plan.problem == nil && plan.conflicts.isEmpty)
    try journal.commit(plan, by: "ana")
    #expect(journal.state.items.map { $0["isbn"] } == [.integer(1), .integer(2)])
    try journal.close()
  }

  @Test func aRefusedUndoOfAGroupNamesAllConflictsAndShowsWhatOverridingThemWouldChange() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in for _ in 1...3 { try draft.addItem(kind: "book") } }
    func set(_ item: Catalog.Item.ID, by author: String) throws {
      try journal.commit(by: author, metadata: author == "ana" ? ["journal.group": "g"] : [:]) {
        try $0.updateItem(item, set: ["title": .string(author)])
      }
    }
    for item: Catalog.Item.ID in [1, 2, 3] { try set(item, by: "ana") }
    for item: Catalog.Item.ID in [1, 3] { try set(item, by: "bob") }
    let plan = try #require(try journal.planUndo(by: "ana"))
    #expect(Set(plan.conflicts.map(\.entity)) == [.item(1), .item(3)])
    let forced = try #require(try journal.planUndo(by: "ana", later: .override))
    #expect(plan.changes == forced.changes)
    #expect(forced.changes.count == 3 && forced.undoes.map(\.revision) == [6, 5])
    try journal.close()
  }

  /// The plan took the cube of the number of entries.
  @Test func aLargeGroupIsUndoneInLinearTime() throws {
    func time(_ count: Int) throws -> Double {
      let journal = try CatalogJournal.inMemory()
      try journal.commit { try $0.addItem(kind: "book") }
      for number in 1...count { try title(journal, "\(number)", by: "ana", group: "drag") }
      let time = try processorTime {
        // An undo and a redo are in between then.
        for _ in 1...2 {
          try undo(journal, by: "ana")
          #expect(journal.state.item(1)?.attributes == [:])
          try redo(journal, by: "ana")
        }
      }
      #expect(journal.state.item(1)?["ana"] == .string("\(count)"))
      try journal.close()
      return time / .seconds(1)
    }
    #expect(try leastRatio(2_000, to: 200, of: time) < 40)
  }

  @Test func theOriginOfAValueThatAnotherSetWithinAGroupIsTheirEntry() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in for _ in 1...2 { try draft.addItem(kind: "book") } }
    func set(_ text: String, by author: String, item: Catalog.Item.ID = 1) throws {
      try journal.commit(by: author, metadata: author == "ana" ? ["journal.group": "g"] : [:]) {
        try $0.updateItem(item, set: ["title": .string(text)])
      }
    }
    try set("first", by: "eve", item: 2)
    try set("a", by: "ana", item: 2)
    try set("other", by: "bob")
    try set("b", by: "ana")
    try undo(journal, by: "ana")
    #expect(journal.state.item(1)?["title"] == "other" && journal.state.item(2)?["title"] == "first")
    func origin(_ entity: EntityKey) throws -> [String]? {
      try journal.blame(entity, findsOrigin: true)?.filter { $0.key == .attribute("title") }.map(\.author)
    }
    #expect(try origin(.item(1)) == ["bob"])
    #expect(try origin(.item(2)) == ["eve"])
    try journal.close()
  }

  @Test func theNoteOfAnInterleavedGroupNamesThreeRangesAndItsMetadataAll() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { try $0.addItem(kind: "book") }
    for count in 3...5 {
      for number in 1...count {
        try title(journal, "\(count) \(number)", by: "ana", group: "\(count)")
        try title(journal, "\(count) \(number)", by: "bob")
      }
    }
    let plan = try #require(try journal.planUndo(by: "ana"))
    #expect(plan.note == "undid entries 16,18,20 and 2 others")
    #expect(plan.metadata["journal.undoes"] == "16,18,20,22,24")
    try journal.commit(plan, by: "ana")
    for note in ["undid entries 8,10,12 and 1 other", "undid entries 2,4,6"] {
      let plan = try #require(try journal.planUndo(by: "ana"))
      #expect(plan.note == note)
      try journal.commit(plan, by: "ana")
    }
    #expect(journal.state.item(1)?["ana"] == nil && journal.state.item(1)?["bob"] == "5 5")
    try journal.close()
  }

  /// A list of ranges that another program wrote took seconds to read, for each undo that read past it.
  @Test func aGroupHasNoMoreRangesThanALateUndoReadsBack() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { try $0.addItem(kind: "book") }
    let (limit, count) = (4096, 4100)
    try journal.withPipeline { pipeline in
      for number in 1...count {
        for author in ["ana", "bob"] {
          try pipeline.commit(by: author, metadata: author == "ana" ? ["journal.group": "g"] : [:]) {
            try $0.updateItem(1, set: [author: .integer(Int64(number))])
          }
        }
      }
    }
    for left in [count - limit, 0] {
      try undo(journal, by: "ana")
      #expect(journal.state.item(1)?["ana"] == (left == 0 ? nil : .integer(Int64(left))))
    }
    #expect(try journal.planUndo(by: "ana") == nil)
    for _ in 1...2 { try redo(journal, by: "ana") }
    #expect(journal.state.item(1)?["ana"] == .integer(Int64(count)))

    // Neither a longer list nor one in another order is an undo.
    let long = (0...limit).map { "\($0 * 2 + 1)" }
    for list in [long, Array(long.prefix(3).reversed()), ["1", "2"], ["1-3", "2"]] {
      let text = list.joined(separator: ",")
      try journal.commit(by: "eve", metadata: ["journal.undoes": text, "journal.reverts": text]) {
        try $0.updateItem(1, set: ["eve": .integer(Int64(list.count))])
      }
      #expect(try journal.planUndo(by: "eve")?.action == .undo(journal.head.revision))
    }
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
