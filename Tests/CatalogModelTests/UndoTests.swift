import CatalogModel
import Foundation
import InMemoryJournals
import JournalMaintenance
import TestSupport
import Testing

/// Reverting one entry, and undo and redo by author.
struct UndoTests {
  /// One step of an undo menu: an edit, or those of a group.
  private struct Step {
    var group: String?
    var edits: [(old: FieldValue?, new: FieldValue?, item: Int)]
  }

  /// An author's steps, as the undo menu of an app keeps them.
  private struct Stack {
    var done: [Step] = []
    var undone: [Step] = []
    /// Whether the author's newest entry belongs to the newest step, so that another one of its group does too.
    var isOpen = false

    mutating func push(_ edit: (old: FieldValue?, new: FieldValue?, item: Int), group: String?) {
      if isOpen, group != nil, done.last?.group == group {
        done[done.count - 1].edits.append(edit)
      } else {
        done.append(Step(group: group, edits: [edit]))
      }
      (undone, isOpen) = ([], true)
    }
  }

  @Test func undoAndRedoOfManyAuthorsTouchOnlyTheirOwnEdits() throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Books.journal")
      var journal = try CatalogJournal.create(at: url)
      try journal.commit(by: "setup") { draft in for _ in 1...4 { try draft.addItem(kind: "book") } }
      var stacks: [String: Stack] = [:]
      for turn in 0..<400 {
        let author = RandomJournal.authors.randomElement(using: &random)!
        var stack = stacks[author, default: Stack()]
        var fields = Dictionary(
          uniqueKeysWithValues: (1...4).map { ($0, journal.state.item(EntityID($0))!.attributes) })
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          let plan = try journal.planUndo(by: author)
          #expect((plan == nil) == stack.done.isEmpty)
          #expect(try journal.entryToUndo(by: author).map { .undo($0.revision) } == plan?.action)
          guard let plan, let step = stack.done.popLast() else { continue }
          for edit in step.edits.reversed() { fields[edit.item]?[author] = edit.old }
          stack.undone.append(step)
          stack.isOpen = false
          #expect(plan.conflicts.isEmpty)
          try journal.commit(plan, by: author)
        case 1:
          let plan = try journal.planRedo(by: author)
          #expect((plan == nil) == stack.undone.isEmpty)
          #expect(try journal.entryToRedo(by: author).map { .redo($0.revision) } == plan?.action)
          guard let plan, let step = stack.undone.popLast() else { continue }
          for edit in step.edits { fields[edit.item]?[author] = edit.new }
          stack.done.append(step)
          stack.isOpen = false
          #expect(plan.conflicts.isEmpty)
          try journal.commit(plan, by: author)
        default:
          let item = Int.random(in: 1...4, using: &random)
          let group = [nil, "drag", "type"].randomElement(using: &random)!
          let old = fields[item]?[author]
          // A group that leaves everything as it was would be no step.
          let new: FieldValue? =
            group == nil
            ? [nil, .integer(-1), .integer(-2), .string("x")].randomElement(using: &random)!
            : .integer(Int64(turn))
          if old == new { continue }
          fields[item]?[author] = new
          stack.push((old, new, item), group: group)
          try journal.commit(by: author, metadata: group.map { ["journal.group": $0] } ?? [:]) { draft in
            try draft.updateItem(EntityID(item), set: new.map { [author: $0] } ?? [:], remove: [author])
          }
        }
        stacks[author] = stack
        for item in 1...4 { #expect(journal.state.item(EntityID(item))?.attributes == fields[item]) }
        if random.chance(1, in: 50) {
          try journal.close()
          journal = try CatalogJournal.open(at: url)
        }
      }
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }

  @Test func revertingTheNewestEntryBringsBackTheStateBeforeIt() throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      var made = try RandomJournal(folder, commits: 30, using: &random)
      for _ in 0..<100 {
        try made.commit(using: &random)
        guard made.newest > 0 else { continue }
        let newest = made.newest
        let plan = try made.journal.planRevert(of: newest)
        #expect(plan.conflicts.isEmpty)
        try made.journal.commit(plan, by: "eve")
        made.note()
        #expect(made.journal.state.records == made.states[newest - 1].records)
        #expect(try made.journal.planRevert(of: newest).isEmpty)
        if random.chance(1, in: 2) {
          try made.journal.commit(try made.journal.planRevert(of: made.newest), by: "eve")
          made.note()
          #expect(made.journal.state.records == made.states[newest].records)
        }
      }
      #expect(try made.journal.verify().isSound)
      try made.journal.close()
    }
  }

  @Test func revertingAnyEntryLeavesAllPartsThatItDidNotTouch() throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      var made = try RandomJournal(folder, commits: 60, using: &random)
      for _ in 0..<150 {
        if random.chance(1, in: 3) { try made.commit(using: &random) }
        let revision = Int.random(in: 1...made.newest, using: &random)
        let later = [LaterEdits.refuse, .keep, .override].randomElement(using: &random)!
        let plan = try made.journal.planRevert(of: revision, later: later)
        if !plan.conflicts.isEmpty {
          #expect(plan.conflicts.allSatisfy { $0.revision > revision })
          let error = #expect(throws: JournalError.self) { try made.journal.commit(plan) }
          #expect(error?.code == .conflict)
          made.note()
          continue
        }
        let before = made.journal.state.records
        try made.journal.commit(plan)
        made.note()
        let touched = made.states[revision].differences(from: made.states[revision - 1]) ?? []
        for change in plan.changes {
          guard let own = touched.first(where: { $0.entity == change.entity }) else {
            // An entity that the change needs came back, or one that needed it was deleted.
            #expect(change.operation == .add || later == .override)
            continue
          }
          if change.operation == .update {
            let keys = Set(own.parts.map(\.key))
            #expect(change.parts.allSatisfy { keys.contains($0.key) } || later == .override)
          }
        }
        if later == .override {
          for own in touched {
            #expect(made.journal.state.record(of: own.entity).has(own, before[own.entity]))
          }
        }
      }
      #expect(try made.journal.verify().isSound)
      try made.journal.close()
    }
  }

  @Test func aPreviewOfSeveralRevertsIsWhatTheyDo() throws {
    var random = SeededGenerator()
    for _ in 0..<50 {
      try withTemporaryFolder(inMemory: true) { folder in
        let journal = try RandomJournal(folder, commits: 12, using: &random).journal
        let later = [LaterEdits.refuse, .keep, .override].randomElement(using: &random)!
        let revisions = Set((1...3).map { _ in Int.random(in: 1...journal.head.revision, using: &random) })
          .sorted(by: >)
        let previews = try journal.planReverts(of: revisions, later: later, by: "eve")
        for (revision, preview) in zip(revisions, previews) {
          let plan = try journal.planRevert(of: revision, later: later)
          #expect(plan.basis == preview.basis && plan.changes == preview.changes)
          for (edits, previewed) in [(plan.conflicts, preview.conflicts), (plan.undoes, preview.undoes)] {
            #expect(edits.map(\.revision) == previewed.map(\.revision))
            #expect(edits.map(\.entity) == previewed.map(\.entity))
            #expect(edits.map(\.fields) == previewed.map(\.fields))
          }
          if plan.conflicts.isEmpty { try journal.commit(plan, by: "eve") }
        }
        #expect(previews.count == revisions.count || previews.last?.conflicts.isEmpty == false)
        try journal.close()
      }
    }
  }

  @Test func aLaterEditOfTheSameFieldBlocksARevert() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      func title(_ text: String, by author: String, _ more: [String: FieldValue] = [:]) throws {
        try journal.commit(by: author, note: "title \(text)") {
          try $0.updateItem(1, set: more.merging(["title": .string(text)]) { $1 })
        }
      }
      try journal.commit { try $0.addItem(kind: "book", attributes: ["title": .string("a")]) }
      try title("b", by: "ana", ["stars": .integer(1)])
      try title("c", by: "bob")
      // Bob's edit counts even where it brings the old value back.
      try title("b", by: "bob")
      let plan = try journal.planUndo(by: "ana")
      #expect(plan?.action == .undo(2))
      #expect(plan?.conflicts.map(\.revision) == [4, 3])
      #expect(plan?.conflicts.first?.fields == [.attribute("title")])
      let kept = try #require(try journal.planUndo(by: "ana", later: .keep))
      #expect(kept.changes.first?.parts.map(\.key) == [.attribute("stars")])
      let forced = try #require(try journal.planUndo(by: "ana", later: .override))
      #expect(forced.undoes.map(\.author) == ["bob", "bob"])
      // When Bob has undone both edits, there is no conflict any more.
      for _ in 0..<2 {
        let undo = try #require(try journal.planUndo(by: "bob"))
        try journal.commit(undo, by: "bob")
      }
      let free = try #require(try journal.planUndo(by: "ana"))
      #expect(free.conflicts.isEmpty)
      try journal.commit(free, by: "ana")
      #expect(journal.state.item(1)?.attributes == ["title": .string("a")])
      try journal.close()
    }
  }

  /// An undo whose entry others had taken back changed nothing, so it left no entry, and the next undo was the same.
  @Test func undoAndRedoSkipWhatOthersHaveTakenBack() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      func title(_ text: String, by author: String) throws {
        try journal.commit(by: author) { try $0.updateItem(1, set: ["title": .string(text)]) }
      }
      try journal.commit { try $0.addItem(kind: "book", attributes: ["title": "a"]) }
      try title("b", by: "ana")
      try journal.commit(by: "ana") { try $0.addItem(kind: "book") }
      try journal.commit(by: "ana") { try $0.updateItem(1, set: ["stars": 1]) }
      try journal.commit(by: "bob") { try $0.deleteItem(2) }
      try journal.commit(try journal.planRevert(of: 4), by: "bob")
      let undo = try #require(try journal.planUndo(by: "ana"))
      #expect(undo.action == .undo(2))
      try journal.commit(undo, by: "ana")
      #expect(journal.state.item(1)?.attributes == ["title": "a"])
      #expect(try journal.planUndo(by: "ana") == nil)

      try title("c", by: "eve")
      try journal.commit(by: "eve") { try $0.updateItem(1, set: ["stars": 2]) }
      for _ in 1...2 { try journal.commit(try #require(try journal.planUndo(by: "eve")), by: "eve") }
      // What Eve would redo first has its value again already.
      try title("c", by: "bob")
      let redo = try #require(try journal.planRedo(by: "eve"))
      #expect(redo.action == .redo(9))
      try journal.commit(redo, by: "eve")
      #expect(journal.state.item(1)?.attributes == ["title": "c", "stars": 2])
      #expect(try journal.planRedo(by: "eve") == nil)
      try journal.close()
    }
  }

  /// An undo that keeps later edits of everything that its entry changed makes no entry, so the next one was the same.
  @Test func undoAndRedoThatKeepLaterEditsSkipEntriesOfWhichNothingIsLeft() throws {
    let journal = try CatalogJournal.inMemory()
    func title(_ item: Catalog.Item.ID, _ text: String, by author: String) throws {
      try journal.commit(by: author) { try $0.updateItem(item, set: ["title": .string(text)]) }
    }
    try journal.commit { draft in for _ in 1...2 { try draft.addItem(kind: "book") } }
    try title(1, "a", by: "ana")
    try title(2, "b", by: "ana")
    try title(2, "c", by: "bob")
    let undo = try #require(try journal.planUndo(by: "ana", later: .keep))
    #expect(undo.action == .undo(2))
    try journal.commit(undo, by: "ana")
    #expect(journal.state.item(1)?.attributes == [:])
    #expect(journal.state.item(2)?["title"] == "c")
    #expect(try journal.planUndo(by: "ana", later: .keep) == nil)
    #expect(try journal.planUndo(by: "ana")?.conflicts.map(\.revision) == [4])

    try title(1, "d", by: "eve")
    try title(2, "e", by: "eve")
    for _ in 1...2 { try journal.commit(try #require(try journal.planUndo(by: "eve")), by: "eve") }
    // What Eve would redo first has another value of Bob's by now.
    try title(1, "f", by: "bob")
    #expect(try journal.planRedo(by: "eve")?.conflicts.map(\.author) == ["bob"])
    let redo = try #require(try journal.planRedo(by: "eve", later: .keep))
    #expect(redo.action == .redo(7))
    try journal.commit(redo, by: "eve")
    #expect(journal.state.item(1)?["title"] == "f")
    #expect(journal.state.item(2)?["title"] == "e")
    #expect(try journal.planRedo(by: "eve", later: .keep) == nil)
    try journal.close()
  }

  /// Neither undo nor redo found the entry any more.
  @Test func undosAndRedosThatOthersRevertedDoNotCount() throws {
    let journal = try CatalogJournal.inMemory()
    func expectUndo(_ action: RestorePlan.Action?, redo: RestorePlan.Action?) throws {
      #expect(try journal.planUndo(by: "ana")?.action == action)
      #expect(try journal.planRedo(by: "ana")?.action == redo)
    }
    try journal.commit { try $0.addItem(kind: "book", attributes: ["title": "a"]) }
    try journal.commit(by: "ana") { try $0.updateItem(1, set: ["title": "b"]) }
    try journal.commit(try #require(try journal.planUndo(by: "ana")), by: "ana")
    try expectUndo(nil, redo: .redo(2))
    try journal.commit(try journal.planRevert(of: 3), by: "bob")
    #expect(journal.state.item(1)?["title"] == "b")
    try expectUndo(.undo(2), redo: nil)
    // If Bob takes that back as well, the undo counts again.
    try journal.commit(try #require(try journal.planUndo(by: "bob")), by: "bob")
    #expect(journal.state.item(1)?["title"] == "a")
    try expectUndo(nil, redo: .redo(2))

    try journal.commit(try #require(try journal.planRedo(by: "ana")), by: "ana")
    try expectUndo(.undo(2), redo: nil)
    try journal.commit(try journal.planRevert(of: 6), by: "bob")
    #expect(journal.state.item(1)?["title"] == "a")
    try expectUndo(nil, redo: .redo(2))
    try journal.commit(try #require(try journal.planRedo(by: "ana")), by: "ana")
    #expect(journal.state.item(1)?["title"] == "b")
    try expectUndo(.undo(2), redo: nil)
    try journal.close()
  }

  /// An entry without author and one whose author was erased looked the same.
  @Test func undoLeavesEntriesWhoseAuthorWasErased() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Books.journal")
      let before = try CatalogJournal.create(at: url)
      try before.commit { try $0.addItem(kind: "book") }
      try before.commit(by: "bob") { draft in for _ in 1...2 { try draft.addItem(kind: "book") } }
      try before.close()
      try CatalogJournal.erase([.item(2)], at: url, reason: "by law", by: "eve", includingWords: true)
      let journal = try CatalogJournal.open(at: url)
      #expect(try journal.planUndo(by: "")?.action == .undo(1))
      try journal.commit(try #require(try journal.planUndo(by: "")))
      #expect(try journal.planRedo(by: "")?.action == .redo(1))
      try journal.close()
    }
  }

  /// The undo brought back what somebody else had deleted since, and did not name that deletion.
  @Test func aLaterDeletionOfWhatAnEarlierValueRefersToBlocksARevert() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in
      try draft.addCategory(name: "Novels")
      try draft.addItem(kind: "book", category: 1, attributes: ["title": "a"])
    }
    try journal.commit(by: "ana") { draft in
      try draft.setCategory(ofItem: 1, to: nil)
      try draft.updateItem(1, set: ["title": "b"])
    }
    try journal.commit(by: "bob") { try $0.deleteCategory(1) }

    let refused = try #require(try journal.planUndo(by: "ana"))
    #expect(refused.action == .undo(2))
    #expect(refused.conflicts.map(\.entity) == [.category(1)])
    #expect(refused.conflicts.map(\.revision) == [3] && refused.conflicts.map(\.author) == ["bob"])
    let forced = try #require(try journal.planUndo(by: "ana", later: .override))
    #expect(forced.changes.map(\.entity) == [.category(1), .item(1)])
    #expect(forced.undoes.map(\.revision) == [3] && forced.undoes.map(\.entity) == [.category(1)])

    let kept = try #require(try journal.planUndo(by: "ana", later: .keep))
    #expect(kept.conflicts.isEmpty && kept.undoes.isEmpty)
    try journal.commit(kept, by: "ana")
    #expect(journal.state.categoryCount == 0)
    #expect(journal.state.item(1)?.attributes == ["title": "a"])
    #expect(journal.state.problems() == [])
    // A deletion by the reverted entry itself is no conflict.
    let deletion = try journal.planRevert(of: 3)
    #expect(deletion.conflicts.isEmpty && deletion.changes.map(\.entity) == [.category(1)])
    try journal.close()
  }

  @Test func aRevertThatKeepsADeletionLeavesAnItemInItsPresentCategory() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in
      for name in ["Novels", "Poems"] { try draft.addCategory(name: name) }
      try draft.addItem(kind: "book", category: 1)
    }
    try journal.commit(by: "ana") { try $0.setCategory(ofItem: 1, to: 2) }
    try journal.commit(by: "bob") { try $0.deleteCategory(1) }
    #expect(try journal.planRevert(of: 2).conflicts.map(\.author) == ["bob"])
    #expect(try journal.planRevert(of: 2, later: .keep).isEmpty)
    #expect(try journal.planUndo(by: "ana", later: .keep) == nil)
    try journal.close()
  }

  @Test func aDeletedImageDoesNotBringBackAnItemThatOthersDeleted() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      let blob = try journal.blobs.add(Data("cover".utf8))
      try journal.commit { draft in
        try draft.addItem(kind: "book")
        try draft.addImage(to: 1, name: "cover", mediaType: "image/png", blob: blob)
      }
      try journal.commit(by: "ana") { try $0.deleteImage(1) }
      try journal.commit(by: "bob") { try $0.deleteItem(1) }
      let refused = try #require(try journal.planUndo(by: "ana"))
      #expect(refused.conflicts.map(\.entity) == [.item(1)])
      #expect(refused.conflicts.map(\.author) == ["bob"])
      #expect(try journal.planRevert(of: 2, later: .keep).isEmpty)
      let forced = try #require(try journal.planUndo(by: "ana", later: .override))
      #expect(forced.undoes.map(\.author) == ["bob"])
      try journal.commit(forced, by: "ana")
      #expect(journal.state.records == (try journal.state(asOf: .revision(1)).records))
      try journal.close()
    }
  }

  /// The entry that is reverted added a category and changed an item. A later entry puts the item into the category.
  @Test func revertingAnEntryKeepsACategoryThatItAddedIfItHasItemsNow() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      try journal.commit(by: "ana") { try $0.addItem(kind: "book", attributes: ["title": "a"]) }
      let revision = try journal.commit(by: "ana") { draft in
        try draft.addCategory(name: "Novels")
        try draft.updateItem(1, set: ["title": "b"])
      }.revision
      try journal.commit(by: "bob") { try $0.setCategory(ofItem: 1, to: 1) }

      let refused = try journal.planRevert(of: revision)
      #expect(refused.conflicts.map(\.entity) == [.item(1)])
      #expect(refused.conflicts.map(\.author) == ["bob"])

      let kept = try journal.planRevert(of: revision, later: .keep)
      try journal.commit(kept, by: "ana")
      #expect(journal.state.item(1)?.category == 1)
      #expect(journal.state.item(1)?["title"] == "a")
      #expect(journal.state.category(1)?.name == "Novels")
      try journal.close()
    }
  }

  /// The entry that is reverted added items to a new category. A later entry adds an image to one of them.
  @Test func revertingAnEntryKeepsAllThatALaterEntryRefersTo() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      let revision = try journal.commit(by: "ana") { draft in
        try draft.addCategory(name: "Novels")
        try draft.addItem(kind: "book", category: 1)
        try draft.addItem(kind: "book", category: 1)
      }.revision
      let blob = try journal.blobs.add(Data("cover".utf8))
      try journal.commit(by: "bob") { draft in
        try draft.addImage(to: 1, name: "cover", mediaType: "image/png", blob: blob)
      }
      let kept = try journal.planRevert(of: revision, later: .keep)
      try journal.commit(kept, by: "ana")
      #expect(journal.state.items.map(\.id) == [1])
      #expect(journal.state.item(1)?.category == 1)
      #expect(journal.state.imageCount == 1)
      #expect(journal.state.problems() == [])
      try journal.close()
    }
  }

  @Test func anAddedCategoryIsNotRevertedWhileItHasItemsOfOthers() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      try journal.commit(by: "ana") { try $0.addCategory(name: "Novels") }
      try journal.commit(by: "bob") { try $0.addItem(kind: "book", category: 1) }
      let plan = try journal.planUndo(by: "ana")
      #expect(plan?.conflicts.map(\.entity) == [.item(1)])
      #expect(try journal.planRevert(of: 1, later: .keep).isEmpty)
      #expect(try journal.planUndo(by: "ana", later: .keep) == nil)
      let forced = try #require(try journal.planUndo(by: "ana", later: .override))
      try journal.commit(forced, by: "ana")
      #expect(journal.state.categoryCount == 0)
      #expect(journal.state.item(1) != nil && journal.state.item(1)?.category == nil)
      #expect(journal.state.problems() == [])
      try journal.close()
    }
  }
}

extension EntityRecord? {
  /// Whether the parts that a change touched have their values from before it again, or had them already.
  fileprivate func has(_ change: EntityDifference, _ before: EntityRecord?) -> Bool {
    guard let old = change.old, let new = change.new, let record = self else {
      return (self == nil) == (change.old == nil) || self == before
    }
    let keys = Set(EntityRecord.differences(from: old, to: new).map(\.key))
    return self == before
      || !EntityRecord.differences(from: old, to: record).contains { keys.contains($0.key) }
  }
}
