import Foundation
import Journaling
import Locks
import TestSupport
import Testing

@testable import CatalogModel

@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct QueryTests {
  @Test func recipesAreFilteredSortedAndLimited() throws {
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try [("Soup", 5), ("Stew", nil), ("Pie", 4), ("Apple pie", 4), ("Bread", 3)].map { title, stars in
        try draft.insert(Recipe(title: title, stars: stars, tags: stars == 4 ? ["sweet", "baked"] : []))
      }
    }
    let recipes = history.state.items(Recipe.self)
    #expect(try recipes.filter(\.stars >= 4).sorted(by: \.title).prefix(2).ids == [ids[3], ids[2]])
    #expect(try recipes.filter(\.stars == nil).values.map(\.title) == ["Stew"])
    #expect(try recipes.filter(\.title == "Pie" || 3...3 ~= \.stars).count == 2)
    #expect(try recipes.filter(.contains(\.tags, "sweet") && !.prefix(\.title, "A")).ids == [ids[2]])
    #expect(try recipes.filter(.isOne(of: ["Soup", "Bread"], \.title)).ids == [ids[0], ids[4]])
    #expect(try recipes.filter(\.stars != 4).ids == [ids[0], ids[1], ids[4]])
    #expect(try recipes.filter(.isMissing(\.place)).count == 5)
    #expect(
      try recipes.sorted(by: .descending(\.stars), .ascending(\.title)).ids
        == [0, 3, 2, 4, 1].map { ids[$0] })
  }

  @Test func theAnswerOfAQueryIsACollection() throws {
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try (0..<10).map { (stars: Int) in try draft.insert(Recipe(title: "\(stars)", stars: stars)) }
    }
    let few = try history.state.items(Recipe.self).sorted(by: .descending(\.stars)).dropFirst(2).prefix(3)
    #expect(few.count == 3)
    #expect(few.ids == [ids[7], ids[6], ids[5]])
    #expect(try few[1].value.title == "6")
    #expect(few.reversed().map(\.id) == [ids[5], ids[6], ids[7]])
    #expect(few.first?.id == ids[7] && few.last?.id == ids[5])
    #expect(few.firstIndex { $0.id == ids[5] } == 2)
    #expect(few[1]["stars"]?.integer == 6)
    // A limit still holds for later filters and sorts.
    #expect(try few.filter(\.stars < 7).ids == [ids[6], ids[5]])
    #expect(try few.sorted(by: \.stars).first?.id == ids[5])
    #expect(few.prefix(0).isEmpty)
    #expect(few.dropFirst(5).isEmpty)
    #expect(few.dropFirst(.max).dropFirst(1).isEmpty)
    #expect(history.state.items(Recipe.self).dropFirst(8).ids == [ids[8], ids[9]])
    #expect(history.state.items(Recipe.self).prefix(3).dropFirst(1).ids == [ids[1], ids[2]])
  }

  /// They are found without the rest of the answer.
  @Test func theEndsOfAnAnswerAreThoseOfTheWholeAnswer() throws {
    var history = CatalogHistory()
    var random = SeededGenerator()
    try history.commit { draft in
      for _ in 0..<60 {
        let stars = Int.random(in: 0...4, using: &random)
        let tags = ["baked", "sweet"].filter { _ in Bool.random(using: &random) }
        _ = try draft.insert(
          Recipe(
            title: "\(Int.random(in: 0..<5, using: &random))", stars: stars == 0 ? nil : stars, tags: tags))
      }
    }
    let recipes = history.state.items(Recipe.self)
    let filters: [ItemFilter<Recipe>] = [
      \.stars >= 3, \.title == "1", .contains(\.tags, "sweet"), \.stars == 9, .isMissing(\.stars),
    ]
    let orders: [(ItemQuery<Recipe>) throws -> ItemQuery<Recipe>] = [
      { $0 }, { try $0.sorted(by: \.stars) }, { try $0.sorted(by: .descending(\.stars)) },
      { try $0.sorted(by: .descending(\.stars), .ascending(\.title)) },
      { try $0.sorted(by: .ascending(\.title), .descending(\.stars)) },
    ]
    let cuts: [(ItemQuery<Recipe>) -> ItemQuery<Recipe>] = [
      { $0 }, { $0.prefix(7) }, { $0.dropFirst(3) }, { $0.prefix(0) }, { $0.dropFirst(100) },
    ]
    for filter in filters.map(Optional.some) + [nil] {
      for order in orders {
        for cut in cuts {
          func query() throws -> ItemQuery<Recipe> {
            cut(try order(filter.map { try recipes.filter($0) } ?? recipes))
          }
          let ids = try query().ids
          #expect(try query().first?.id == ids.first && query().last?.id == ids.last)
          #expect(try query().isEmpty == ids.isEmpty)
          let known = try query()
          #expect(known.count == ids.count && known.last?.id == ids.last && known.isEmpty == ids.isEmpty)
        }
      }
    }
  }

  @Test func aQueryOfAnOldStateKeepsItsAnswer() throws {
    var history = CatalogHistory()
    let id = try history.commit { try $0.insert(Recipe(title: "Soup", stars: 3)) }
    let old = history.state
    let query = try old.items(Recipe.self).filter(\.stars == 3)
    try history.commit { try $0.update(id) { $0.stars = 5 } }
    #expect(try history.state.items(Recipe.self).filter(\.stars == 3).isEmpty)
    #expect(query.ids == [id])
    #expect(try query.values == [Recipe(title: "Soup", stars: 3)])
    #expect(try old.items(Recipe.self).filter(\.stars == 5).isEmpty)
  }

  @Test func aDraftAnswersQueriesAsAStateDoes() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      let soup = try draft.insert(Recipe(title: "Soup", stars: 1))
      #expect(try draft.state.items(Recipe.self).filter(\.stars == 1).ids == [soup])
      try draft.update(soup) { $0.stars = 2 }
      #expect(try draft.state.items(Recipe.self).filter(\.stars == 1).isEmpty)
      try draft.delete(soup)
      #expect(try draft.state.items(Recipe.self).filter(\.stars == 2).isEmpty)
      try draft.insert(Recipe(title: "Pie"))
    }
    #expect(try history.state.items(Recipe.self).filter(\.title == "Pie").count == 1)
  }

  @Test func itemsOfOtherKindsAreNotFound() throws {
    var history = CatalogHistory()
    let category = try history.commit { try $0.addCategory(name: "Best") }
    try history.commit { draft in
      try draft.addItem(kind: "book", category: category, attributes: ["title": "Soup", "stars": 5])
      try draft.insert(Recipe(title: "Soup", stars: 5), category: category)
      try draft.insert(Recipe(title: "Soup", stars: 5))
    }
    let recipes = history.state.items(Recipe.self)
    #expect(try recipes.filter(\.title == "Soup").ids == [2, 3])
    #expect(try recipes.filter(.category(category)).ids == [2])
    #expect(try recipes.filter(.category(category) && \.stars == 5).ids == [2])
    #expect(try recipes.filter(.category(nil)).ids == [3])
    #expect(recipes[0].category == category)
  }

  /// An eighth of the index by kind was read before the first item, and to count the items, each one.
  @Test func aQueryReadsOnlyTheLinesAndItemsThatItNeeds() throws {
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try (0..<5_000).map { (number: Int) in
        // At first, items of another kind are in between.
        if number < 300 { for _ in 0..<9 { try draft.addItem(kind: "book") } }
        return try draft.insert(Recipe(title: "\(number)", isVegan: number % 100 == 99))
      }
    }
    var state = history.state
    let lines = CountedLines(state.itemsByKind)
    state.itemsByKind = EntityIndex(base: lines)
    let recipes = state.items(Recipe.self)
    #expect(recipes.first?.id == ids[0] && !recipes.isEmpty)
    #expect(recipes.prefix(20).ids == Array(ids.prefix(20)))
    #expect(try recipes.filter(\.isVegan == false).prefix(20).ids == Array(ids.prefix(20)))
    #expect(lines.readCount < 400)
    let vegan = stride(from: 99, to: 5_000, by: 100).map { ids[$0] }
    for count in [1, 3, 7, 20, 49, 50] {
      #expect(try recipes.filter(\.isVegan == true).prefix(count).ids == Array(vegan.prefix(count)))
    }
    #expect(try recipes.filter(\.isVegan == true).ids == vegan)
    // A table without the items, so that a query that reads one misses it.
    state.itemTable = EntityTable()
    #expect(state.items(Recipe.self).ids == ids && state.items(Recipe.self).count == ids.count)
  }

  private static func isTitled(_ number: Int) -> ItemFilter<Recipe> { \.title == "\(number)" }

  /// The tree of conditions was as deep as there were terms, so evaluating and releasing it overflowed the stack.
  @Test func manyFiltersCanBeJoinedInALoop() async throws {
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try ["1", "2", "Soup"].map { title in try draft.insert(Recipe(title: title)) }
    }
    let state = history.state
    let found = try await Task.detached { () throws -> [[ItemID<Recipe>]] in
      let either = (2...100_000).reduce(Self.isTitled(1)) { $0 || Self.isTitled($1) }
      let neither = (2...100_000).reduce(!Self.isTitled(1)) { $0 && !Self.isTitled($1) }
      let recipes = state.items(Recipe.self)
      return try [either, !either, neither, !neither].map { try recipes.filter($0).ids }
    }.value
    #expect(found == [[ids[0], ids[1]], [ids[2]], [ids[2]], [ids[0], ids[1]]])
  }

  @Test(arguments: [(200, 16), (4_500, 2)])
  func queriesAnswerAsANaiveFilterDoes(size: Int, rounds: Int) throws {
    var random = SeededGenerator()
    var history = CatalogHistory()
    try history.commit { draft in
      for _ in 0..<size { try Self.change(&draft, insertsOnly: true, using: &random) }
    }
    for round in 0..<rounds {
      try history.commit { draft in
        for _ in 0..<20 { try Self.change(&draft, using: &random) }
      }
      if round == rounds / 2 { try history.rebaseNewestState() }
      // The first index of many items is built in the background. From here on it is complete.
      if round % 3 == 1 { try history.state.buildIndexes(of: Recipe.self) }
      for state in [history.state, history.states.randomElement(using: &random)!] {
        let all = try state.items(ofKind: Recipe.kind).map { (id: $0.id, recipe: try $0.decode(Recipe.self)) }
        for _ in 0..<10 { try Self.compare(state, all, using: &random) }
        #expect(state.indexProblems() == [])
      }
    }
  }

  /// Asks one random question in three ways.
  static func compare(
    _ state: Catalog, _ all: [(id: Catalog.Item.ID, recipe: Recipe)], using random: inout SeededGenerator
  ) throws {
    var expected = all
    var query = state.items(Recipe.self)
    var scan = state.items(ScannedRecipe.self)
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let question = Question.random(using: &random)
      query = try query.filter(question.filter)
      scan = try scan.filter(question.scanned)
      expected = expected.filter { question.holds($0.recipe) }
    }
    if Int.random(in: 0..<3, using: &random) > 0 {
      let order = Ordering.random(using: &random)
      query =
        try order.orders.count == 1
        ? query.sorted(by: order.orders[0]) : query.sorted(by: order.orders[0], order.orders[1])
      scan =
        try order.scanned.count == 1
        ? scan.sorted(by: order.scanned[0]) : scan.sorted(by: order.scanned[0], order.scanned[1])
      expected.sort { order.isBefore(($0.id.number, $0.recipe), ($1.id.number, $1.recipe)) }
    }
    if Bool.random(using: &random) {
      let (skipped, limit) = (Int.random(in: 0...3, using: &random), Int.random(in: 0...20, using: &random))
      query = query.dropFirst(skipped).prefix(limit)
      scan = scan.dropFirst(skipped).prefix(limit)
      expected = Array(expected.dropFirst(skipped).prefix(limit))
    }
    #expect(query.ids.map(\.item) == expected.map(\.id))
    #expect(scan.ids.map(\.item) == expected.map(\.id))
    #expect(query.first?.id.item == expected.first?.id)
    #expect(try query.prefix(20).values == expected.prefix(20).map(\.recipe))
    let first = query.prefix(500)
    #expect(try first.values == expected.prefix(500).map(\.recipe))
    #expect(Array(first) == first.indices.map { first[$0] })
  }

  static func change(
    _ draft: inout Draft<Catalog>, insertsOnly: Bool = false, using random: inout SeededGenerator
  ) throws {
    let anyItem = ItemID<Recipe>(Int.random(in: 1...draft.state.itemCount + 1, using: &random))
    let item = draft.state.item(anyItem)?.id
    switch (insertsOnly ? 0 : Int.random(in: 0..<6, using: &random), item) {
    case (1...2, let item?): try draft.update(item) { $0 = .random(using: &random) }
    case (3, let item?): try draft.delete(item)
    case (4, let item?): try draft.setKind(ofItem: item.item, to: "gone")
    case (5, _): try draft.addItem(kind: "book", attributes: ["title": "a", "stars": 1])
    default: try draft.insert(Recipe.random(using: &random))
    }
  }
}

/// An index that counts the lines that are read.
private final class CountedLines: IndexBase {
  private let index: EntityIndex
  private let count = Lock(0)

  init(_ index: EntityIndex) { self.index = index }

  var readCount: Int { count.withLock { $0 } }

  func contains(_ key: IndexKey) -> Bool { index.contains(key.member, in: key.group) }

  func lines(from first: IndexKey, through last: IndexKey) -> BaseIterator<IndexKey, Bool>? {
    var lines = index.lines(from: first, through: last).makeIterator()
    return BaseIterator { [self] in
      count.withLock { $0 += 1 }
      return lines.next().map { ($0, true) }
    }
  }
}

struct TypedItemTests {
  @Test func anItemOfAnotherKindIsNotTakenForOneOfTheType() throws {
    var history = CatalogHistory()
    let book = try history.commit { try $0.addItem(kind: "book", attributes: ["title": "Dune"]) }
    let id = ItemID<Recipe>(book.number)
    #expect(history.state.item(id) == nil)
    #expect(try history.state.value(of: id) == nil)
    expectRejection("item:1 is a book, not a recipe") {
      try history.commit { try $0.update(id) { $0.stars = 1 } }
    }
    expectRejection("item:1 is a book, not a recipe") { try history.commit { try $0.delete(id) } }
    expectRejection("item:7 can't be changed or deleted: it never existed") {
      try history.commit { try $0.delete(ItemID<Recipe>(7)) }
    }
  }

  @Test func replacingAnItemKeepsAttributesThatItsTypeDoesNotKnow() throws {
    var history = CatalogHistory()
    let id = try history.commit { try $0.insert(Recipe(title: "Soup", stars: 3)) }
    try history.commit { try $0.updateItem(id.item, set: ["allergens": ["celery"]]) }
    try history.commit { try $0.replace(id, with: Recipe(title: "Soup")) }
    #expect(history.state.item(id)?["allergens"] == ["celery"])
    #expect(history.state.item(id)?["stars"] == nil)
    #expect(try history.state.value(of: id) == Recipe(title: "Soup"))
  }

  /// A recipe whose last property was added later.
  private struct LateRecipe: CatalogItem {
    static let kind = "recipe"
    var title: String
    var isVegan: Bool

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      title = try container.decode(String.self, forKey: .title)
      isVegan = try container.decodeIfPresent(Bool.self, forKey: .isVegan) ?? false
    }
  }

  /// The attribute stayed missing, because the type reads it as false anyway.
  @Test func replacingAnOlderItemAddsAPropertyThatIsNew() throws {
    var history = CatalogHistory()
    let item = try history.commit { try $0.addItem(kind: "recipe", attributes: ["title": "Soup"]) }
    let id = ItemID<LateRecipe>(item.number)
    let isFound = { (state: Catalog, isVegan: ItemFilter<LateRecipe>) in
      try state.items(LateRecipe.self).filter(isVegan).ids.contains(id)
    }
    #expect(try !isFound(history.state, \.isVegan == false) && isFound(history.state, \.isVegan != true))
    let value = try #require(try history.state.value(of: id))
    try history.commit { try $0.replace(id, with: value) }
    #expect(history.state.item(id)?["isVegan"] == false)
    #expect(try isFound(history.state, \.isVegan == false))
  }

  @Test func anIndexOnARenamedPropertyFindsItsItems() throws {
    var history = CatalogHistory()
    let soup = try history.commit { try $0.insert(Renamed(title: "Soup")) }
    // An app may only change items that it has imported.
    let imported = try history.commit { try $0.addItem(kind: Renamed.kind, attributes: ["t": "Stew"]) }
    let id = ItemID<Renamed>(imported.number)
    try history.commit { try $0.update(id) { $0.title = "Pie" } }
    #expect(history.state.item(id)?["t"] == "Pie")
    try history.state.buildIndexes(of: Renamed.self)
    #expect(try history.state.items(Renamed.self).filter(\.title == "Soup").ids == [soup])
    #expect(try history.state.items(Renamed.self).sorted(by: \.title).ids == [id, soup])
  }

  @Test func aTypeWhoseFirstValueIsNotANumberHasTheIndexThatItDeclares() throws {
    var history = CatalogHistory()
    let noDate = Date(timeIntervalSinceReferenceDate: .nan)
    let id = try history.commit { try $0.insert(Measurement(level: .nan, taken: noDate)) }
    #expect(try history.state.items(Measurement.self).filter(\.level == .nan).ids == [id])
    #expect(try history.state.items(Measurement.self).filter(\.taken == noDate).ids == [id])
  }

  /// Every number was below NaN, and NaN itself was up to it.
  @Test func aComparisonWithNaNFindsNothing() throws {
    var history = CatalogHistory()
    let noDate = Date(timeIntervalSinceReferenceDate: .nan)
    let levels: [Double] = [-.infinity, -1, 0, .infinity, .nan]
    let ids = try history.commit { draft in
      try levels.map { level in
        try draft.insert(Measurement(level: level, taken: Date(timeIntervalSinceReferenceDate: level)))
      }
    }
    let items = history.state.items(Measurement.self)
    let filters: [ItemFilter<Measurement>] = [
      \.level < .nan, \.level <= .nan, \.level > .nan, \.level >= .nan, \.taken < noDate, \.taken <= noDate,
      \.taken > noDate, \.taken >= noDate,
    ]
    for filter in filters {
      #expect(try items.filter(filter).isEmpty)
      // By the index of the sort key.
      #expect(
        try items.filter(filter).sorted(by: \.level).isEmpty && items.filter(!filter).count == ids.count)
    }
    #expect(try items.filter(\.level == .nan).ids == [ids[4]] && items.filter(\.level != .nan).count == 4)
    #expect(try items.filter(\.level >= -1).ids == [ids[1], ids[2], ids[3]])
  }

  /// A filter also took other collections, such as ranges and data, and found none of their elements.
  @Test func elementsOfEachTypeThatIsEncodedAsAnArrayAreFound() throws {
    var history = CatalogHistory()
    let id = try history.commit { try $0.insert(Lists()) }
    let filters: [ItemFilter<Lists>] = [
      .contains(\.array, 1), .contains(\.contiguous, 3), .contains(\.set, 5),
      .contains(\.maybe, "a"),
    ]
    for filter in filters { #expect(try history.state.items(Lists.self).filter(filter).ids == [id]) }
    #expect(try history.state.items(Lists.self).filter(.contains(\.set, 3)).isEmpty)
  }

  @Test func anItemIDIsEncodedAsItsNumberAndCanBeQueried() throws {
    var history = CatalogHistory()
    let soup = try history.commit { try $0.insert(Recipe(title: "Soup")) }
    let note = try history.commit { try $0.insert(Note(recipe: soup, text: "less salt")) }
    #expect(history.state.item(note)?["recipe"] == 1)
    #expect(try history.state.items(Note.self).filter(\.recipe == soup).ids == [note])
    #expect(try history.state.value(of: note)?.recipe == soup)
  }
}

private struct Renamed: CatalogItem {
  static let kind = "renamed"
  static let indexes = [Index(\Renamed.title)]
  enum CodingKeys: String, CodingKey { case title = "t" }
  var title: String
}

private struct Measurement: CatalogItem {
  static let kind = "measurement"
  static let indexes = [Index(\Measurement.level), Index(\Measurement.taken)]
  var level: Double
  var taken: Date
}

private struct Lists: CatalogItem {
  static let kind = "lists"
  static let indexes = [Index(\Lists.array)]
  var array: [Int] = [1]
  var contiguous: ContiguousArray<Int> = [3]
  var set: Set<Int> = [4, 5]
  var maybe: Set<String>? = ["a"]
}

private struct Note: CatalogItem {
  static let kind = "note"
  static let indexes = [Index(\Note.recipe)]
  var recipe: ItemID<Recipe>
  var text: String
}
