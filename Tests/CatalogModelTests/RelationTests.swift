import CatalogModel
import Foundation
import InMemoryJournals
import JournalMaintenance
import TestSupport
import Testing

private struct Company: CatalogItem {
  static let kind = "company"
  static let rules: [Rule] = [.unique(\.name, ignoringCase: true)]
  var name: String
}

private struct Person: CatalogItem {
  static let kind = "person"
  static let rules: [Rule] = [
    .reference(\.company, onDelete: .deny), .unique(\.email), .unique(\.first, \.last), .required(\.first),
  ]
  var first: String?
  var last: String?
  var email: String?
  var company: ItemID<Company>?
}

private struct Label: CatalogItem {
  static let kind = "label"
  var text: String
}

private struct Card: CatalogItem {
  static let kind = "card"
  static let rules: [Rule] = [
    .reference(\.labels, onDelete: .nullify), .reference(\.parent, onDelete: .cascade),
    .reference(\.mentions, onDelete: .keep), .reference(\.place.owner, onDelete: .nullify),
  ]
  struct Place: Codable { var owner: ItemID<Person>? }
  var text: String
  var labels: [ItemID<Label>] = []
  var parent: ItemID<Card>?
  var mentions: Set<ItemID<Card>> = []
  var place = Place()
}

/// References, unique keys and required properties, whichever way a change comes in.
struct RelationTests {
  private func journal() throws -> CatalogJournal {
    let journal = try CatalogJournal.inMemory()
    try journal.declare(Company.self, Person.self, Card.self)
    return journal
  }

  private func rejection(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch let error as JournalError where error.code == .rejected {
      return error.message
    } catch {
      return "not rejected: \(error)"
    }
  }

  @Test func rulesAreRecordedOnceAndATypeWithoutThemCannotWrite() throws {
    let journal = try CatalogJournal.inMemory()
    let error = #expect(throws: JournalError.self) {
      try journal.commit { try $0.insert(Company(name: "Acme")) }
    }
    #expect(error?.code == .wrongUse && error?.message.contains("journal.declare(Company.self)") == true)
    try journal.declare(Company.self, Person.self, Card.self)
    #expect(journal.head.revision == 1)
    try journal.declare(Person.self, Card.self, Company.self)
    #expect(journal.head.revision == 1)
    #expect(
      journal.state.rules(ofKind: "person").map(\.description) == [
        "company of person refers to company, on delete deny", "email of person is unique",
        "first and last of person is unique", "first of person is required",
      ])
    #expect(journal.state.allRules.count == 9)
    try journal.commit { try $0.deleteRule(1) }
    #expect(throws: JournalError.self) { try journal.commit { try $0.insert(Company(name: "Acme")) } }
    #expect(try journal.verify(.deep).problems.isEmpty)
  }

  @Test func aReferenceLeadsToAnExistingItemOfItsKind() throws {
    let journal = try journal()
    let (acme, ana) = try journal.commit { draft in
      let acme = try draft.insert(Company(name: "Acme"))
      return (acme, try draft.insert(Person(first: "Ana", company: acme)))
    }.value
    #expect(
      rejection { try journal.commit { try $0.insert(Person(first: "Bob", company: 7)) } }
        == "item:3 refers to item:7, which does not exist "
        + "(rule:2: company of person refers to company, on delete deny)")
    #expect(
      rejection { try journal.commit { try $0.update(ana) { $0.company = ItemID(ana.number) } } }?
        .hasPrefix("item:2 refers to item:2, which is a person") == true)
    #expect(
      rejection { try journal.commit { try $0.updateItem(ana.item, set: ["company": .string("Acme")]) } }?
        .hasPrefix("item:2 has a company that is no number of an item") == true)
    #expect(
      rejection { try journal.commit { try $0.setKind(ofItem: acme.item, to: "firm") } }?
        .hasPrefix("item:2 refers to item:1, which is a firm") == true)
    // The order inside an entry does not matter, and neither do the draft's own methods.
    try journal.commit { draft in
      try draft.update(ana) { $0.company = 3 }
      try draft.insert(Company(name: "Bolt"))
    }
    #expect(rejection { try journal.commit { try $0.delete(EntityKey.item(3)) } } != nil)
    #expect(journal.head.revision == 3)
  }

  @Test func aDeletionDeniesCascadesNullifiesOrKeeps() throws {
    let journal = try journal()
    try journal.commit { draft in
      let acme = try draft.insert(Company(name: "Acme"))  // 1
      let ana = try draft.insert(Person(first: "Ana", company: acme))  // 2
      let label = try draft.insert(Label(text: "red"))  // 3
      let other = try draft.insert(Label(text: "blue"))  // 4
      let card = try draft.insert(Card(text: "top", labels: [label, other], place: .init(owner: ana)))  // 5
      let child = try draft.insert(Card(text: "child", parent: card))  // 6
      try draft.insert(Card(text: "grandchild", parent: child))  // 7
      try draft.insert(Card(text: "mentions", mentions: [card]))  // 8
    }
    #expect(
      rejection { try journal.commit { try $0.delete(ItemID<Company>(1)) } }
        == "item:1 can't be deleted: item:2 refers to it "
        + "(rule:2: company of person refers to company, on delete deny)")
    try journal.commit { try $0.delete(ItemID<Label>(3)) }
    #expect(try journal.state.value(of: ItemID<Card>(5))?.labels == [4])
    try journal.commit { try $0.delete(ItemID<Person>(2)) }
    #expect(try journal.state.value(of: ItemID<Card>(5))?.place.owner == nil)
    try journal.commit(by: "ana") { try $0.delete(ItemID<Card>(5)) }
    #expect(journal.state.items.map(\.id.number) == [1, 4, 8])
    #expect(try journal.state.value(of: ItemID<Card>(8))?.mentions == [5])
    #expect(journal.state.problems() == [])
    // What the deletion has taken along comes back with it.
    let undo = try #require(try journal.planUndo(by: "ana"))
    #expect(undo.changes.map(\.entity) == [.item(5), .item(6), .item(7)])
    try journal.commit(undo)
    #expect(try journal.state.value(of: ItemID<Card>(7))?.parent == 6)
    // So it does if only the item that was asked for is restored.
    try journal.commit { try $0.delete(ItemID<Card>(5)) }
    let restore = try journal.planRestore(of: .entities([.item(5)]), asOf: .head(back: 1))
    #expect(restore.changes.map(\.entity) == [.item(5), .item(6), .item(7)])
    // A grandchild brings back what it refers to.
    let lowest = try journal.planRestore(of: .entities([.item(7)]), asOf: .head(back: 1))
    #expect(lowest.changes.map(\.entity) == [.item(5), .item(6), .item(7)])
    #expect(restore.problem == nil && lowest.problem == nil)
    try journal.commit(lowest)
    #expect(journal.state.problems() == [])
  }

  @Test func aKeyIsUniqueWhicheverWayItComesBack() throws {
    let journal = try journal()
    let ana = try journal.commit(by: "ana") { try $0.insert(Person(first: "Ana", email: "a@b.c")) }.value
    #expect(
      rejection { try journal.commit { try $0.insert(Person(first: "Ann", email: "a@b.c")) } }
        == "item:2 has the same email as item:1 (rule:3: email of person is unique)")
    try journal.commit { draft in
      try draft.insert(Person(first: "Ann", email: "A@b.c"))
      try draft.insert(Person(first: "Ann", last: "Lee"))
      try draft.insert(Person(first: "Ann"))
    }
    #expect(
      rejection { try journal.commit { try $0.insert(Person(first: "Ann", last: "Lee")) } }?
        .hasPrefix("item:5 has the same first and last as item:3") == true)
    try journal.commit(by: "ana") { try $0.delete(ana) }
    try journal.commit(by: "bob") { try $0.insert(Person(first: "Ali", email: "a@b.c")) }
    let undo = try #require(try journal.planUndo(by: "ana"))
    #expect(
      undo.conflicts.isEmpty
        && undo.problem == "item:1 has the same email as item:5 (rule:3: email of person is unique)")
    #expect(rejection { try journal.commit(undo, by: "ana") } == undo.problem)
    let restore = try journal.planRestore(of: .entities([.item(1)]), asOf: .revision(2))
    #expect(restore.problem == undo.problem)
    #expect(throws: JournalError.self) { try journal.commit(restore) }
    // Two items can exchange their keys in one entry.
    try journal.commit { draft in
      try draft.update(ItemID<Person>(5)) { $0.email = "A@b.c" }
      try draft.update(ItemID<Person>(2)) { $0.email = "a@b.c" }
    }
    try journal.commit { try $0.insert(Company(name: "Straße AG")) }
    #expect(rejection { try journal.commit { try $0.insert(Company(name: "STRASSE ag")) } } == nil)
    #expect(rejection { try journal.commit { try $0.insert(Company(name: "STRAßE AG")) } } != nil)
    #expect(
      rejection { try journal.commit { try $0.updateItem(5, remove: ["first"]) } }
        == "item:5 has no first (rule:5: first of person is required)")
    #expect(journal.state.problems() == [])
  }

  /// The rules hold for what earlier commits of the pipeline have made, which may not be durable yet.
  @Test func aCommitOfAPipelineThatBreaksARuleIsRefusedAndTheOthersStay() throws {
    let journal = try journal()
    try journal.withPipeline { pipeline in
      let acme = try pipeline.commit { try $0.insert(Company(name: "Acme")) }.value
      let bob = try pipeline.commit { try $0.insert(Person(first: "Bob", email: "b@c", company: acme)) }.value
      #expect(
        rejection { try pipeline.commit { try $0.insert(Person(first: "Rob", email: "b@c", company: acme)) } }
          == "item:3 has the same email as item:2 (rule:3: email of person is unique)")
      #expect(
        rejection { try pipeline.commit { try $0.delete(acme) } }?.contains("item:2 refers to it") == true)
      try pipeline.commit { try $0.delete(bob) }
      try pipeline.commit { try $0.delete(acme) }
      let card = try pipeline.commit { try $0.insert(Card(text: "a")) }.value
      try pipeline.commit { draft in for _ in 1...3 { try draft.insert(Card(text: "b", parent: card)) } }
      try pipeline.commit { try $0.delete(card) }
    }
    #expect(journal.head.revision == 8 && journal.state.itemCount == 0)
    #expect(try journal.verify(.deep).problems.isEmpty)
  }

  @Test func aReferenceThatAnotherHasMadeIsAConflictOfTheUndo() throws {
    let journal = try journal()
    let acme = try journal.commit(by: "ana") { try $0.insert(Company(name: "Acme")) }.value
    let red = try journal.commit(by: "lea") { try $0.insert(Label(text: "red")) }.value
    let bob = try journal.commit(by: "bob") { draft in
      try draft.insert(Card(text: "card", labels: [red]))
      return try draft.insert(Person(first: "Bob", company: acme))
    }
    for (author, referrer) in [("ana", bob.value.entity), ("lea", .item(3))] {
      let undo = try #require(try journal.planUndo(by: author))
      #expect(undo.conflicts.map(\.entity) == [referrer] && undo.conflicts.map(\.author) == ["bob"])
      #expect(throws: JournalError.self) { try journal.commit(undo, by: author) }
      #expect(try journal.planUndo(by: author, later: .keep) == nil)
    }
    // Overriding removes the reference where the rule allows that.
    let label = try #require(try journal.planUndo(by: "lea", later: .override))
    #expect(label.problem == nil && label.undoes.map(\.author) == ["bob"])
    let company = try #require(try journal.planUndo(by: "ana", later: .override))
    #expect(company.problem?.hasPrefix("item:1 can't be deleted: item:4 refers to it") == true)
    #expect(throws: JournalError.self) { try journal.commit(company, by: "ana") }
    try journal.commit(label, by: "lea")
    #expect(try journal.state.value(of: ItemID<Card>(3))?.labels == [])
    #expect(journal.state.problems() == [])
  }

  /// Bob's card is older than the label to which it refers, and so is not among the later edits.
  @Test func anOlderItemThatALaterRuleTakesAlongIsAConflictOfTheRevert() throws {
    for property in ["labels", "parent"] {
      let journal = try CatalogJournal.inMemory()
      let number = FieldValue.integer(2)
      try journal.commit(by: "bob") { draft in
        try draft.addItem(
          kind: "card",
          attributes: ["text": .string("old"), property: property == "labels" ? .array([number]) : number])
      }
      let added = try journal.commit(by: "ana") { draft in
        try draft.addItem(
          kind: property == "labels" ? "label" : "card", attributes: ["text": .string("new")])
      }
      try journal.declare(Card.self)
      let revert = try journal.planRevert(of: added.revision)
      #expect(revert.conflicts.map(\.entity) == [.item(1)] && revert.conflicts.map(\.author) == ["bob"])
      #expect(throws: JournalError.self) { try journal.commit(revert, by: "ana") }
      #expect(journal.state.item(1) != nil && journal.state.problems() == [])
    }
  }

  @Test func aRuleThatDoesNotHoldYetIsRefusedWithTheItems() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in
      for number in 0..<30 {
        try draft.addItem(kind: "company", attributes: ["name": .string("N\(number / 2)")])
      }
      try draft.addItem(kind: "person", attributes: ["first": .string("Ana"), "company": .integer(99)])
    }
    let refusal = try #require(rejection { try journal.declare(Company.self) })
    #expect(
      refusal.hasPrefix(
        "rule:1 does not hold yet (name of company is unique, ignoring case): item:2 has the same name as item:1; "
          + "item:4 has the same name as item:3; ")
        && refusal.contains("item:20 has the same name as item:19; and 5 more. Change or delete these items"))
    #expect(rejection { try journal.declare(Person.self) }?.contains("item:31 refers to item:99") == true)
    // Mended in the same entry, it holds.
    try journal.commit { draft in
      for number in stride(from: 2, through: 30, by: 2) { try draft.deleteItem(EntityID(number)) }
      try draft.declare(Company.self)
      try draft.updateItem(31, remove: ["company"])
      try draft.declare(Person.self)
    }
    #expect(journal.state.problems() == [])
    #expect(rejection { try journal.commit { try $0.insert(Company(name: "n0")) } } != nil)
  }

  @Test func aForgedStateIsFound() throws {
    let journal = try journal()
    try journal.commit { draft in
      let acme = try draft.insert(Company(name: "Acme"))
      try draft.insert(Person(first: "Ana", email: "a@b", company: acme))
      try draft.insert(Person(first: "Bob", email: "b@b", company: acme))
    }
    func problems(_ entity: EntityKey, _ change: JournalEvent.Change) throws -> [String] {
      var catalog = journal.state
      try catalog.apply(JournalEvent(entity: entity, previous: 2, change: change), at: 3)
      return catalog.problems()
    }
    #expect(
      try problems(.item(1), .delete)
        == [2, 3].map {
          "item:\($0) refers to item:1, which does not exist (rule:2: company of person refers to company, on delete deny)"
        })
    #expect(
      try problems(.item(3), .update(RecordChanges(set: ["email": "a@b"])))
        == ["item:3 has the same email as item:2 (rule:3: email of person is unique)"])
    #expect(
      try problems(.item(3), .update(RecordChanges(remove: ["first"])))
        == ["item:3 has no first (rule:5: first of person is required)"])
    #expect(try problems(.item(3), .delete) == [])
  }

  @Test func aRuleThatThisVersionDoesNotKnowRefusesEveryChangeOfItems() throws {
    var catalog = Catalog()
    let rule = EntityRecord(["paths": .array([])], fields: [0: .string("later"), 1: .string("book")])
    let book = EntityRecord(fields: [0: .string("book")])
    try catalog.apply(JournalEvent(entity: .item(1), previous: 0, change: .add(book)), at: 1)
    try catalog.apply(JournalEvent(entity: .rule(1), previous: 0, change: .add(rule)), at: 2)
    let changes: [JournalEvent.Change] = [.update(RecordChanges(set: ["a": 1])), .delete]
    for change in changes {
      let event = JournalEvent(entity: .item(1), previous: 1, change: change)
      var after = catalog
      try after.apply(event, at: 3)
      #expect(
        after.problems(after: [event], since: catalog).first?
          .hasPrefix(#"rule:1 has the form "later", which this"#) == true)
    }
    // The catalog can be read.
    #expect(catalog.allRules.map(\.form) == [.unknown("later")] && catalog.problems() == [])
  }

  @Test func contradictoryDeclarationsAreMistakesOfTheApp() throws {
    struct Badge: CatalogItem {
      static let kind = "badge"
      static let rules: [Rule] = [.reference(\.owner, onDelete: .nullify)]
      var owner: ItemID<Person>
    }
    struct Twice: CatalogItem {
      static let kind = "twice"
      static let rules: [Rule] = [.unique(\.code), .unique(\.code, ignoringCase: true)]
      var code: String
    }
    let journal = try journal()
    for type in [Badge.self, Twice.self] as [any CatalogItem.Type] {
      let error = #expect(throws: JournalError.self) { try journal.declare(type) }
      #expect(error?.code == .wrongUse && error?.message.contains("\(type)") == true)
    }
    #expect(journal.head.revision == 1)
  }

  @Test func aCascadeThroughALongListReadsTheListOnce() throws {
    struct Board: CatalogItem {
      static let kind = "board"
      static let rules: [Rule] = [.reference(\.order, onDelete: .nullify)]
      var order: [ItemID<Slip>] = []
    }
    struct Slip: CatalogItem {
      static let kind = "slip"
      static let rules: [Rule] = [.reference(\.board, onDelete: .cascade)]
      var board: ItemID<Board>?
    }
    let journal = try CatalogJournal.inMemory()
    try journal.declare(Board.self, Slip.self)
    // With a time that grows with the square, this would take minutes.
    let board = try journal.commit(by: "ana") { draft in
      let board = try draft.insert(Board())
      let slips = try (0..<3_000).map { _ in try draft.insert(Slip(board: board)) }
      try draft.update(board) { $0.order = slips }
      return board
    }.value
    try journal.commit(by: "ana") { try $0.delete(board) }
    #expect(journal.state.itemCount == 0)
    try journal.commit(try #require(try journal.planUndo(by: "ana")), by: "ana")
    #expect(journal.state.itemCount == 3_001 && journal.state.problems() == [])
  }

  @Test func anErasedItemMayStillBeReferredTo() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "People.journal")
      do {
        let journal = try CatalogJournal.create(at: url)
        try journal.declare(Company.self, Person.self)
        try journal.commit { draft in
          let acme = try draft.insert(Company(name: "Acme"))
          try draft.insert(Person(first: "Ana", company: acme))
        }
        try journal.close()
      }
      try CatalogJournal.erase([.item(1)], at: url, reason: "asked for")
      let journal = try CatalogJournal.open(at: url)
      #expect(try journal.verify(.deep).problems.isEmpty)
      try journal.commit { try $0.update(ItemID<Person>(2)) { $0.last = "Lee" } }
      // A copy without history keeps the place of the erased item.
      let copy = folder.url.appending(path: "Fork.journal")
      try journal.copyState(to: copy)
      let fork = try CatalogJournal.open(at: copy)
      #expect(try fork.verify(.deep).problems.isEmpty)
      #expect(fork.state.isErased(.item(1)) && fork.state.allRules == journal.state.allRules)
      #expect(try fork.state.value(of: ItemID<Person>(2))?.company == 1)
      #expect(rejection { try fork.commit { try $0.insert(Company(name: "acme")) } } == nil)
      try fork.close()
      try journal.close()
    }
  }
}
