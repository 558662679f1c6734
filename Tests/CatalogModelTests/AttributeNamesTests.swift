import CBOR
import CatalogModel
import Testing

/// Queries name attributes after properties, or by their own names.
@Suite struct AttributeNamesTests {
  /// They compared an attribute that no item has, and later ended the process.
  @Test func aQueryOnARenamedPropertyComparesTheEncodedAttribute() throws {
    let songs = try madeSongs()
    #expect(try songs.filter(\.title != "a").ids == [1, 3])
    #expect(try songs.sorted(by: \.title).ids == [2, 3, 1])
    #expect(try songs.prefix(2).filter(.contains(\.title, ignoringCase: "A")).ids == [2])
    #expect(try songs.filter(.isMissing(\.place?.floor)).count == 3)
    #expect(try songs.filter(\.stars >= 2 && \.place?.room == nil).ids == [2, 3])
    // It is not stored at all.
    #expect(throws: JournalError.self) { try songs.filter(\.isPlaying == false) }
  }

  @Test func aPropertyWhoseDefaultIsNotEncodedCanBeQueriedAndIndexed() throws {
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try [false, true].map { try draft.insert(Sparse(title: "a", isVegan: $0)) }
    }
    #expect(try history.state.items(Sparse.self).filter(\.isVegan == true).ids == [ids[1]])
    #expect(try history.state.items(Sparse.self).filter(\.isVegan != true).ids == [ids[0]])
    try history.commit { draft in try draft.update(ids[1]) { $0.isVegan = false } }
    #expect(try history.state.items(Sparse.self).filter(\.isVegan == true).isEmpty)
  }

  @Test func itemsThatAreNoValuesOfTheTypeCanBeQueried() throws {
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try (0..<20).map { _ in try draft.addItem(kind: Loose.kind, attributes: ["stars": 4, "title": [1]]) }
    }
    let loose = history.state.items(Loose.self)
    #expect(try loose.filter(\.stars == 4).count == ids.count && loose.filter(\.title == "a").isEmpty)
    #expect(try loose.filter(\.place?.floor == 1).isEmpty)
    try history.commit { draft in
      try draft.insert(Loose(title: "a", stars: 5, place: Loose.Place(floor: 1)))
    }
    #expect(try history.state.items(Loose.self).filter(\.place?.floor == 1).ids == [21])
  }

  @Test func attributesAreFoundAndSortedByTheirNames() throws {
    let songs = try madeSongs()
    #expect(try songs.filter(.attribute("t", in: .equal(to: "a"))).ids == [2])
    #expect(try songs.filter(!.attribute("t", in: .prefix("a")) && \.stars < 3).ids == [1])
    #expect(try songs.filter(.attribute("nothing", in: .missing)).count == 3)
    #expect(try songs.sorted(by: .ascending(attribute: "t")).ids == [2, 3, 1])
    #expect(try songs.sorted(by: .descending(attribute: "t")).prefix(1).ids == [1])
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try [2, 1].map {
        try draft.insert(Recipe(title: "Soup", tags: ["tag \($0)"], place: Recipe.Place(floor: $0)))
      }
    }
    // With an index, and without.
    for _ in 0..<2 {
      let recipes = history.state.items(Recipe.self)
      #expect(try recipes.filter(.attribute("place", "floor", in: .from(2))).ids == [ids[0]])
      #expect(try recipes.filter(.attribute("tags", in: .containing("tag 1"))).ids == [ids[1]])
      #expect(try recipes.sorted(by: .ascending(attribute: "place", "floor")).ids == ids.reversed())
      let scanned = history.state.items(ScannedRecipe.self)
      #expect(try scanned.filter(.attribute("place", "floor", in: .from(2))).ids == [ItemID(ids[0].number)])
      try history.state.buildIndexes(of: Recipe.self)
    }
    #expect(try titled("Soup", in: history.state.items(Recipe.self)).count == 2)
  }

  /// A query by name, for a type that refuses the made-up values by which names are found.
  private func titled<Model: CatalogItem>(
    _ title: String, in items: ItemQuery<Model>
  ) throws -> ItemQuery<Model> {
    try items.filter(.attribute("title", in: .equal(to: .string(title))))
  }
}

private func madeSongs() throws -> ItemQuery<Song> {
  var history = CatalogHistory()
  try history.commit { draft in
    for (index, title) in ["c", "a", "b"].enumerated() {
      try draft.insert(Song(title: title, stars: index + 1))
    }
  }
  return history.state.items(Song.self)
}

/// A type that renames properties.
private struct Song: CatalogItem {
  static let kind = "song"

  struct Place: Codable {
    var floor: Int?
    var room: Int?
    enum CodingKeys: String, CodingKey {
      case floor = "f"
      case room
    }
  }

  var title: String
  var stars: Int
  var place: Place?
  var isPlaying = false

  enum CodingKeys: String, CodingKey {
    case title = "t"
    case stars, place
  }
}

private struct Loose: CatalogItem {
  static let kind = "loose"
  struct Place: Codable { var floor: Int }
  var title: String
  var stars: Int
  var place: Place?
}

/// A type that encodes a property only if it has another value than usual.
private struct Sparse: CatalogItem {
  static let kind = "sparse"
  static let indexes = [Index(\Sparse.isVegan)]

  var title: String
  var isVegan: Bool

  enum CodingKeys: String, CodingKey { case title, isVegan }

  init(title: String, isVegan: Bool) {
    self.title = title
    self.isVegan = isVegan
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    title = try container.decode(String.self, forKey: .title)
    isVegan = try container.decodeIfPresent(Bool.self, forKey: .isVegan) ?? false
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(title, forKey: .title)
    if isVegan { try container.encode(isVegan, forKey: .isVegan) }
  }
}
