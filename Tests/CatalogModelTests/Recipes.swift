import CatalogModel
import Foundation
import TestSupport

/// An item type with indexes on values of several kinds.
struct Recipe: CatalogItem, Equatable {
  static let kind = "recipe"
  static let indexes = [
    Index(\Recipe.title), Index(\.stars), Index(\.tags), Index(\.cooked), Index(\.place?.floor),
    Index(\.price),
  ]

  struct Place: Codable, Equatable { var floor: Int }
  enum Course: String, Codable, QueryValue, CaseIterable { case starter, main, dessert }

  var title: String
  var stars: Int?
  var tags: [String] = []
  var cooked: Date?
  var isVegan = false
  var place: Place?
  var course: Course?
  var price: Decimal?

  /// Prices of which some are equal, some differ by less than doubles do, and some are integers.
  static let prices: [Decimal?] = [
    nil, 0, 1, Decimal(string: "1.00"), Decimal(string: "9.95"), Decimal(string: "-0.1"),
    Decimal(string: "3.33333333333333333333"), Decimal(string: "3.33333333333333333334"), 10 / Decimal(3),
    Decimal(string: "18446744073709551615.5"), Decimal(string: "18446744073709551616"),
  ]

  static func random(using random: inout SeededGenerator) -> Recipe {
    Recipe(
      title: ["Soup", "Soup of the day", "Stew", "Äpfel", "", "A title of more than fourteen bytes"]
        .randomElement(
          using: &random)!,
      stars: [nil, -1, 1, 2, 3, 4, 5].randomElement(using: &random)!,
      tags: ["hot", "quick", "sweet", "hot"].filter { _ in Bool.random(using: &random) },
      cooked: Bool.random(using: &random)
        ? nil : Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -2...2, using: &random))),
      isVegan: Bool.random(using: &random),
      place: Bool.random(using: &random) ? nil : Place(floor: Int.random(in: -1...2, using: &random)),
      course: Bool.random(using: &random) ? nil : Course.allCases.randomElement(using: &random),
      price: prices.randomElement(using: &random)!)
  }
}

/// A type of the same items that declares no index.
struct ScannedRecipe: CatalogItem {
  static let kind = "recipe"

  var title: String
  var stars: Int?
  var tags: [String]
  var cooked: Date?
  var isVegan: Bool
  var place: Recipe.Place?
  var course: Recipe.Course?
  var price: Decimal?
}

/// A filter for both types, and its meaning as a predicate.
struct Question {
  var filter: ItemFilter<Recipe>
  var scanned: ItemFilter<ScannedRecipe>
  var holds: (Recipe) -> Bool

  static func random(depth: Int = 0, using random: inout SeededGenerator) -> Question {
    if depth < 2, Int.random(in: 0..<3, using: &random) == 0 {
      let left = Self.random(depth: depth + 1, using: &random)
      let right = Self.random(depth: depth + 1, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        return Question(
          filter: left.filter && right.filter, scanned: left.scanned && right.scanned,
          holds: { left.holds($0) && right.holds($0) })
      case 1:
        return Question(
          filter: left.filter || right.filter, scanned: left.scanned || right.scanned,
          holds: { left.holds($0) || right.holds($0) })
      default:
        return Question(filter: !left.filter, scanned: !left.scanned, holds: { !left.holds($0) })
      }
    }
    return simple(using: &random)
  }

  private static func simple(using random: inout SeededGenerator) -> Question {
    let stars = Int.random(in: -1...6, using: &random)
    let title = ["Soup", "Stew", "", "S", "Ä", "B"].randomElement(using: &random)!
    let tag = ["hot", "quick", "none"].randomElement(using: &random)!
    let date = Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -2...2, using: &random)))
    let price = Recipe.prices.compactMap(\.self).randomElement(using: &random)!
    switch Int.random(in: 0..<21, using: &random) {
    case 0: return Question(filter: \.stars == stars, scanned: \.stars == stars) { $0.stars == stars }
    case 1: return Question(filter: \.stars != stars, scanned: \.stars != stars) { $0.stars != stars }
    case 2:
      return Question(filter: \.stars < stars, scanned: \.stars < stars) {
        $0.stars.map { $0 < stars } ?? false
      }
    case 3:
      return Question(filter: \.stars >= stars, scanned: \.stars >= stars) {
        $0.stars.map { $0 >= stars } ?? false
      }
    case 4: return Question(filter: \.stars == nil, scanned: \.stars == nil) { $0.stars == nil }
    case 5: return Question(filter: \.title == title, scanned: \.title == title) { $0.title == title }
    case 6:
      return Question(filter: .prefix(\.title, title), scanned: .prefix(\.title, title)) {
        $0.title.hasPrefix(title)
      }
    case 7:
      return Question(filter: \.title > title, scanned: \.title > title) {
        title.utf8.lexicographicallyPrecedes($0.title.utf8)
      }
    case 8:
      return Question(filter: .contains(\.tags, tag), scanned: .contains(\.tags, tag)) {
        $0.tags.contains(tag)
      }
    case 9:
      return Question(filter: \.cooked <= date, scanned: \.cooked <= date) {
        $0.cooked.map { $0 <= date } ?? false
      }
    case 10:
      return Question(filter: \.cooked > date, scanned: \.cooked > date) {
        $0.cooked.map { $0 > date } ?? false
      }
    case 11: return Question(filter: \.isVegan == true, scanned: \.isVegan == true) { $0.isVegan }
    case 12:
      let range = min(stars, 4)...4
      return Question(filter: range ~= \.stars, scanned: range ~= \.stars) {
        $0.stars.map { range.contains($0) } ?? false
      }
    case 13:
      return Question(filter: \.place?.floor == 1, scanned: \.place?.floor == 1) { $0.place?.floor == 1 }
    case 14:
      return Question(filter: \.place?.floor < 1, scanned: \.place?.floor < 1) {
        $0.place.map { $0.floor < 1 } ?? false
      }
    case 15: return Question(filter: \.course == .main, scanned: \.course == .main) { $0.course == .main }
    case 16:
      let text = title.lowercased()
      return Question(
        filter: .contains(\.title, ignoringCase: text), scanned: .contains(\.title, ignoringCase: text)
      ) { text.isEmpty || $0.title.range(of: text, options: .caseInsensitive) != nil }
    case 17:
      return Question(filter: \.price == price, scanned: \.price == price) { $0.price == price }
    case 18:
      return Question(filter: \.price < price, scanned: \.price < price) {
        $0.price.map { $0 < price } ?? false
      }
    case 19:
      return Question(filter: \.price >= price, scanned: \.price >= price) {
        $0.price.map { $0 >= price } ?? false
      }
    default:
      return Question(
        filter: .isOne(of: [stars, nil, 3], \.stars), scanned: .isOne(of: [stars, nil, 3], \.stars)
      ) { [stars, nil, 3].contains($0.stars) }
    }
  }
}

/// Orders for both types, and their meaning as comparisons.
struct Ordering {
  var orders: [ItemSort<Recipe>]
  var scanned: [ItemSort<ScannedRecipe>]
  private var compare: [(Recipe, Recipe) -> Int] = []
  private var isDescending: [Bool] = []

  static func random(using random: inout SeededGenerator) -> Ordering {
    var ordering = Ordering(orders: [], scanned: [])
    for _ in 0..<Int.random(in: 1...2, using: &random) { ordering.append(using: &random) }
    return ordering
  }

  private mutating func append(using random: inout SeededGenerator) {
    let falls = Bool.random(using: &random)
    isDescending.append(falls)
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      orders.append(falls ? .descending(\.title) : .ascending(\.title))
      scanned.append(falls ? .descending(\.title) : .ascending(\.title))
      compare.append {
        Self.order(Array($0.title.utf8), Array($1.title.utf8)) { $0.lexicographicallyPrecedes($1) }
      }
    case 1:
      orders.append(falls ? .descending(\.stars) : .ascending(\.stars))
      scanned.append(falls ? .descending(\.stars) : .ascending(\.stars))
      compare.append { Self.order($0.stars ?? .min, $1.stars ?? .min, <) }
    case 2:
      orders.append(falls ? .descending(\.cooked) : .ascending(\.cooked))
      scanned.append(falls ? .descending(\.cooked) : .ascending(\.cooked))
      compare.append { Self.order($0.cooked ?? .distantPast, $1.cooked ?? .distantPast, <) }
    case 3:
      orders.append(falls ? .descending(\.isVegan) : .ascending(\.isVegan))
      scanned.append(falls ? .descending(\.isVegan) : .ascending(\.isVegan))
      compare.append { Self.order($0.isVegan ? 1 : 0, $1.isVegan ? 1 : 0, <) }
    case 4:
      orders.append(falls ? .descending(\.price) : .ascending(\.price))
      scanned.append(falls ? .descending(\.price) : .ascending(\.price))
      compare.append { Self.order($0.price ?? -1e9, $1.price ?? -1e9, <) }
    default:
      orders.append(falls ? .descending(\.place?.floor) : .ascending(\.place?.floor))
      scanned.append(falls ? .descending(\.place?.floor) : .ascending(\.place?.floor))
      compare.append { Self.order($0.place?.floor ?? .min, $1.place?.floor ?? .min, <) }
    }
  }

  private static func order<T>(_ left: T, _ right: T, _ isBefore: (T, T) -> Bool) -> Int {
    isBefore(left, right) ? -1 : isBefore(right, left) ? 1 : 0
  }

  func isBefore(_ left: (id: Int, recipe: Recipe), _ right: (id: Int, recipe: Recipe)) -> Bool {
    for (index, compare) in compare.enumerated() {
      let order = compare(left.recipe, right.recipe)
      if order != 0 { return (order < 0) != isDescending[index] }
    }
    return left.id != right.id && (left.id < right.id) != (isDescending.last ?? false)
  }
}
