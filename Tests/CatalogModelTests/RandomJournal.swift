import CatalogModel
import Foundation
import TestSupport
import Testing

/// A journal on a disk that random commits of three authors have filled, and every state it ever had.
struct RandomJournal {
  static let authors = ["ana", "bob", "eve"]

  let journal: CatalogJournal
  private(set) var states: [Catalog]
  private let blob: Blob

  /// - Parameter commits: how many entries there are.
  init(_ folder: TemporaryFolder, commits: Int, using random: inout SeededGenerator) throws {
    journal = try CatalogJournal.create(at: folder.url.appending(path: "Random.journal"))
    states = [journal.state]
    blob = try journal.blobs.add(Data("a picture".utf8))
    // Some commits change nothing and make no entry.
    while newest < commits { try commit(using: &random) }
  }

  var newest: Revision { states.count - 1 }

  mutating func commit(using random: inout SeededGenerator) throws {
    let author = Self.authors.randomElement(using: &random)!
    try journal.commit(by: author, note: "number \(states.count)") { draft in
      for _ in 0..<Int.random(in: 1...4, using: &random) { try change(&draft, using: &random) }
    }
    note()
  }

  /// Records the newest state after a commit that was made outside of this type.
  mutating func note() {
    if journal.head.revision == states.count { states.append(journal.state) }
    #expect(journal.head.revision == newest)
    #expect(journal.state.problems() == [])
  }

  private func change(_ draft: inout Draft<Catalog>, using random: inout SeededGenerator) throws {
    let item = draft.state.items.map(\.id).randomElement(using: &random)
    let category = draft.state.categories.map(\.id).randomElement(using: &random)
    switch (Int.random(in: 0..<14, using: &random), item, category) {
    case (0...2, _, _):
      try draft.addItem(
        kind: ["book", "film"].randomElement(using: &random)!, category: category,
        attributes: Self.attributes(using: &random))
    case (3...6, let item?, _):
      try draft.updateItem(
        item, set: Self.attributes(using: &random), remove: Self.attributes(using: &random).keys)
    case (7, let item?, _): try draft.setCategory(ofItem: item, to: category)
    case (8, let item?, _): try draft.deleteItem(item)
    case (9, _, _): try draft.addCategory(name: "category \(Int.random(in: 0..<5, using: &random))")
    case (10, _, let category?): try draft.deleteCategory(category)
    case (11, _, let category?):
      try draft.setName(ofCategory: category, to: "name \(Int.random(in: 0..<5, using: &random))")
    case (12, let item?, _):
      try draft.addImage(to: item, name: "a.png", mediaType: "image/png", blob: blob)
    case (13, _, _):
      if let image = draft.state.images.map(\.id).randomElement(using: &random) {
        try draft.deleteImage(image)
      }
    default: break
    }
  }

  private static func attributes(using random: inout SeededGenerator) -> [String: FieldValue] {
    var attributes: [String: FieldValue] = [:]
    for _ in 0..<Int.random(in: 1..<4, using: &random) {
      attributes[["title", "stars", "caf\u{E9}", "note"].randomElement(using: &random)!] =
        [.integer(1), .integer(2), .string("x"), .null, .array([.bool(true)])].randomElement(using: &random)!
    }
    return attributes
  }

  /// A random entity, which may exist, be deleted or have never existed.
  func anyEntity(using random: inout SeededGenerator) -> EntityKey {
    let kind = [EntityKind.category, .item, .item, .image].randomElement(using: &random)!
    return EntityKey(kind: kind, number: Int.random(in: 1...30, using: &random))
  }
}

extension Catalog {
  /// Every entity that exists, and its record.
  var records: [EntityKey: EntityRecord] {
    var records: [EntityKey: EntityRecord] = [:]
    for item in items { records[.item(item.id)] = record(of: .item(item.id)) }
    for category in categories { records[.category(category.id)] = record(of: .category(category.id)) }
    for image in images { records[.image(image.id)] = record(of: .image(image.id)) }
    return records
  }
}
