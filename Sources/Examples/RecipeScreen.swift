import CatalogModel
import Foundation
import Observation

/// A terminal's screen of a recipe book: lines that follow every change, and commands.
///
/// ```
/// add Soup        rate 1 5        tag 1 hot        move 3 1        remove 2
/// find So         best            all              undo
/// ```
/// The numbers in commands are those of the lines on the screen.
@MainActor final class RecipeScreen {
  private let book: RecipeBook
  private let shown: LiveQuery<Recipe>

  init(_ book: RecipeBook) throws {
    self.book = book
    shown = try LiveQuery(book.journal) { try $0.recipesInOrder }
  }

  var lines: [String] {
    shown.items.enumerated().map { index, item in
      guard let recipe = try? item.value else { return "\(index + 1). (made by a newer version of this app)" }
      let stars = String(repeating: "*", count: recipe.stars ?? 0)
      return (["\(index + 1). \(recipe.title)", stars] + recipe.tags.map { "#\($0)" }).filter { !$0.isEmpty }
        .joined(separator: " ")
    }
  }

  /// Calls `draw` with the lines, now and each time that they have changed.
  func follow(_ draw: @escaping @MainActor ([String]) -> Void) {
    let lines = withObservationTracking {
      self.lines
    } onChange: { [weak self] in
      // This closure is called before the change; the screen is drawn after it.
      Task { @MainActor in self?.follow(draw) }
    }
    draw(lines)
  }

  /// Runs a command. Returns a message for the user, or nil if the screen shows the result.
  func run(_ input: String) async throws -> String? {
    let words = input.split(separator: " ").map(String.init)
    switch (words.first, words.count) {
    case ("add", 2...): _ = try await book.add(Recipe(title: words.dropFirst().joined(separator: " ")))
    case ("rate", 3):
      guard let stars = Int(words[2]), 1...5 ~= stars else { return "1 to 5 stars" }
      try await book.change(try item(words[1]), note: "rate") { $0.stars = stars }
    case ("tag", 3): try await book.change(try item(words[1]), note: "tag") { $0.tags.append(words[2]) }
    case ("move", 3):
      let place = words[2] == "1" ? nil : try neighbor(of: words[1], before: words[2])
      try await book.move(try item(words[1]), after: place)
    case ("remove", 2): try await book.remove(try item(words[1]))
    case ("find", 2...):
      let text = words.dropFirst().joined(separator: " ")
      try shown.show(book.journal) { try $0.recipes(matching: text) }
    case ("best", 1): try shown.show(book.journal) { try $0.bestRecipes }
    case ("all", 1): try shown.show(book.journal) { try $0.recipesInOrder }
    case ("undo", 1): return try await book.undo() ?? "nothing to undo"
    default: return "add, rate, tag, move, remove, find, best, all or undo"
    }
    return nil
  }

  private func item(_ number: String) throws -> ItemID<Recipe> {
    guard let line = Int(number), shown.items.indices.contains(line - 1) else {
      throw JournalError(.rejected, "there is no line \(number)")
    }
    return shown.items[line - 1].id
  }

  /// The recipe after which the moved recipe must be placed to get to a line.
  private func neighbor(of moved: String, before line: String) throws -> ItemID<Recipe> {
    let (from, to) = (Int(moved) ?? 0, Int(line) ?? 0)
    return try item("\(from < to ? to : to - 1)")
  }
}
