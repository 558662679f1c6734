import CatalogModel
import InMemoryJournals
import Locks
import TestSupport
import Testing

/// What a query says that finding its items took.
@Suite struct ExplainTests {
  /// A thousand recipes, of which every fifth has 3 stars and every second is vegan. Only `isVegan` has no index.
  private static func state() throws -> Catalog {
    var history = CatalogHistory()
    let category = try history.commit { try $0.addCategory(name: "Best") }
    try history.commit { draft in
      for number in 0..<1_000 {
        let recipe = Recipe(title: "\(number)", stars: number % 5 + 1, isVegan: number % 2 == 0)
        try draft.insert(recipe, category: number < 7 ? category : nil)
      }
    }
    return history.state
  }

  @Test func aLookupReadsTheLinesOfItsValueAndNoRecord() throws {
    let recipes = try Self.state().items(Recipe.self)
    let one = try recipes.filter(\.title == "7").explain()
    #expect(one.indexes == ["title"] && one.lineCount == 1 && one.recordCount == 0)
    #expect(!one.isSorted && one.itemCount == 1)
    #expect("\(one)" == "index on title, 1 line and 0 records read: 1 item")
    let rated = try recipes.filter(\.stars == 3).explain()
    #expect(rated.indexes == ["stars"] && rated.lineCount == 200 && rated.recordCount == 0)
    #expect(rated.itemCount == 200)
    let either = try recipes.filter(\.title == "7" || \.stars == 9 || \.title == "8").explain()
    #expect(either.indexes == ["title", "stars"] && either.lineCount == 2 && either.itemCount == 2)
  }

  @Test func otherConditionsAreTestedOnTheRecordsThatAnIndexGives() throws {
    let state = try Self.state()
    let recipes = state.items(Recipe.self)
    let both = try recipes.filter(\.stars == 3 && \.isVegan == true).explain()
    #expect(both.indexes == ["stars"] && both.lineCount == 200 && both.recordCount == 200)
    #expect(both.itemCount == 100)
    let category = try recipes.filter(.category(1) && \.isVegan == true).explain()
    #expect(category.indexes == ["@category"] && category.lineCount == 7 && category.itemCount == 4)
    // The items of a category may be of other kinds, so each is read once for its kind, and once for the filter.
    #expect(category.recordCount == 14)
  }

  @Test func withoutAnIndexAllRecordsAreRead() throws {
    let recipes = try Self.state().items(Recipe.self)
    let vegan = try recipes.filter(\.isVegan == true).explain()
    #expect(vegan.indexes == [] && vegan.recordCount == 1_000 && vegan.itemCount == 500)
    #expect(vegan.lineCount < 200 && !vegan.isSorted)
    #expect("\(vegan)".hasPrefix("no index, "))
    // A limited query ends early, and all items of a kind are counted without reading them.
    #expect(try recipes.filter(\.isVegan == true).prefix(10).explain().recordCount == 19)
    let all = recipes.explain()
    #expect(all.lineCount == 1_000 && all.recordCount == 0 && all.itemCount == 1_000)
  }

  /// Two threads test the records of a table this long.
  @Test func aLongTableIsFilteredInOrderWithItsGapsAndOtherKinds() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      for number in 1...20_000 {
        if number % 4 == 0 {
          try draft.addItem(kind: "other", attributes: ["isVegan": .bool(true)])
        } else {
          try draft.insert(Recipe(title: "\(number)", isVegan: number % 3 == 0))
        }
      }
    }
    try history.commit { draft in
      for number in 5_000..<7_000 { try draft.deleteItem(Catalog.Item.ID(number)) }
    }
    let vegan = try history.state.items(Recipe.self).filter(\.isVegan)
    let wanted = (1...20_000).filter { $0 % 3 == 0 && $0 % 4 != 0 && !(5_000..<7_000).contains($0) }
    #expect(vegan.ids.map(\.number) == wanted)
    // One thread, if no other is free, passes over some items of the other kind.
    #expect((13_500...18_000).contains(vegan.explain().recordCount))
    #expect(try vegan.filter(\.title == "19998").ids.map(\.number) == [19_998])
    #expect(try vegan.sorted(by: .descending(\.course)).first?.id.number == wanted.last)
  }

  @Test func itemsAreSortedUnlessAnIndexHasTheirOrder() throws {
    let recipes = try Self.state().items(Recipe.self)
    let first = try recipes.sorted(by: \.title).prefix(10).explain()
    #expect(first.indexes == ["title"] && first.lineCount == 10 && first.recordCount == 0)
    #expect(!first.isSorted && first.itemCount == 10)
    let found = try recipes.filter(\.stars == 9 || \.title == "7").sorted(by: \.isVegan).explain()
    #expect(found.indexes == ["stars", "title"] && found.isSorted && found.recordCount == 1)
    let scanned = try recipes.sorted(by: \.isVegan).prefix(10).explain()
    #expect(scanned.indexes == [] && scanned.isSorted && scanned.recordCount == 1_000)
    #expect("\(scanned)".hasSuffix("1000 records read, sorted: 10 items"))
  }

  @Test func aQueryOfALimitedQueryCountsWhatBothRead() throws {
    let recipes = try Self.state().items(Recipe.self)
    let first = try recipes.filter(\.isVegan == true).prefix(10)
    let rest = try first.filter(\.stars == 3).explain()
    #expect(rest.recordCount == 19 + 10 && rest.itemCount == 2)
  }

  // MARK: Notices

  private static func notices(
    _ limit: Duration?, _ body: (CatalogJournal) throws -> Void
  ) throws -> [String] {
    let messages = Lock<[String]>([])
    let options = JournalOptions(slowQueryLimit: limit) { notice in
      if notice.message.contains("query") { messages.withLock { $0.append(notice.message) } }
    }
    let journal = try CatalogJournal.inMemory(options: options)
    try journal.commit { _ = try $0.insert(Recipe(title: "Soup")) }
    try body(journal)
    try journal.close()
    return messages.withLock { $0 }
  }

  private static func ask(_ state: Catalog) throws {
    #expect(try state.items(Recipe.self).filter(\.title == "Soup").count == 1)
  }

  @Test func aSlowQueryIsANoticeThatExplainsIt() throws {
    let notices = try Self.notices(.zero) { journal in
      try Self.ask(journal.state)
      try journal.commit { draft in
        _ = try draft.insert(Recipe(title: "Pie"))
        try Self.ask(draft.state)
      }
      try Self.ask(journal.state(asOf: .revision(1)))
    }
    #expect(notices.count == 3)
    for notice in notices {
      #expect(notice.hasPrefix("a query of items of the kind \"recipe\" took "))
      #expect(notice.hasSuffix(": index on title, 1 line and 0 records read: 1 item"))
    }
  }

  @Test func aQueryWithinTheLimitIsNoNotice() throws {
    #expect(try Self.notices(nil) { try Self.ask($0.state) } == [])
    #expect(try Self.notices(.seconds(3600)) { try Self.ask($0.state) } == [])
  }
}
