import CBOR
import CatalogModel
import EntitySearch
import InMemoryJournals
import TestSupport
import Testing

/// Filters that find a text inside another.
@Suite struct TextFilterTests {
  @Test func aTextInsideAPropertyIsFoundIgnoringCase() throws {
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try [
        Recipe(title: "Soup of the day", stars: 5, tags: ["Hot"]), Recipe(title: "Onion soup", stars: 3),
        Recipe(title: "Äpfel", tags: ["shot", "Soup"], course: .dessert),
      ].map { try draft.insert($0) }
    }
    let recipes = history.state.items(Recipe.self)
    #expect(try recipes.filter(.contains(\.title, ignoringCase: "soUP")).ids == [ids[0], ids[1]])
    #expect(try recipes.filter(.contains(\.title, ignoringCase: "ÄPF")).ids == [ids[2]])
    #expect(try recipes.filter(.contains(\.title, ignoringCase: "äpf")).ids == [ids[2]])
    #expect(try recipes.filter(.contains(\.title, ignoringCase: "apf")).isEmpty)
    #expect(try recipes.filter(.contains(\.tags, ignoringCase: "HOT")).count == 2)
    #expect(try recipes.filter(.contains(\.course, ignoringCase: "Sert")).ids == [ids[2]])
    #expect(try !recipes.filter(!.contains(\.course, ignoringCase: "Sert")).ids.contains(ids[2]))
    // A number is no text.
    #expect(try recipes.filter(.contains(\.stars, ignoringCase: "5")).isEmpty)
    #expect(try recipes.filter(.contains(\.course, ignoringCase: "")).count == 3)
    let soups = try recipes.filter(.contains(\.title, ignoringCase: "soup") && \.stars > 2).sorted(
      by: \.title)
    #expect(soups.ids == [ids[1], ids[0]])
    #expect(soups.prefix(1).ids == [ids[1]] && soups.first?.id == ids[1])
    #expect(try history.state.recipes(containing: "soup").ids == soups.ids)
  }

  @Test func aTextInAnyAttributeIsFound() throws {
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try ["Soup", "Pie"].map { try draft.insert(Recipe(title: $0, tags: ["Hot"])) }
    }
    try history.commit { try $0.updateItem(ids[1].item, set: ["allergens": ["from": ["Celery"]]]) }
    let recipes = history.state.items(Recipe.self)
    #expect(try recipes.filter(.contains(ignoringCase: "CELERY")).ids == [ids[1]])
    #expect(try recipes.filter(.contains(ignoringCase: "hot")).ids == ids)
    #expect(try recipes.filter(.contains(ignoringCase: "")).ids == ids)
    // Neither a name of an attribute nor the kind or the name of an item is a text in it.
    for text in ["allergens", "recipe", "item:1"] {
      #expect(try recipes.filter(.contains(ignoringCase: text)).isEmpty, "\(text)")
    }
  }

  @Test func theFilterFindsWhatASearchOfTheCommandLineFinds() throws {
    var random = SeededGenerator()
    let journal = try CatalogJournal.inMemory()
    try journal.commit { draft in
      for _ in 0..<300 { try draft.insert(Recipe.random(using: &random)) }
    }
    let state = journal.state
    for text in ["SOUP", "of the", "ÄPFEL", "äp", "HOT", "more", "desSERT", "none of these", "A title"] {
      var found: [Int] = []
      try journal.find(EntityQuery(text: text, kind: Recipe.kind)) {
        found.append($0.entity.number)
        return true
      }
      #expect(
        try state.items(Recipe.self).filter(.contains(ignoringCase: text)).ids.map(\.number) == found,
        "\(text)")
    }
    try journal.close()
  }

  @Test func aSearchIsWatched() async throws {
    let journal = try CatalogJournal.inMemory()
    try await journal.commit { try $0.insert(Recipe(title: "Pie")) }
    var updates = journal.updates {
      try $0.items(Recipe.self).filter(.contains(\.title, ignoringCase: "soup")).sorted(by: \.title)
    }.makeAsyncIterator()
    #expect(try await updates.next()?.items.isEmpty == true)
    let soup = try await journal.commit { try $0.insert(Recipe(title: "Onion Soup")) }.value
    #expect(try await updates.next()?.items.ids == [soup])
    try await journal.commit { try $0.update(soup) { $0.title = "Stew" } }
    #expect(try await updates.next()?.items.count == 0)
    try journal.close()
  }
}

/// The block about text search in Documentation/AppBackend.md.
extension Catalog {
  fileprivate func recipes(containing text: String) throws -> ItemQuery<Recipe> {
    try items(Recipe.self).filter(.contains(\.title, ignoringCase: text)).sorted(by: \.title).prefix(50)
  }
}
