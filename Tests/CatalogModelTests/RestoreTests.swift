import CatalogModel
import Foundation
import InMemoryJournals
import JournalMaintenance
import TestSupport
import Testing

/// Restores compared with a naive model, which computes the expected entities from all states.
struct RestoreTests {
  @Test func restoringEverythingMakesExactlyTheOldState() throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      var made = try RandomJournal(folder, commits: 40, using: &random)
      for _ in 0..<30 {
        try made.commit(using: &random)
        let revision = Int.random(in: 0...made.newest, using: &random)
        let plan = try made.journal.planRestore(of: .everything, asOf: .revision(revision), deletesNew: true)
        #expect(plan.isEmpty == (made.states[revision].records == made.journal.state.records))
        try made.journal.commit(plan, by: "eve")
        made.note()
        #expect(made.journal.state.records == made.states[revision].records)
      }
      #expect(try made.journal.verify().isSound)
      try made.journal.close()
    }
  }

  @Test func restoringEverythingButKeepingWhatIsNewLosesNothingNew() throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      var made = try RandomJournal(folder, commits: 40, using: &random)
      for _ in 0..<30 {
        try made.commit(using: &random)
        let revision = Int.random(in: 0...made.newest, using: &random)
        let (past, before) = (made.states[revision].records, made.journal.state.records)
        try made.journal.commit(
          try made.journal.planRestore(of: .everything, asOf: .revision(revision), keepsNew: true))
        made.note()
        let after = made.journal.state.records
        #expect(Set(after.keys) == Set(past.keys).union(before.keys))
        for (entity, record) in after {
          var expected: [FieldKey: FieldValue] = [:]
          before[entity]?.visit { expected[$0] = $1 }
          past[entity]?.visit { expected[$0] = $1 }
          var found: [FieldKey: FieldValue] = [:]
          record.visit { found[$0] = $1 }
          #expect(found == expected)
        }
      }
      try made.journal.close()
    }
  }

  @Test func restoringSomeEntitiesBringsBackWhatTheyNeedAndLeavesAllElse() throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      var made = try RandomJournal(folder, commits: 40, using: &random)
      for _ in 0..<100 {
        try made.commit(using: &random)
        let revision = Int.random(in: 0...made.newest, using: &random)
        let (past, now) = (made.states[revision], made.journal.state)
        let entities = (0..<Int.random(in: 1...3, using: &random)).map { _ in
          made.anyEntity(using: &random)
        }.filter { now.revision(of: $0) > 0 }
        let plan = try made.journal.planRestore(
          of: .entities(entities), asOf: .revision(revision), deletesNew: true)
        let expected = Self.restored(entities, now: now, past: past)
        try made.journal.commit(plan)
        made.note()
        #expect(made.journal.state.records == expected)
        #expect(plan.changes == made.journal.state.differences(from: now))
        for edit in plan.undoes { #expect(edit.revision > revision) }
      }
      #expect(try made.journal.verify().isSound)
      try made.journal.close()
    }
  }

  /// The records that the catalog must have, put together from the two states.
  private static func restored(
    _ entities: [EntityKey], now: Catalog, past: Catalog
  ) -> [EntityKey: EntityRecord] {
    var records = now.records
    func bringBack(_ entity: EntityKey) {
      records[entity] = past.record(of: entity)
      switch entity.kind {
      case .item:
        guard let item = past.item(EntityID(entity.number)) else { return }
        if let category = item.category, records[.category(category)] == nil {
          bringBack(.category(category))
        }
      case .image:
        guard let image = past.image(EntityID(entity.number)) else { return }
        if records[.item(image.item)] == nil {
          bringBack(.item(image.item))
          for other in past.images(of: image.item) where records[.image(other.id)] == nil {
            records[.image(other.id)] = past.record(of: .image(other.id))
          }
        }
      default: break
      }
    }
    for entity in entities where entity.kind == .category { records[entity] = past.record(of: entity) }
    for entity in entities where entity.kind == .item {
      records[entity] = past.record(of: entity)
      for image in now.images(of: EntityID(entity.number)) {
        records[.image(image.id)] = past.record(of: .image(image.id))
      }
      for image in past.images(of: EntityID(entity.number)) { bringBack(.image(image.id)) }
    }
    for entity in entities { bringBack(entity) }
    // References to a deleted entity are deleted with it, or removed.
    for entity in entities where records[entity] == nil {
      switch entity.kind {
      case .category:
        for item in now.items(in: EntityID(entity.number)) {
          guard let record = records[.item(item.id)],
            record[field: 1] == .integer(Int64(entity.number))
          else { continue }
          records[.item(item.id)] = record.applying(RecordChanges(removeFields: [1]))
        }
      case .item:
        for image in now.images(of: EntityID(entity.number)) { records[.image(image.id)] = nil }
      default: break
      }
    }
    return records
  }

  @Test func aDeletedItemComesBackUnderItsNumberWithItsImagesAndItsCategory() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      let blob = try journal.blobs.add(Data("cover".utf8))
      try journal.commit(by: "ana") { draft in
        let shelf = try draft.addCategory(name: "Novels")
        try draft.addItem(kind: "book", category: shelf, attributes: ["title": .string("Dune")])
        try draft.addImage(to: 1, name: "cover.svg", mediaType: "image/svg+xml", blob: blob)
      }
      try journal.commit(by: "bob", note: "tidy up") { draft in
        try draft.deleteItem(1)
        try draft.deleteCategory(1)
      }
      let plan = try journal.planRestore(of: .entities([.item(1)]), asOf: .head(back: 1))
      #expect(plan.changes.map(\.entity) == [.category(1), .item(1), .image(1)])
      #expect(plan.changes.allSatisfy { $0.operation == .add })
      #expect(plan.undoes.map(\.author) == ["bob", "bob", "bob"])
      #expect(journal.head.revision == 2)
      try journal.commit(plan, by: "ana")
      #expect(journal.state.records == (try journal.state(asOf: .revision(1)).records))
      let entry = try journal.entry(at: 3)
      #expect(entry.metadata == ["journal.restores": "1"])
      #expect(entry.note == "restored item:1 as of revision 1")
      #expect(try journal.verify().isSound)
      try journal.close()
    }
  }

  /// The item came back with only one of its images, as it had never been.
  @Test func anImageBringsBackItsDeletedItemWithAllItsImages() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      let blob = try journal.blobs.add(Data("cover".utf8))
      try journal.commit { draft in
        try draft.addItem(kind: "book")
        for name in ["front", "back"] {
          try draft.addImage(to: 1, name: name, mediaType: "image/png", blob: blob)
        }
      }
      try journal.commit(by: "ana") { try $0.deleteImage(1) }
      try journal.commit(by: "bob") { try $0.deleteItem(1) }
      let old = try journal.state(asOf: .revision(1)).records
      let plan = try journal.planRestore(of: .entities([.image(1)]), asOf: .revision(1))
      #expect(plan.changes.map(\.entity) == [.item(1), .image(1), .image(2)])
      #expect(plan.undoes.map(\.author) == ["bob", "bob", "ana"])
      try journal.commit(plan)
      #expect(journal.state.records == old)

      // A revert of the deletion of an image does the same.
      try journal.commit(by: "bob") { try $0.deleteItem(1) }
      let revert = try journal.planRevert(of: 2, later: .override)
      #expect(Set(revert.undoes.map(\.entity)) == [.item(1), .image(1), .image(2)])
      try journal.commit(revert)
      #expect(journal.state.records == old)
      try journal.close()
    }
  }

  @Test func onlyTheNamedFieldsComeBack() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      try journal.commit {
        try $0.addItem(kind: "book", attributes: ["title": .string("Dune"), "stars": .integer(3)])
      }
      try journal.commit {
        try $0.updateItem(1, set: ["title": .string("Dun"), "stars": .integer(5), "read": .bool(true)])
      }
      try journal.commit(
        try journal.planRestore(
          of: .entities([.item(1)]), asOf: .revision(1), fields: [.attribute("title")]))
      #expect(try journal.entry(at: 3).note == "restored title of item:1 as of revision 1")
      // The number of a field means another one in another kind.
      let kept = try journal.planRestore(
        of: .entities([.item(1)]), asOf: .revision(2), fields: [.field(1), .attribute("stars")],
        keepsNew: true)
      #expect(
        kept.note == "restored category, stars of item:1 as of revision 2, keeping what was added since")
      #expect(
        journal.state.item(1)?.attributes == [
          "title": .string("Dune"), "stars": .integer(5), "read": .bool(true),
        ])
      try journal.close()
    }
  }

  /// A restore of an item that was added later deleted it.
  @Test func whatDidNotExistThenIsDeletedOnlyOnRequest() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit(by: "ana") { try $0.addItem(kind: "book") }
    try journal.commit(by: "bob") { try $0.addItem(kind: "book") }
    try journal.commit(by: "ana") { try $0.updateItem(2, set: ["title": .string("Emma")]) }
    func expectRefusal(_ plan: RestorePlan, _ conflicts: [Revision]) {
      #expect(plan.conflicts.map(\.revision) == conflicts)
      #expect(plan.conflicts.allSatisfy { $0.operation == .add })
      let error = #expect(throws: JournalError.self) { try journal.commit(plan) }
      #expect(error?.code == .conflict)
      #expect(journal.head.revision == 3)
    }
    let both = RestoreScope.entities([.item(1), .item(2)])
    expectRefusal(try journal.planRestore(of: both, asOf: .revision(1)), [2])
    expectRefusal(try journal.planRestore(of: .everything, asOf: .revision(0)), [2, 1])
    #expect(try journal.planRestore(of: both, asOf: .revision(1), keepsNew: true).isEmpty)
    // Everything as of a point is without what was added later.
    let everything = try journal.planRestore(of: .everything, asOf: .revision(1))
    #expect(everything.conflicts.isEmpty && everything.undoes.map(\.revision) == [3, 2])

    let asked = try journal.planRestore(of: both, asOf: .revision(1), deletesNew: true)
    #expect(asked.changes == everything.changes && asked.undoes == everything.undoes)
    try journal.commit(asked)
    #expect(journal.state.records.keys.sorted() == [.item(1)])
    try journal.commit(try journal.planRestore(of: .everything, asOf: .revision(0), deletesNew: true))
    #expect(journal.state.records.isEmpty)
    // Nothing existed at that revision either.
    try journal.commit(by: "bob") { try $0.addItem(kind: "book") }
    let late = try journal.planRestore(of: .everything, asOf: .head(back: 1))
    #expect(late.conflicts.map(\.author) == ["bob"])
  }

  @Test func aPlanIsNotCommittedIfTheJournalHasChangedSince() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      try journal.commit { draft in
        try draft.addItem(kind: "book", attributes: ["title": .string("Dune")])
        try draft.addItem(kind: "book", attributes: ["title": .string("Emma")])
      }
      try journal.commit { try $0.updateItem(1, set: ["title": .string("Dun")]) }
      let one = try journal.planRestore(of: .entities([.item(1)]), asOf: .revision(1))
      let all = try journal.planRestore(of: .everything, asOf: .revision(1))
      try journal.commit(by: "bob", note: "another book") { try $0.deleteItem(2) }
      // A change of another entity does not affect the first plan, but it affects the second.
      let whole = #expect(throws: JournalError.self) { try journal.commit(all) }
      #expect(whole?.code == .conflict)
      #expect(whole?.message.contains("entry 3") == true)
      #expect(whole?.message.contains("bob: another book") == true)
      let late = try journal.planRestore(of: .entities([.item(1)]), asOf: .revision(1))
      try journal.commit(one)
      #expect(journal.state.item(1)?["title"] == .string("Dune"))
      let again = #expect(throws: JournalError.self) { try journal.commit(late) }
      #expect(again?.code == .conflict)
      #expect(journal.head.revision == 4)
      try journal.close()
    }
  }

  /// It was `rejected`, because an item would have been in a missing category.
  @Test func aPlanIsNotCommittedIfOthersHaveMadeOrLostAReferenceSince() throws {
    let journal = try CatalogJournal.inMemory()
    func expectConflict(_ plan: RestorePlan, _ revision: Revision) {
      let error = #expect(throws: JournalError.self) { try journal.commit(plan, by: "ana") }
      #expect(error?.code == .conflict && error?.revision == revision)
      #expect(error?.message.contains("by bob") == true)
      #expect(journal.head.revision == revision)
    }
    try journal.commit(by: "ana") { try $0.addCategory(name: "Novels") }
    let deletion = try #require(try journal.planUndo(by: "ana"))
    try journal.commit(by: "bob") { try $0.addItem(kind: "book", category: 1) }
    expectConflict(deletion, 2)
    #expect(try journal.planUndo(by: "ana")?.conflicts.map(\.revision) == [2])

    try journal.commit(by: "ana") { try $0.deleteItem(1) }
    let addition = try #require(try journal.planUndo(by: "ana"))
    // A new name of the category does not matter.
    try journal.commit(by: "bob") { try $0.setName(ofCategory: 1, to: "Books") }
    try journal.commit(addition, by: "ana")
    #expect(journal.state.item(1)?.category == 1)
    try journal.commit(by: "ana") { try $0.deleteItem(1) }
    let other = try #require(try journal.planUndo(by: "ana"))
    try journal.commit(by: "bob") { try $0.deleteCategory(1) }
    expectConflict(other, 7)
    try journal.close()
  }

  /// A plan of one journal was carried out in another, where it deleted an item.
  @Test func aPlanIsCommittedOnlyToItsOwnJournal() throws {
    try withTemporaryFolder { folder in
      func make(_ name: String) throws -> CatalogJournal {
        let journal = try CatalogJournal.create(at: folder.url.appending(path: name))
        try journal.commit { try $0.addItem(kind: "book") }
        try journal.commit { try $0.addItem(kind: "book") }
        return journal
      }
      func expectRefusal(_ plan: RestorePlan, _ journal: CatalogJournal) {
        let (revision, items) = (journal.head.revision, journal.state.itemCount)
        let error = #expect(throws: JournalError.self) { try journal.commit(plan) }
        #expect(error?.code == .wrongUse)
        #expect(error?.message.contains("another journal") == true, "\(String(describing: error))")
        #expect(journal.head.revision == revision && journal.state.itemCount == items)
      }
      let (one, other) = (try make("One.journal"), try make("Other.journal"))
      let scope = RestoreScope.entities([.item(2)])
      let plan = try one.planRestore(of: scope, asOf: .revision(1), deletesNew: true)
      expectRefusal(plan, other)
      expectRefusal(try one.planRestore(of: .everything, asOf: .revision(0)), other)
      expectRefusal(try #require(try one.planUndo(by: "")), other)

      // A copy is the same journal up to where it got another history.
      let url = folder.url.appending(path: "Copy.journal")
      try one.copy(to: url)
      let copy = try CatalogJournal.open(at: url)
      try copy.commit { try $0.updateItem(1, set: ["title": "Dune"]) }
      let late = try copy.planRestore(of: scope, asOf: .revision(1), deletesNew: true)
      expectRefusal(late, one)
      try one.commit { try $0.updateItem(1, set: ["title": "Emma"]) }
      expectRefusal(late, one)
      try one.commit { try $0.updateItem(1, set: ["title": "Momo"]) }
      expectRefusal(late, one)
      try copy.commit(plan)
      try one.commit(plan)
      #expect(copy.state.item(2) == nil && one.state.item(2) == nil)
      for journal in [one, other, copy] { try journal.close() }
    }
  }

  @Test func aRestoreOfNothingSaysSo() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { try $0.addItem(kind: "book") }
    let plan = try journal.planRestore(of: .entities([]), asOf: .revision(1))
    #expect(plan.isEmpty && plan.note == "restored nothing as of revision 1")
    try journal.close()
  }
}
