import CatalogModel
import Journaling
import TestSupport
import Testing

/// A catalog that is made of parts, as from layers, compared with one that is not.
struct PartsTests {
  @Test func aCatalogOnBasesAnswersLikeAnyOther() throws {
    var random = SeededGenerator()
    var plain = CatalogHistory()
    var layered = CatalogHistory()
    var model = NaiveCatalog()
    for _ in 0..<150 {
      let revision = plain.revision + 1
      let count = Int.random(in: 1...12, using: &random)
      var attempt = model
      var sameAttempt = model
      var sameRandom = random
      try plain.commit { draft in
        for _ in 0..<count { try attempt.changeAtRandom(&draft, using: &random) }
      }
      try layered.commit { draft in
        for _ in 0..<count { try sameAttempt.changeAtRandom(&draft, using: &sameRandom) }
      }
      try #require(layered.entries == plain.entries)
      guard plain.revision == revision else { continue }
      model = attempt.settled(after: model, at: revision)
      if random.chance(1, in: 10) { try layered.rebaseNewestState() }
      if random.chance(1, in: 5) { try compare(layered.state, plain.state) }
    }
    try compare(layered.state, plain.state)
    for revision in stride(from: 0, through: plain.revision, by: 31) {
      try compare(layered.states[revision], plain.states[revision])
    }
  }

  @Test func aReplayContinuesFromTheParts() throws {
    var random = SeededGenerator()
    var history = CatalogHistory()
    var model = NaiveCatalog()
    while history.revision < 60 {
      let revision = history.revision + 1
      var attempt = model
      try history.commit { try attempt.changeAtRandom(&$0, using: &random) }
      if history.revision == revision { model = attempt.settled(after: model, at: revision) }
    }
    for start in stride(from: 0, through: 60, by: 12) {
      let parts = try #require(history.states[start].parts)
      var state = try #require(Catalog(parts: try parts.frozen()))
      for revision in start..<60 {
        for event in history.entries[revision] { try state.apply(event, at: revision + 1) }
      }
      try compare(state, history.state)
    }
  }

  @Test func kindsKeepTheirBytes() throws {
    var history = CatalogHistory()
    let kinds = ["cafe\u{301}", "book", "caf\u{E9}"]
    try history.commit { draft in for kind in kinds { try draft.addItem(kind: kind) } }
    try history.commit { try $0.deleteItem(2) }
    #expect(history.state.parts?.list("kinds")?.texts.map { Array($0.utf8) } == kinds.map { Array($0.utf8) })
    try history.rebaseNewestState()
    #expect(history.state.items(ofKind: kinds[0]).map(\.id) == [1])
    #expect(history.state.items(ofKind: kinds[2]).map(\.id) == [3])
    #expect(history.state.kinds.map { Array($0.utf8) } == [kinds[0], kinds[2]].map { Array($0.utf8) })
    // A kind that no item had when the parts were taken has kept its number.
    try history.commit { try $0.addItem(kind: "book") }
    try history.commit { try $0.addItem(kind: "film") }
    #expect(history.state.kinds == ["book", "cafe\u{301}", "caf\u{E9}", "film"])
    #expect(history.state.items(ofKind: "book").map(\.id) == [4])
  }

  @Test func partsOfAnotherShapeMakeNoCatalog() throws {
    let parts = try #require(Catalog().parts)
    #expect(Catalog(parts: parts) != nil)
    var other = parts
    other.tables.removeLast()
    #expect(Catalog(parts: other) == nil)
    other = parts
    other.tables.append(EntityTable())
    #expect(Catalog(parts: other) == nil)
    for index in parts.indexes.indices {
      other = parts
      other.indexes[index].name = "another"
      #expect(Catalog(parts: other) == nil)
    }
    other = parts
    other.lists = []
    #expect(Catalog(parts: other) == nil)
  }

  @Test func allFieldsOfTheSchemaHaveNames() {
    #expect(Catalog.fieldNames(of: .category) == ["name", "color"])
    #expect(Catalog.fieldNames(of: .item) == ["kind", "category"])
    #expect(Catalog.fieldNames(of: .image) == ["item", "name", "mediaType", "sha256", "byteCount"])
    #expect(Catalog.fieldNames(of: .tag) == ["name", "revision"])
    #expect(Catalog.fieldNames(of: .rule) == ["form", "kind"])
    #expect(Catalog.fieldNames(of: EntityKind(rawValue: 5)) == [])
  }

  /// Compares the answers of two catalogs to everything that a catalog can be asked.
  private func compare(_ catalog: Catalog, _ other: Catalog) throws {
    try #require(catalog.json == other.json)
    #expect(catalog.problems() == [])
    #expect(catalog.itemCount == other.itemCount)
    #expect(catalog.categoryCount == other.categoryCount)
    #expect(catalog.imageCount == other.imageCount)
    #expect(Array(catalog.items) == Array(other.items))
    #expect(Array(catalog.categories) == Array(other.categories))
    #expect(Array(catalog.images) == Array(other.images))
    #expect(catalog.kinds == other.kinds)
    for kind in NaiveCatalog.kinds + ["none"] {
      #expect(Array(catalog.items(ofKind: kind)) == Array(other.items(ofKind: kind)))
    }
    let tables = try #require(other.parts).tables
    let numbers = Array(-1...(tables.map(\.highest).max() ?? 0) + 1)
    #expect(numbers.map { catalog.item(EntityID($0)) } == numbers.map { other.item(EntityID($0)) })
    #expect(numbers.map { catalog.category(EntityID($0)) } == numbers.map { other.category(EntityID($0)) })
    #expect(numbers.map { catalog.image(EntityID($0)) } == numbers.map { other.image(EntityID($0)) })
    #expect(
      numbers.map { Array(catalog.items(in: EntityID($0))) }
        == numbers.map { Array(other.items(in: EntityID($0))) })
    #expect(
      numbers.map { Array(catalog.images(of: EntityID($0))) }
        == numbers.map { Array(other.images(of: EntityID($0))) })
    let entities = numbers.flatMap { [EntityKey.item($0), .category($0), .image($0)] }
    #expect(entities.map { catalog.record(of: $0) } == entities.map { other.record(of: $0) })
    #expect(entities.map { catalog.revision(of: $0) } == entities.map { other.revision(of: $0) })
    #expect(StateDigest.digest(of: catalog) == StateDigest.digest(of: other))
  }
}
