import CBOR
import EntitySearch
import Foundation
import InMemoryJournals
import JSON
import TestSupport
import Testing

@testable import CatalogModel
@testable import JournalServer

/// Searches in steps, by attribute names that are known only at run time.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct ItemScanTests {
  /// Recipes, and items of other kinds in between.
  private func withRecipes(_ count: Int, _ body: (Catalog, inout SeededGenerator) throws -> Void) throws {
    var random = SeededGenerator()
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in
      for _ in 0..<count {
        let recipe = Recipe.random(using: &random)
        if random.chance(1, in: 5) { try draft.addItem(kind: "other", encoding: recipe) }
        try draft.addItem(kind: Recipe.kind, encoding: recipe)
      }
    }
    try body(journal.state, &random)
    try journal.close()
  }

  private func answer(_ search: ItemSearch, in catalog: Catalog) -> [Int] {
    var scan = ItemScan(search, in: catalog)
    scan.advance(toward: .max / 4, atMost: .seconds(60))
    #expect(scan.isComplete)
    let found = scan.page(offset: 0, limit: .max).map(\.number)
    #expect(found.count == scan.total)
    return found
  }

  /// The same answer, page by page and in many small steps.
  private func pages(of search: ItemSearch, in catalog: Catalog) -> [Int] {
    var scan = ItemScan(search, in: catalog)
    var pages: [Int] = []
    while !scan.isComplete || pages.count < scan.total {
      scan.advance(toward: pages.count + 7, atMost: .zero)
      pages += scan.page(offset: pages.count, limit: 7).map(\.number)
    }
    return pages
  }

  @Test func stepsAndIndexesChangeNoAnswer() throws {
    let conditions = [
      "stars=4", "stars>=3", "stars<0", "stars!=2", "title=Soup", "title^=Soup", "title=4", "isVegan=true",
      "tags=hot", "place.floor=1", "place.floor>1", "stars=null", "stars!=null", "place.floor=null",
      "stars=4.0",
    ]
    try withRecipes(400) { catalog, random in
      for _ in 0..<200 {
        var search = ItemSearch(
          EntityQuery(
            text: random.chance(1, in: 4) ? "SOUP" : nil, kind: random.chance(3, in: 4) ? Recipe.kind : nil))
        for _ in 0..<Int.random(in: 0...2, using: &random) {
          search.query.conditions.append(
            try EntityQuery.Condition(parsing: conditions.randomElement(using: &random)!))
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
          try search.add(
            order: ["title", "-stars", "@modified", "cooked", "-tags", "place.floor"].randomElement(
              using: &random)!)
        }
        var bare = catalog
        bare.indexCache = IndexCache()
        let plain = answer(search, in: bare)
        #expect(pages(of: search, in: bare) == plain, "\(search)")
        try catalog.buildIndexes(of: Recipe.self)
        #expect(answer(search, in: catalog) == plain, "\(search)")
        #expect(pages(of: search, in: catalog) == plain, "\(search)")
      }
    }
  }

  /// A scan used to find equivalent texts and near numbers too, and an index did not.
  @Test func textsAreEqualIfTheirBytesAreAndNumbersIfTheirValuesAre() throws {
    let journal = try CatalogJournal.inMemory()
    let values: [FieldValue] = [
      "caf\u{E9}", "cafe\u{301}", .integer(1 << 53), .integer(1 << 53 + 1), .unsigned(1 << 63), .integer(3),
      .double(3), ["$decimal": "3.33333333333333333333"],
    ]
    try journal.commit { draft in
      for value in values { try draft.addItem(kind: Recipe.kind, attributes: ["title": value]) }
      for _ in 0..<100 { try draft.addItem(kind: Recipe.kind, attributes: ["title": "other"]) }
    }
    for (text, numbers) in [
      ("caf\u{E9}", [1]), ("cafe\u{301}", [2]), ("\"caf\u{E9}\"", [1]), ("9007199254740992", [3]),
      ("9007199254740992.0", [3]), ("9007199254740993", [4]), ("9223372036854775808", [5]),
      ("9223372036854775808.0", [5]), ("3", [6, 7]), ("3.0", [6, 7]), ("3.33333333333333333333", [8]),
    ] {
      var search = ItemSearch(EntityQuery(kind: Recipe.kind))
      search.query.conditions.append(try EntityQuery.Condition(parsing: "title=\(text)"))
      var catalog = journal.state
      catalog.indexCache = IndexCache()
      #expect(answer(search, in: catalog) == numbers, "\(text)")
      try catalog.buildIndexes(of: Recipe.self)
      #expect(answer(search, in: catalog) == numbers, "\(text) by an index")
    }
    try journal.close()
  }

  /// It depended on how many items were of the kind.
  @Test(arguments: [1, 100]) func kindsAreEqualIfTheirBytesAre(_ count: Int) throws {
    let journal = try CatalogJournal.inMemory()
    let kinds = ["caf\u{E9}", "cafe\u{301}"]
    func search(_ kind: String) throws -> [Int] {
      answer(ItemSearch(EntityQuery(kind: kind)), in: journal.state)
    }
    try journal.commit { draft in for _ in 0..<count { try draft.addItem(kind: kinds[0]) } }
    #expect(try kinds.map { try search($0).count } == [count, 0])
    try journal.commit { draft in
      for kind in [kinds[1], "other"] { for _ in 0..<50 { try draft.addItem(kind: kind) } }
    }
    #expect(try kinds.map { try search($0).count } == [count, 50])
    let found = try kinds.map { kind in
      var search = ItemSearch(EntityQuery(kind: kind))
      try search.add(order: "-title")
      return answer(search, in: journal.state).count
    }
    #expect(found == [count, 50])
    try journal.close()
  }

  @Test func anIndexThatAnAppHasBuiltIsUsed() throws {
    try withRecipes(3000) { catalog, _ in
      var search = ItemSearch(EntityQuery(kind: Recipe.kind))
      search.query.conditions.append(try EntityQuery.Condition(parsing: "title=Stew and more"))
      try catalog.buildIndexes(of: Recipe.self)
      var scan = ItemScan(search, in: catalog)
      // Without an index, a step with a time limit of zero would read only a few of the items.
      scan.advance(toward: 1, atMost: .zero)
      #expect(scan.isComplete)
    }
  }

  @Test func anIndexGivesTheFirstItemsInOrderBeforeAllItemsAreRead() throws {
    try withRecipes(3000) { catalog, _ in
      try catalog.buildIndexes(of: Recipe.self)
      var search = ItemSearch(EntityQuery(kind: Recipe.kind))
      for order in ["-stars", "title"] { try search.add(order: order) }
      for condition in [nil, "stars!=2"] {
        if let condition {
          search.query.conditions.append(try EntityQuery.Condition(parsing: condition))
        }
        let first = answer(search, in: catalog).prefix(20)
        var scan = ItemScan(search, in: catalog)
        // A step with a time limit of zero reads a few lines of the index, and hundreds of items have the best value.
        var steps = 0
        while !scan.hasFound(20) {
          scan.advance(toward: 20, atMost: .zero)
          steps += 1
        }
        #expect(steps < 20)
        #expect(!scan.isComplete)
        #expect(scan.page(offset: 0, limit: 20).map(\.number) == Array(first))
      }
      // If there is only one kind, it need not be named, and all items are counted at once.
      let journal = try CatalogJournal.inMemory()
      try journal.commit { draft in
        for number in 1...3000 {
          try draft.addItem(kind: Recipe.kind, attributes: ["title": .string("\(number)")])
        }
      }
      try journal.state.buildIndexes(of: Recipe.self)
      var everything = ItemSearch()
      try everything.add(order: "-title")
      var scan = ItemScan(everything, in: journal.state)
      scan.advance(toward: 20, atMost: .zero)
      #expect(scan.isComplete && scan.total == 3000)
      #expect(scan.page(offset: 0, limit: 2).map(\.number) == [999, 998])
      try journal.close()
    }
  }

  @Test func aPageOfAllItemsReadsNoFurtherItem() throws {
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in for _ in 0..<3000 { try draft.addItem(kind: "book") } }
    var scan = ItemScan(ItemSearch(), in: journal.state)
    for count in [20, 50] {
      scan.advance(toward: count, atMost: .seconds(60))
      #expect(scan.page(offset: 0, limit: .max).count == count)
      #expect(scan.isComplete && scan.total == 3000)
    }
    try journal.close()
  }

  /// The clock is read after fewer items if their texts are long.
  @Test(arguments: [false, true]) func aStepTakesFewItemsWithLongTexts(isInOrder: Bool) throws {
    let journal = try CatalogJournal.inMemory()
    let (count, text) = (40, String(repeating: "Soup ", count: 100_000))
    for number in 1...count {
      try journal.commit { draft in
        var recipe = Recipe(title: "\(number)")
        recipe.tags = [text]
        try draft.addItem(kind: Recipe.kind, encoding: recipe)
      }
    }
    if isInOrder { try journal.state.buildIndexes(of: Recipe.self) }
    var search = ItemSearch(EntityQuery(text: "stew", kind: Recipe.kind))
    if isInOrder { try search.add(order: "title") }
    var scan = ItemScan(search, in: journal.state)
    var steps = 0
    while !scan.isComplete {
      scan.advance(toward: 20, atMost: .zero)
      steps += 1
    }
    #expect(scan.total == 0)
    #expect(steps >= count / 2)
    try journal.close()
  }

  /// A date has more digits than people see of it.
  @Test func comparisonsAgreeAboutDatesThatPrintTheSame() throws {
    let journal = try CatalogJournal.inMemory()
    let dates = (-4...4).map { Date(timeIntervalSince1970: 1_790_000_000.5 + Double($0) * 0.000_000_12) }
    try journal.commit { draft in
      for date in dates { try draft.addItem(kind: "day", attributes: ["d": .date(date)]) }
    }
    func answer(_ condition: String) throws -> [Int] {
      self.answer(
        ItemSearch(EntityQuery(conditions: [try EntityQuery.Condition(parsing: condition)])),
        in: journal.state)
    }
    let shown = "2026-09-21T14:13:20.500000Z"
    let equal = try answer("d=\(shown)")
    #expect(equal.count == dates.count)
    #expect(try answer("d<=\(shown)") == equal && answer("d>=\(shown)") == equal)
    #expect(try answer("d<\(shown)") == [] && answer("d>\(shown)") == [])
    try journal.close()
  }

  /// Only the first array or dictionary was compared.
  @Test func aConditionFindsEachOfSeveralArraysAndDictionaries() throws {
    let journal = try CatalogJournal.inMemory()
    let values: [FieldValue] = [[1], [2], ["a": 1], [3], "text", "other"]
    try journal.commit { draft in
      for value in values { try draft.addItem(kind: "place", attributes: ["zip": value]) }
    }
    let wanted: [FieldValue] = [[2], ["a": 1], "text"]
    for (isNegated, found) in [(false, [2, 3, 5]), (true, [1, 4, 6])] {
      let condition = EntityQuery.Condition("zip", isOne: wanted, isNegated: isNegated)
      #expect(answer(ItemSearch(EntityQuery(conditions: [condition])), in: journal.state) == found)
    }
    try journal.close()
  }

  @Test func unequalFindsExactlyWhatEqualDoesNot() throws {
    let journal = try CatalogJournal.inMemory()
    let values: [FieldValue?] = [
      .string("10115"), .integer(10115), .double(10115), .string("true"), .bool(true), .string("null"), .null,
      .string("[1]"), .array([1]), .array([2]), .double(.nan), .double(-0.0), .string("Dune"), nil,
    ]
    try journal.commit { draft in
      for value in values { try draft.addItem(kind: "place", attributes: value.map { ["zip": $0] } ?? [:]) }
    }
    func answer(_ condition: String) throws -> Set<Int> {
      var search = ItemSearch()
      search.query.conditions.append(try EntityQuery.Condition(parsing: condition))
      return Set(self.answer(search, in: journal.state))
    }
    let all = Set(1...values.count)
    // An item without the field has no value, which is null.
    for (text, equal) in [
      ("10115", [1, 2, 3]), ("true", [4, 5]), ("[1]", [8, 9]), (#"{"$double":"nan"}"#, [11]), ("0", [12]),
      ("0.0", [12]), ("Dune", [13]), ("none", []), ("null", [7, values.count]),
      (" null ", [7, values.count]), (#""null""#, [6]),
    ] {
      #expect(try answer("zip=\(text)") == Set(equal), "\(text)")
      #expect(try answer("zip!=\(text)") == all.subtracting(equal), "\(text)")
    }
    for sign in ["<", "<=", ">", ">="] {
      #expect(try answer("zip\(sign)" + #"{"$double":"nan"}"#) == [], "\(sign)")
    }
    // They were read as another operator and a text, and found plausible items.
    for text in ["zip<>5", "zip=<5", "zip=>5", "zip>>5", "zip<<5"] {
      let error = #expect(throws: JournalError.self) { try EntityQuery.Condition(parsing: text) }
      #expect(
        error?.message.contains("there is no operator \(text.dropFirst(3).dropLast());") == true, "\(text)")
    }
    #expect(try answer("zip.code=null") == all && answer("zip.code!=null") == [])
    #expect(try answer("@kind=place") == all)
    #expect(try answer("@kind!=place") == [])
    // The catalog's own fields used to be in no range.
    #expect(try answer("@kind>=pl") == all && answer("@kind<pl") == [] && answer("@kind^=pl") == all)
    #expect(try answer("@kind!=null") == all && answer("@kind=null") == [])
    #expect(try answer("@category=null") == all && answer("@category!=null") == [])
    try journal.close()
  }
}
