import CatalogModel
import Foundation
import InMemoryJournals
import JournalMaintenance
import TestSupport
import Testing

/// Yesterday's, today's and tomorrow's type of the same items.
private struct OldBook: CatalogItem {
  static let kind = "book"
  var title: String
  var pages: String
}

private struct Book: CatalogItem, Equatable {
  static let kind = "book"
  static let rules: [Rule] = [.unique(\.isbn), .required(\.name)]
  var name: String
  var pages: Int
  var isbn: String?

  init(name: String, pages: Int, isbn: String? = nil) {
    (self.name, self.pages, self.isbn) = (name, pages, isbn)
  }
  init(_ old: OldBook) { self.init(name: old.title, pages: Int(old.pages) ?? 0) }
}

private struct NewBook: CatalogItem {
  static let kind = "book"
  static let rules: [Rule] = [.unique(\.isbn, ignoringCase: true), .required(\.name), .required(\.pages)]
  var name: String
  var pages: Int
  var isbn: String?
}

/// Migrations, and what else an app does with rules.
struct MigrationTests {
  private struct Failed: Error {}

  private let rename = Migration("title is name") {
    try $0.renameAttribute("title", to: "name", ofKind: "book")
  }
  private let retype = Migration("pages are numbers", isBreaking: true) { draft in
    for item in draft.state.items(ofKind: "book") {
      guard let pages = item["pages"]?.string.flatMap({ Int64($0) }) else { continue }
      try draft.updateItem(item.id, set: ["pages": .integer(pages)])
    }
    try draft.declare(Book.self)
  }

  @Test func eachMigrationRunsOnceAndPastStatesStay() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Books.journal")
      var journal = try CatalogJournal.create(at: url)
      try journal.commit { try $0.insert(OldBook(title: "Dune", pages: "412")) }
      let failing = Migration("fails") { draft in
        try draft.addItem(kind: "book")
        throw Failed()
      }
      #expect(throws: Failed.self) { try journal.migrate([rename, failing, retype], by: "app") }
      #expect(journal.head.revision == 2 && journal.state.migrations == ["title is name"])
      #expect(try journal.migrate([rename, retype], by: "app") == ["pages are numbers"])
      #expect(try journal.migrate([rename, retype]) == [])
      #expect(try journal.entry(at: 3).note == "pages are numbers" && journal.entry(at: 3).author == "app")
      #expect(try journal.state.items(Book.self).values == [Book(name: "Dune", pages: 412)])
      // The past is as it was, and can be read as today's type.
      let past = try journal.state(asOf: .revision(1))
      #expect(try past.items(OldBook.self).map { Book(try $0.value) } == [Book(name: "Dune", pages: 412)])
      #expect(past.migrations == [] && past.allRules == [])
      try journal.close()
      let reader = try CatalogJournal.open(at: url, mode: .readOnly)
      try reader.declare(Book.self)
      #expect(try reader.migrate([rename, retype]) == [])
      try reader.close()
      journal = try CatalogJournal.open(at: url)
      #expect(journal.state.migrations == ["title is name", "pages are numbers"])
      #expect(try journal.migrate([rename, retype]) == [])
      // An app that knows only the first migration must not go on; one that knows more may.
      let error = #expect(throws: JournalError.self) { try journal.migrate([rename]) }
      #expect(error?.code == .newerFormat && error?.message.contains("pages are numbers") == true)
      #expect(try journal.migrate([rename, retype, Migration("more") { _ in }]) == ["more"])
      #expect(try journal.migrate([rename, retype]) == [])
      #expect(throws: JournalError.self) { try journal.migrate([rename, rename]) }
      #expect(try journal.verify(.deep).problems.isEmpty)
      // The menu of an app does not undo a migration, but its changes of items can be reverted.
      #expect(try journal.planUndo(by: "app") == nil && journal.entryToUndo(by: "app") == nil)
      #expect(try journal.planRevert(of: 3).changes.map(\.entity) == [.item(1)])
      try journal.close()
    }
  }

  @Test func anAttributeIsNotRenamedToOneThatAnItemHas() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in
      try draft.addItem(kind: "book", attributes: ["title": .string("Dune")])
      try draft.addItem(kind: "book", attributes: ["title": .string("Emma"), "name": .null])
      try draft.addItem(kind: "film", attributes: ["title": .string("Brazil")])
    }
    let error = #expect(throws: JournalError.self) { try journal.migrate([rename]) }
    #expect(error?.code == .wrongUse && error?.message == "item:2 has both title and name")
    #expect(journal.head.revision == 1)
    #expect(throws: JournalError.self) {
      try journal.commit { try $0.renameAttribute("title", to: "title", ofKind: "book") }
    }
    try journal.commit { try $0.updateItem(2, remove: ["name"]) }
    try journal.migrate([rename])
    #expect(journal.state.items(ofKind: "book").map { $0["name"]?.string } == ["Dune", "Emma"])
    #expect(journal.state.item(3)?["title"]?.string == "Brazil")
  }

  /// Each version of an app changes its own attributes and keeps those of the others, whichever opened the journal before.
  @Test func yesterdaysTodaysAndTomorrowsAppsOpenOneJournalInAnyOrder() throws {
    struct Yesterday: CatalogItem {
      static let kind = "note"
      var text: String
      var color: String?
    }
    struct Today: CatalogItem {
      static let kind = "note"
      static let rules: [Rule] = [.required(\.text)]
      static let indexes = [Index(\.stars)]
      var text: String
      var stars: Int?
    }
    struct Tomorrow: CatalogItem {
      static let kind = "note"
      static let rules: [Rule] = [.required(\.body), .unique(\.slug)]
      enum CodingKeys: String, CodingKey {
        case body = "text"
        case stars, slug
      }
      var body: String
      var stars: Double?
      var slug: String?
    }
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Notes.journal")
      try CatalogJournal.create(at: url).close()
      let id = Catalog.Item.ID(1)
      var expected: [String: FieldValue] = ["text": "0", "color": "red"]
      func open(_ body: (CatalogJournal) throws -> Void) throws {
        let journal = try CatalogJournal.open(at: url)
        try body(journal)
        #expect(journal.state.item(id)?.attributes == expected)
        #expect(try journal.verify(.deep).isSound)
        try journal.close()
      }
      try open { journal in try journal.commit { try $0.insert(Yesterday(text: "0", color: "red")) } }
      for turn in 1...30 {
        let text = "\(turn)"
        expected["text"] = .string(text)
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
          expected["color"] = random.chance(1, in: 2) ? nil : .string(text)
          let color = expected["color"]?.string
          try open { journal in
            try journal.commit { try $0.update(ItemID<Yesterday>(1)) { ($0.text, $0.color) = (text, color) } }
            #expect(try journal.state.items(Yesterday.self).filter(\.text == text).count == 1)
          }
        case 1:
          expected["stars"] = .integer(Int64(turn))
          try open { journal in
            try journal.declare(Today.self)
            try journal.commit { try $0.update(ItemID<Today>(1)) { ($0.text, $0.stars) = (text, turn) } }
            #expect(try journal.state.items(Today.self).filter(\.stars == turn).count == 1)
          }
        default:
          expected["slug"] = .string(text)
          try open { journal in
            try journal.declare(Tomorrow.self)
            try journal.commit { try $0.update(ItemID<Tomorrow>(1)) { ($0.body, $0.slug) = (text, text) } }
            #expect(try journal.state.items(Tomorrow.self).filter(\.slug == text).count == 1)
            // An integer that an older app has stored is a number of the newer type, and stays an integer.
            #expect(
              try journal.state.value(of: ItemID<Tomorrow>(1))?.stars
                == expected["stars"]?.integer.map(Double.init))
          }
        }
      }
      // What yesterday's app writes keeps the rules of tomorrow's.
      expected["slug"] = "taken"
      try open { journal in
        try journal.declare(Tomorrow.self)
        try journal.commit { try $0.update(ItemID<Tomorrow>(1)) { $0.slug = "taken" } }
        try journal.commit { try $0.insert(Yesterday(text: "other")) }
        let error = #expect(throws: JournalError.self) {
          try journal.commit { try $0.updateItem(2, set: ["slug": "taken"]) }
        }
        #expect(error?.code == .rejected)
        // Tomorrow's type can't read an item whose attribute has another form: the error names both.
        try journal.commit { try $0.updateItem(2, set: ["stars": "many"]) }
        let unreadable = #expect(throws: DecodingError.self) { try journal.state.items(Today.self).values }
        #expect("\(unreadable!)".contains("item:2") && "\(unreadable!)".contains("stars"))
        #expect(try journal.state.items(Yesterday.self).values.count == 2)
      }
    }
  }

  @Test func tomorrowsTypeChangesARuleAndTodaysTypeThenRefusesToWrite() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.declare(Book.self)
    try journal.commit { try $0.insert(Book(name: "Dune", pages: 412, isbn: "x")) }
    try journal.declare(NewBook.self)
    #expect(
      journal.state.allRules.map(\.description) == [
        "isbn of book is unique, ignoring case", "name of book is required", "pages of book is required",
      ])
    #expect(throws: JournalError.self) {
      try journal.commit { try $0.insert(NewBook(name: "E", pages: 1, isbn: "X")) }
    }
    let error = #expect(throws: JournalError.self) {
      try journal.commit { try $0.insert(Book(name: "Emma", pages: 1)) }
    }
    #expect(error?.code == .wrongUse)
  }

  @Test func anUpsertReplacesTheItemWithTheSameKey() throws {
    let journal = try CatalogJournal.inMemory()
    #expect(throws: JournalError.self) {
      try journal.commit { try $0.upsert(Book(name: "Dune", pages: 1), by: \.isbn) }
    }
    try journal.declare(Book.self)
    let ids = try journal.commit { draft in
      [
        try draft.upsert(Book(name: "Dune", pages: 1, isbn: "1"), by: \.isbn),
        try draft.upsert(Book(name: "Dune", pages: 412, isbn: "1"), by: \.isbn),
        try draft.upsert(Book(name: "Emma", pages: 2, isbn: "2"), by: \.isbn),
        try draft.upsert(Book(name: "?", pages: 0), by: \.isbn),
        try draft.upsert(Book(name: "?", pages: 0), by: \.isbn),
      ]
    }.value
    #expect(ids == [1, 1, 2, 3, 4])
    struct Pair: CatalogItem {
      static let kind = "pair"
      static let rules: [Rule] = [.unique(\.first, \.last)]
      var first: String
      var last: String
    }
    try journal.declare(Pair.self)
    let pairs = try journal.commit { draft in
      (
        try draft.upsert(Pair(first: "a", last: "b"), by: \.last, \.first),
        try draft.insert(Pair(first: "b", last: "a"))
      )
    }.value
    #expect(pairs.0 != pairs.1)
    #expect(try journal.state.value(of: ItemID<Book>(1))?.pages == 412)
    #expect(throws: JournalError.self) {
      try journal.commit { try $0.upsert(Book(name: "Dune", pages: 1), by: \.name) }
    }
  }

  @Test func aCheckRunsForWhateverChangesAnItem() throws {
    struct Sold: Error, CustomStringConvertible { let description = "a book keeps its pages" }
    let journal = try CatalogJournal.inMemory()
    journal.addCheck(of: Book.self) { before, after, catalog in
      if let before, let after, before.pages != after.pages { throw Sold() }
      if after?.name == "last", catalog.itemCount > 3 { throw Sold() }
    }
    try journal.declare(Book.self)
    let dune = try journal.commit(by: "ana") { try $0.insert(Book(name: "Dune", pages: 412)) }.value
    func expectRefusal(_ body: () throws -> Void) {
      let error = #expect(throws: JournalError.self) { try body() }
      #expect(error?.code == .rejected && error?.message == "item:1: a book keeps its pages")
    }
    expectRefusal { try journal.commit { try $0.update(dune) { $0.pages = 1 } } }
    expectRefusal { try journal.commit { try $0.updateItem(dune.item, set: ["pages": 1]) } }
    // Items of other kinds, and those that can't be decoded, are not its business.
    try journal.commit { try $0.addItem(kind: "film", attributes: ["pages": 1]) }
    try journal.commit(by: "ana") { try $0.setKind(ofItem: dune.item, to: "draft") }
    try journal.commit(by: "ana") { try $0.updateItem(dune.item, set: ["pages": 1]) }
    let plan = try #require(try journal.planUndo(by: "ana"))
    try journal.commit(plan, by: "ana")
    try journal.commit { try $0.setKind(ofItem: dune.item, to: "book") }
    let restore = try journal.planRestore(of: .entities([.item(1)]), asOf: .revision(5))
    #expect(restore.problem == nil)
    // Layers and past states keep the check out of the way.
    for number in 0..<2_000 {
      try journal.commit { try $0.addItem(kind: "film", attributes: ["n": .integer(Int64(number))]) }
    }
    expectRefusal { try journal.commit { try $0.update(dune) { $0.pages = 1 } } }
  }

  @Test func aCheckThatWasAddedAfterAPlanWasMadeRefusesThePlan() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.declare(Book.self)
    try journal.commit(by: "ana") { try $0.insert(Book(name: "Dune", pages: 412)) }
    let plan = try #require(try journal.planUndo(by: "ana"))
    #expect(plan.problem == nil)
    journal.addCheck(of: Book.self) { _, after, _ in if after == nil { throw Failed() } }
    let error = #expect(throws: JournalError.self) { try journal.commit(plan, by: "ana") }
    #expect(error?.code == .rejected && journal.state.itemCount == 1)
    #expect(try journal.planUndo(by: "ana")?.problem == error?.message)
  }

  @Test func whatAnAppAddsToAPlanKeepsTheRulesWithThePlan() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.declare(Book.self)
    let dune = Book(name: "Dune", pages: 412, isbn: "1")
    let id = try journal.commit { try $0.insert(dune) }.value
    try journal.commit(by: "ana") { try $0.delete(id) }
    let plan = try #require(try journal.planUndo(by: "ana"))
    let error = #expect(throws: JournalError.self) {
      try journal.commit { draft in
        try draft.apply(plan)
        try draft.insert(dune)
      }
    }
    #expect(error?.code == .rejected && journal.state.itemCount == 0)
    try journal.commit(plan, by: "ana")
    #expect(try journal.state.value(of: id) == dune)
  }

  @Test func aPlanIsAppliedTogetherWithChangesOfTheApp() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit(by: "ana", note: "first") { try $0.addItem(kind: "book", attributes: ["name": "Dun"]) }
    try journal.commit(by: "ana", note: "spelling") { try $0.updateItem(1, set: ["name": "Dune"]) }
    let plan = try #require(try journal.planUndo(by: "ana"))
    try journal.commit(by: "ana") { draft in
      try draft.apply(plan)
      try draft.addItem(kind: "log", attributes: ["undone": true])
    }
    let entry = try journal.entry(at: 3)
    #expect(
      entry.note == "undid entry 2: spelling" && entry.metadata == plan.metadata && entry.events.count == 2)
    #expect(journal.state.item(1)?["name"] == "Dun")
    // The stack of undos counts it as the undo that it is.
    #expect(try journal.planUndo(by: "ana")?.action == .undo(1))
    let redo = try #require(try journal.planRedo(by: "ana"))
    #expect(redo.action == .redo(2))
    // Refused by the app, it changes nothing; and it fits only its own journal, and only once.
    #expect(throws: Failed.self) {
      try journal.commit { draft in
        try draft.apply(redo)
        throw Failed()
      }
    }
    let other = try CatalogJournal.inMemory()
    try other.commit { try $0.addItem(kind: "book", attributes: ["name": "Dun"]) }
    let error = #expect(throws: JournalError.self) { try other.commit { try $0.apply(plan) } }
    #expect(error?.code == .wrongUse)
    let mistake = #expect(throws: JournalError.self) {
      try journal.commit { draft in
        try draft.updateItem(1, set: ["name": "Dunes"])
        try draft.apply(redo)
      }
    }
    #expect(mistake?.code == .wrongUse)
    try journal.commit { try $0.updateItem(1, set: ["name": "Dunes"]) }
    let conflict = #expect(throws: JournalError.self) { try journal.commit { try $0.apply(redo) } }
    #expect(conflict?.code == .conflict)
  }

  @Test func theItemsThatReferToAnItemAreFoundByAnIndex() throws {
    struct Card: CatalogItem {
      static let kind = "card"
      static let rules: [Rule] = [
        .reference(\.parent, onDelete: .cascade), .reference(\.links, onDelete: .keep),
      ]
      var parent: ItemID<Card>?
      var links: [ItemID<Card>] = []
    }
    let journal = try CatalogJournal.inMemory()
    #expect(throws: JournalError.self) {
      try journal.state.items(Card.self, referringTo: ItemID<Card>(1), by: \.parent)
    }
    try journal.declare(Card.self)
    try journal.commit { draft in
      let top = try draft.insert(Card())
      for _ in 0..<3 { try draft.insert(Card(parent: top)) }
      try draft.insert(Card(links: [top, 2]))
    }
    let state = journal.state
    #expect(try state.items(Card.self, referringTo: ItemID<Card>(1), by: \.parent).map(\.id) == [2, 3, 4])
    #expect(try state.items(Card.self, referringTo: ItemID<Card>(1), by: \.links).map(\.id) == [5])
    #expect(try state.items(Card.self, referringTo: ItemID<Card>(2), by: \.parent).isEmpty)
    try journal.commit { try $0.delete(ItemID<Card>(3)) }
    #expect(
      try journal.state.items(Card.self, referringTo: ItemID<Card>(1), by: \.parent).map(\.id) == [2, 4])
    #expect(try state.items(Card.self, referringTo: ItemID<Card>(1), by: \.parent).count == 3)
  }
}
