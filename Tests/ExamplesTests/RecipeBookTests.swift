import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import Examples

@Suite struct RecipeBookTests {
  @Test @MainActor func theScreenUpdatesAfterEachCommand() async throws {
    try await withTemporaryFolder { folder in
      let book = try RecipeBook(at: folder.url.appending(path: "Recipes.journal"), author: "ana")
      let screen = try RecipeScreen(book)
      var drawn: [[String]] = []
      screen.follow { drawn.append($0) }
      // Without these attributes, the compiler lets functions inside a closure run elsewhere, and races with it.
      @MainActor func type(_ commands: String...) async throws {
        for command in commands { #expect(try await screen.run(command) == nil, "\(command)") }
      }
      @MainActor func shows(_ lines: [String]) async {
        for _ in 0..<100_000 where drawn.last != lines { await Task.yield() }
        #expect(drawn.last == lines)
      }
      await shows([])
      try await type("add Soup", "add Pie", "add Bread")
      await shows(["1. Soup", "2. Pie", "3. Bread"])
      try await type("rate 1 4", "rate 3 5", "tag 3 quick")
      await shows(["1. Soup ****", "2. Pie", "3. Bread ***** #quick"])
      try await type("move 3 1")
      await shows(["1. Bread ***** #quick", "2. Soup ****", "3. Pie"])
      try await type("move 1 3")
      await shows(["1. Soup ****", "2. Pie", "3. Bread ***** #quick"])
      try await type("best")
      await shows(["1. Bread ***** #quick", "2. Soup ****"])
      try await type("rate 2 5")
      await shows(["1. Bread ***** #quick", "2. Soup *****"])
      try await type("find quick")
      await shows(["1. Bread ***** #quick"])
      try await type("find P")
      await shows(["1. Pie"])
      try await type("remove 1")
      await shows([])
      #expect(try await screen.run("undo")?.contains("remove") == true)
      await shows(["1. Pie"])
      #expect(try await screen.run("dance") == "add, rate, tag, move, remove, find, best, all or undo")
      #expect(try await screen.run("rate 1 9") == "1 to 5 stars")
      await #expect(throws: JournalError.self) { try await screen.run("remove 7") }
      try book.journal.close()
    }
  }

  @Test func importedRecipesAreEntriesOfTheirOwn() async throws {
    let book = try RecipeBook(inMemory: [Recipe(title: "Soup")], author: "ana")
    try await book.add((1...100).map { Recipe(title: "Pie \($0)") })
    #expect(book.journal.head.revision == 101)
    #expect(try await book.undo()?.contains("add Pie 100") == true)
    #expect(book.journal.state.items(Recipe.self).count == 100)
  }

  @Test func photosAreDeletedWithTheirRecipeAndComeBackWithIt() async throws {
    try await withTemporaryFolder { folder in
      let book = try RecipeBook(at: folder.url.appending(path: "Recipes.journal"), author: "ana")
      let soup = try await book.add(Recipe(title: "Soup"))
      try await book.addPhoto(Data("a photo".utf8), mediaType: "image/jpeg", to: soup)
      #expect(try book.photos(of: soup) == [Data("a photo".utf8)])
      try await book.remove(soup)
      #expect(try book.photos(of: soup) == [])
      _ = try await book.undo()
      #expect(try book.photos(of: soup) == [Data("a photo".utf8)])
      try book.journal.close()
    }
  }

  @Test @MainActor func aPreviewShowsItsSampleDataAndLeavesNoFiles() async throws {
    let book = try RecipeBook(
      inMemory: [Recipe(title: "Soup", stars: 4), Recipe(title: "Pie")], author: "ana")
    let screen = try RecipeScreen(book)
    #expect(screen.lines == ["1. Soup ****", "2. Pie"])
    let soup = try book.journal.state.recipesInOrder.ids[0]
    try await book.addPhoto(Data("a photo".utf8), mediaType: "image/jpeg", to: soup)
    #expect(try book.photos(of: soup) == [Data("a photo".utf8)])
    try await book.remove(soup)
    _ = try await book.undo()
    #expect(try book.photos(of: soup) == [Data("a photo".utf8)])
    let folder = book.journal.url
    #expect(FileManager.default.fileExists(atPath: folder.path))
    try book.journal.close()
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  @Test func theBookAndItsUndoSurviveARestart() async throws {
    try await withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Recipes.journal")
      var book: RecipeBook? = try RecipeBook(at: url, author: "ana")
      let soup = try #require(try await book?.add(Recipe(title: "Soup")))
      try await book?.change(soup, note: "rate") { $0.stars = 5 }
      book = nil

      let again = try RecipeBook(at: url, author: "ana")
      #expect(try again.journal.state.bestRecipes.values.map(\.title) == ["Soup"])
      _ = try await again.undo()
      #expect(try again.journal.state.bestRecipes.isEmpty)
      #expect(try again.journal.state(asOf: .revision(2)).bestRecipes.ids == [soup])
      #expect(try again.journal.verify().isSound)
      try again.journal.close()
    }
  }
}

/// The block about watching in Documentation/AppBackend.md. The test is that it compiles.
private func printCounts(_ journal: CatalogJournal) async throws {
  let counts = journal.observe { state in
    [try state.bestRecipes.count, try state.items(Recipe.self).filter(\.stars == nil).count]
  }
  for try await count in counts { print(count) }
}
