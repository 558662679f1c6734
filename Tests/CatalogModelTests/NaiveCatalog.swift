import CBOR
import CatalogModel
import Foundation
import Journaling
import TestSupport
import Testing

/// A catalog of plain dictionaries.
struct NaiveCatalog: Equatable {
  struct Times: Equatable {
    var created: Revision
    var modified: Revision
  }
  struct ItemModel: Equatable {
    var kind: String
    var category: Int?
    var attributes: [String: FieldValue]
  }
  struct CategoryModel: Equatable {
    var name: String
    var color: Catalog.Color?
  }
  struct ImageModel: Equatable {
    var item: Int
    var name: String
    var mediaType: String
    var blob: Blob
  }

  var items: [Int: ItemModel] = [:]
  var categories: [Int: CategoryModel] = [:]
  var images: [Int: ImageModel] = [:]
  var times: [EntityKey: Times] = [:]
  /// For each deleted entity, the revision that deleted it.
  var deletions: [EntityKey: Revision] = [:]
  var highestItem = 0
  var highestCategory = 0
  var highestImage = 0

  static let kinds = ["book", "film", "a game of a long and winding name", "caf\u{E9}"]

  init() {}

  /// Reads everything that a catalog shows.
  /// - Parameter numbers: a model that knows which numbers were assigned.
  init(_ catalog: Catalog, numbers: NaiveCatalog) {
    highestItem = numbers.highestItem
    highestCategory = numbers.highestCategory
    highestImage = numbers.highestImage
    for item in catalog.items {
      items[item.id.number] = ItemModel(
        kind: item.kind, category: item.category?.number, attributes: item.attributes)
      times[.item(item.id)] = Times(created: item.created, modified: item.modified)
    }
    for category in catalog.categories {
      categories[category.id.number] = CategoryModel(name: category.name, color: category.color)
      times[.category(category.id)] = Times(created: category.created, modified: category.modified)
    }
    for image in catalog.images {
      images[image.id.number] = ImageModel(
        item: image.item.number, name: image.name, mediaType: image.mediaType, blob: image.blob)
      times[.image(image.id)] = Times(created: image.created, modified: image.modified)
    }
    for (highest, kind) in [
      (highestItem, EntityKind.item), (highestCategory, .category), (highestImage, .image),
    ] {
      for number in 0...highest + 1 {
        let entity = EntityKey(kind: kind, number: number)
        let revision = catalog.revision(of: entity)
        if catalog.record(of: entity) == nil, revision != 0 { deletions[entity] = revision }
      }
    }
  }

  /// This model with the times that a commit gives it. Entities that are the same as before keep theirs.
  func settled(after before: NaiveCatalog, at revision: Revision) -> NaiveCatalog {
    var settled = self
    settled.times = [:]
    settled.deletions = before.deletions
    func settle<T: Equatable>(_ new: [Int: T], _ old: [Int: T], _ entity: (Int) -> EntityKey) {
      for (number, content) in new {
        var times = before.times[entity(number)] ?? Times(created: revision, modified: revision)
        if old[number] != content { times.modified = revision }
        settled.times[entity(number)] = times
        settled.deletions[entity(number)] = nil
      }
      for number in old.keys where new[number] == nil { settled.deletions[entity(number)] = revision }
    }
    settle(items, before.items) { .item($0) }
    settle(categories, before.categories) { .category($0) }
    settle(images, before.images) { .image($0) }
    // If an entity was added and deleted in one entry, the log does not know that its number was assigned.
    settled.highestItem = max(before.highestItem, items.keys.max() ?? 0)
    settled.highestCategory = max(before.highestCategory, categories.keys.max() ?? 0)
    settled.highestImage = max(before.highestImage, images.keys.max() ?? 0)
    return settled
  }
}

// Each random change is made to a draft and to the model, which must agree on whether it is allowed.
extension NaiveCatalog {
  mutating func changeAtRandom(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    switch Int.random(in: 0..<16, using: &random) {
    case 0...3: try addItem(&draft, using: &random)
    case 4...6: try updateItem(&draft, using: &random)
    case 7: try moveItem(&draft, using: &random)
    case 8: try deleteItem(&draft, using: &random)
    case 9: try addCategory(&draft, using: &random)
    case 10: try updateCategory(&draft, using: &random)
    case 11: try deleteCategory(&draft, using: &random)
    case 12...13: try addImage(&draft, using: &random)
    case 14: try changeImage(&draft, using: &random)
    default: try reviveItem(&draft, using: &random)
    }
  }

  /// Calls `change`, which must be rejected exactly when it is not allowed.
  /// - Returns: whether it was done.
  private func attempt(_ allowed: Bool, _ change: () throws -> Void) throws -> Bool {
    if allowed {
      try change()
    } else {
      #expect(throws: JournalError.self) { try change() }
    }
    return allowed
  }

  private static func attributes(using random: inout SeededGenerator) -> [String: FieldValue] {
    var attributes: [String: FieldValue] = [:]
    for _ in 0..<Int.random(in: 0..<4, using: &random) {
      let name = ["a", "b", "name", "caf\u{E9}", ""].randomElement(using: &random)!
      attributes[name] = [.integer(1), .integer(2), .string("x"), .null, .array([.bool(true)])]
        .randomElement(using: &random)!
    }
    return attributes
  }

  private func anyCategory(using random: inout SeededGenerator) -> Int? {
    let number = Int.random(in: 0...highestCategory + 1, using: &random)
    return number == 0 ? nil : number
  }

  private mutating func addItem(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let kind = Self.kinds.randomElement(using: &random)!
    let category = anyCategory(using: &random)
    let attributes = Self.attributes(using: &random)
    let allowed = category.map { categories[$0] != nil } ?? true
    var number = 0
    let done = try attempt(allowed) {
      number = try draft.addItem(
        kind: kind, category: category.map { EntityID($0) }, attributes: attributes
      ).number
    }
    guard done else { return }
    highestItem += 1
    #expect(number == highestItem)
    items[number] = ItemModel(kind: kind, category: category, attributes: attributes)
  }

  private mutating func updateItem(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let number = Int.random(in: 0...highestItem + 1, using: &random)
    let attributes = Self.attributes(using: &random)
    let removed = Self.attributes(using: &random).keys
    if Bool.random(using: &random) {
      let done = try attempt(items[number] != nil) {
        try draft.updateItem(EntityID(number), set: attributes, remove: removed)
      }
      guard done else { return }
      for name in removed { items[number]?.attributes[name] = nil }
      items[number]?.attributes.merge(attributes) { $1 }
    } else {
      let done = try attempt(items[number] != nil) {
        try draft.replaceAttributes(ofItem: EntityID(number), with: attributes)
      }
      if done { items[number]?.attributes = attributes }
    }
  }

  private mutating func moveItem(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let number = Int.random(in: 0...highestItem + 1, using: &random)
    let category = anyCategory(using: &random)
    let allowed = items[number] != nil && (category.map { categories[$0] != nil } ?? true)
    if try attempt(
      allowed, { try draft.setCategory(ofItem: EntityID(number), to: category.map { EntityID($0) }) })
    {
      items[number]?.category = category
    }
    let kind = Self.kinds.randomElement(using: &random)!
    if try attempt(items[number] != nil, { try draft.setKind(ofItem: EntityID(number), to: kind) }) {
      items[number]?.kind = kind
    }
  }

  private mutating func deleteItem(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let number = Int.random(in: 0...highestItem + 1, using: &random)
    guard try attempt(items[number] != nil, { try draft.deleteItem(EntityID(number)) }) else { return }
    items[number] = nil
    images = images.filter { $0.value.item != number }
  }

  /// Adds an item under the number of one that was deleted, as restoring does.
  private mutating func reviveItem(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let number = Int.random(in: 1...highestItem + 1, using: &random)
    guard items[number] == nil, draft.state.revision(of: .item(number)) != 0 else { return }
    try draft.add(.item(number), EntityRecord(["back": .bool(true)], fields: [0: .string("book")]))
    items[number] = ItemModel(kind: "book", category: nil, attributes: ["back": .bool(true)])
  }

  private mutating func addCategory(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let color = Bool.random(using: &random) ? Catalog.Color(red: 0.25, green: 0, blue: 1) : nil
    highestCategory += 1
    #expect(try draft.addCategory(name: "New", color: color).number == highestCategory)
    categories[highestCategory] = CategoryModel(name: "New", color: color)
  }

  private mutating func updateCategory(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let number = Int.random(in: 0...highestCategory + 1, using: &random)
    let name = ["New", "Old", "Older"].randomElement(using: &random)!
    let color = Bool.random(using: &random) ? Catalog.Color(hex: "#12345678") : nil
    let done = try attempt(categories[number] != nil) {
      try draft.updateCategory(EntityID(number), name: name, color: color)
    }
    if done { categories[number] = CategoryModel(name: name, color: color) }
  }

  private mutating func deleteCategory(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let number = Int.random(in: 0...highestCategory + 1, using: &random)
    guard try attempt(categories[number] != nil, { try draft.deleteCategory(EntityID(number)) }) else {
      return
    }
    categories[number] = nil
    for item in items.keys where items[item]?.category == number { items[item]?.category = nil }
  }

  private mutating func addImage(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let item = Int.random(in: 0...highestItem + 1, using: &random)
    let blob = Blob(digest: .zero, byteCount: Int.random(in: 0..<3, using: &random))
    let done = try attempt(items[item] != nil) {
      try draft.addImage(to: EntityID(item), name: "a.png", mediaType: "image/png", blob: blob)
    }
    guard done else { return }
    highestImage += 1
    images[highestImage] = ImageModel(item: item, name: "a.png", mediaType: "image/png", blob: blob)
  }

  private mutating func changeImage(
    _ draft: inout Draft<Catalog>, using random: inout SeededGenerator
  ) throws {
    let number = Int.random(in: 0...highestImage + 1, using: &random)
    if Bool.random(using: &random) {
      if try attempt(images[number] != nil, { try draft.deleteImage(EntityID(number)) }) {
        images[number] = nil
      }
      return
    }
    let blob = Blob(digest: .zero, byteCount: Int.random(in: 0..<3, using: &random))
    let name = ["a.png", "b.png"].randomElement(using: &random)!
    let done = try attempt(images[number] != nil) {
      try draft.updateImage(EntityID(number), name: name, blob: blob)
    }
    guard done else { return }
    images[number]?.name = name
    images[number]?.blob = blob
  }
}
