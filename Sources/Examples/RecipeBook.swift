import CatalogModel
import Foundation
import InMemoryJournals

/// A recipe, and how it is found.
struct Recipe: CatalogItem, Equatable {
  static let kind = "recipe"
  static let indexes = [Index(\Recipe.title), Index(\.stars), Index(\.tags), Index(\.order)]

  var title: String
  /// The rating, from 1 to 5; nil if the recipe is not rated.
  var stars: Int?
  var tags: [String] = []
  /// The position of the recipe in the order that people gave the list.
  var order = ListOrder.start
}

/// Recipes with tags and photos, kept in a journal.
///
/// Queries read a state: the newest one, an earlier one, or each new one as it is committed.
struct RecipeBook: Sendable {
  let journal: CatalogJournal
  /// The user of the book. Undo affects only this person's changes.
  let author: String

  /// Opens the book, which is empty at the first launch.
  init(at url: URL, author: String) throws {
    journal = try .openOrCreate(at: url)
    self.author = author
  }

  /// Makes a book in memory, for a preview or a test.
  init(inMemory recipes: [Recipe], author: String) throws {
    journal = try .inMemory()
    self.author = author
    try journal.commit(by: author) { draft in
      for recipe in recipes { _ = try draft.insert(recipe) }
    }
  }

  /// Adds a recipe at the end of the list.
  func add(_ recipe: Recipe) async throws -> ItemID<Recipe> {
    try await journal.commit(by: author, note: "add \(recipe.title)") { draft in
      let last = try draft.state.recipesInOrder.last
      var recipe = recipe
      recipe.order = ListOrder(after: try last?.value.order, before: nil)
      return try draft.insert(recipe)
    }.value
  }

  /// Adds many recipes, each in a separate commit, so that each has its own entry in the log and can be undone alone.
  func add(_ recipes: [Recipe]) async throws {
    try await journal.withPipeline { pipeline in
      for recipe in recipes {
        try await pipeline.commit(by: author, note: "add \(recipe.title)") { try $0.insert(recipe) }
      }
    }
  }

  /// Changes a recipe. Only the differences are written.
  nonisolated(nonsending) func change(
    _ id: ItemID<Recipe>, note: String, _ body: (inout Recipe) throws -> Void
  ) async throws {
    try await journal.commit(by: author, note: note) { try $0.update(id, body) }
  }

  /// Moves a recipe after another one or, if `other` is nil, to the start. Only the moved recipe is written, however
  /// long the list is.
  func move(_ id: ItemID<Recipe>, after other: ItemID<Recipe>?) async throws {
    try await journal.commit(by: author, note: "move") { try $0.move(id, by: \.order, after: other) }
  }

  /// Removes a recipe and its photos.
  func remove(_ id: ItemID<Recipe>) async throws {
    try await journal.commit(by: author, note: "remove") { try $0.delete(id) }
  }

  /// Adds a photo to a recipe.
  func addPhoto(_ bytes: Data, mediaType: String, to id: ItemID<Recipe>) async throws {
    let blob = try journal.blobs.add(bytes)
    try await journal.commit(by: author, note: "add a photo") { draft in
      try draft.addImage(to: id, name: "photo", mediaType: mediaType, blob: blob)
    }
  }

  /// The photos of a recipe, in the order in which they were added.
  func photos(of id: ItemID<Recipe>) throws -> [Data] {
    try journal.state.images(of: id).map { try journal.blobs.data(of: $0.blob) }
  }

  /// Undoes the last change of this book's user that can be undone, made in this launch or an earlier one.
  /// - Returns: a description of what was done, or nil if there was nothing to undo.
  func undo() async throws -> String? {
    guard let plan = try journal.planUndo(by: author) else { return nil }
    try await journal.commit(plan, by: author)
    return plan.note
  }
}

extension Catalog {
  /// All recipes in the order in which people put them.
  var recipesInOrder: ItemQuery<Recipe> {
    get throws { try items(Recipe.self).sorted(by: \.order) }
  }

  /// The best recipes, those with the most stars first.
  var bestRecipes: ItemQuery<Recipe> {
    get throws {
      try items(Recipe.self).filter(\.stars >= 4).sorted(by: .descending(\.stars), .ascending(\.title))
    }
  }

  /// The recipes whose title begins with a text, or that have the text as a tag.
  func recipes(matching text: String) throws -> ItemQuery<Recipe> {
    try items(Recipe.self).filter(.prefix(\.title, text) || .contains(\.tags, text)).sorted(by: \.title)
  }
}
