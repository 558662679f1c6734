import CBOR
import CatalogModel
import Journaling
import Testing

/// What a draft refuses. A refused change leaves nothing behind, even if the body continues.
struct RulesTests {
  /// A catalog with one entity of each kind (number 1), and one of each kind that was deleted (number 2).
  private func sample() throws -> CatalogHistory {
    var history = CatalogHistory()
    try history.commit { draft in
      for number in 1...2 {
        try draft.addCategory(name: "Category \(number)")
        try draft.addItem(kind: "book", category: EntityID(number))
        try draft.addImage(
          to: EntityID(number), name: "\(number).png", mediaType: "image/png", blob: someBlob)
      }
    }
    try history.commit { draft in
      try draft.deleteItem(2)
      try draft.deleteCategory(2)
    }
    return history
  }

  /// Checks that `body` is rejected with a message that has `words` in it, and that a commit that catches the error
  /// is empty.
  private func reject(
    _ words: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (inout Draft<Catalog>) throws -> Void
  ) throws {
    var history = try sample()
    let before = history.state.json
    try history.commit { draft in
      expectRejection(words, sourceLocation: sourceLocation) { try body(&draft) }
      #expect(draft.state.json == before, sourceLocation: sourceLocation)
    }
    #expect(history.revision == 2, sourceLocation: sourceLocation)
  }

  @Test(arguments: ["", " ", "\n\t "])
  func namesMustNotBeEmpty(_ name: String) throws {
    try reject("the kind of item:3 is empty") { try $0.addItem(kind: name) }
    try reject("the kind of item:1 is empty") { try $0.setKind(ofItem: 1, to: name) }
    try reject("the name of category:3 is empty") { try $0.addCategory(name: name) }
    try reject("the name of category:1 is empty") { try $0.setName(ofCategory: 1, to: name) }
    try reject("the name of category:1 is empty") { try $0.updateCategory(1, name: name, color: nil) }
    try reject("the name of image:3 is empty") {
      try $0.addImage(to: 1, name: name, mediaType: "image/png", blob: someBlob)
    }
    try reject("the media type of image:3 is empty") {
      try $0.addImage(to: 1, name: "a.png", mediaType: name, blob: someBlob)
    }
    try reject("the name of image:1 is empty") { try $0.updateImage(1, name: name) }
    try reject("the media type of image:1 is empty") { try $0.updateImage(1, mediaType: name) }
  }

  @Test func namesMayHave4096Bytes() throws {
    var history = try sample()
    let longest = String(repeating: "é", count: 2_048)
    try history.commit { try $0.addItem(kind: longest) }
    #expect(history.state.item(3)?.kind == longest)
    try reject("the kind of item:3 has 4098 bytes, and may have 4096") { try $0.addItem(kind: longest + "é") }
    try reject("the name of category:3 has 4097 bytes") { try $0.addCategory(name: longest + "a") }
    try reject("the name of image:1 has 4097 bytes") { try $0.updateImage(1, name: longest + "a") }
  }

  @Test func aNewEntityMayOnlyReferToEntitiesThatExist() throws {
    try reject("item:3 can't be in category:9: it never existed") {
      try $0.addItem(kind: "book", category: 9)
    }
    try reject("item:3 can't be in category:2: it was deleted by revision 2") {
      try $0.addItem(kind: "book", category: 2)
    }
    try reject("item:1 can't be in category:0") { try $0.setCategory(ofItem: 1, to: 0) }
    try reject("item:1 can't be in category:-1") { try $0.setCategory(ofItem: 1, to: -1) }
    try reject("image:3 can't belong to item:2: it was deleted by revision 2") {
      try $0.addImage(to: 2, name: "a", mediaType: "b/c", blob: someBlob)
    }
  }

  @Test(arguments: [(2, "it was deleted by revision 2"), (3, "it never existed"), (0, "it never existed")])
  func deletedOrUnknownEntitiesCanNotBeChanged(_ id: Int, _ reason: String) throws {
    let item = "item:\(id) can't be changed or deleted: \(reason)"
    try reject(item) { try $0.updateItem(EntityID(id), set: ["a": .null]) }
    try reject(item) { try $0.updateItem(EntityID(id)) }
    try reject(item) { try $0.replaceAttributes(ofItem: EntityID(id), with: [:]) }
    try reject(item) { try $0.replaceAttributes(ofItem: EntityID(id), encoding: ["a": 1]) }
    try reject(item) { try $0.setKind(ofItem: EntityID(id), to: "film") }
    try reject(item) { try $0.setCategory(ofItem: EntityID(id), to: nil) }
    try reject(item) { try $0.deleteItem(EntityID(id)) }
    let category = "category:\(id) can't be changed or deleted: \(reason)"
    try reject(category) { try $0.updateCategory(EntityID(id), name: "a", color: nil) }
    try reject(category) { try $0.setName(ofCategory: EntityID(id), to: "a") }
    try reject(category) { try $0.setColor(ofCategory: EntityID(id), to: nil) }
    try reject(category) { try $0.deleteCategory(EntityID(id)) }
    let image = "image:\(id) can't be changed or deleted: \(reason)"
    try reject(image) { try $0.updateImage(EntityID(id), name: "a") }
    try reject(image) { try $0.deleteImage(EntityID(id)) }
  }

  /// The draft's own methods used to accept an item in a category that did not exist, and `verify` then called the
  /// journal unsound.
  @Test func noChangeOfADraftLeavesADanglingReference() throws {
    var history = try sample()
    let item = try #require(history.state.record(of: .item(1)))
    let image = try #require(history.state.record(of: .image(1)))
    let lost = EntityRecord(fields: [0: .string("x"), 1: .integer(999)])
    func refuse(_ words: String, _ body: (inout Draft<Catalog>) throws -> Void) {
      expectRejection(words) { try history.commit(body) }
    }
    refuse("item:9 is in category:999, which does not exist") { try $0.add(.item(9), lost) }
    refuse("item:1 is in category:999") { try $0.update(.item(1), to: lost) }
    refuse("image:1 belongs to item:1") { try $0.delete(.item(1)) }
    refuse("item:1 is in category:1") { try $0.delete(.category(1)) }
    // A deleted entity comes back only together with those that it refers to, in any order.
    let old = EntityRecord(fields: [0: .string("book"), 1: .integer(2)])
    refuse("item:2 is in category:2") { try $0.add(.item(2), old) }
    try history.commit { draft in
      try draft.add(.item(2), old)
      try draft.add(.category(2), EntityRecord(fields: [0: .string("Back")]))
    }
    try history.commit { draft in
      try draft.delete(.item(1))
      try draft.delete(.image(1))
    }
    refuse("image:1 belongs to item:1") { try $0.add(.image(1), image) }
    try history.commit { draft in
      try draft.add(.image(1), image)
      try draft.add(.item(1), item)
    }
    // Fields of other types than the catalog's are refused too.
    refuse("lacks a field or has one of another type") {
      try $0.add(.item(20), EntityRecord(fields: [0: .integer(1)]))
    }
    refuse("lacks a field or has one of another type") { try $0.update(.image(1), to: EntityRecord()) }
  }

  @Test func anAttributeMayBeNested127Deep() throws {
    func nested(_ depth: Int, dictionaries: Bool) -> FieldValue {
      (0..<depth).reduce(.null) { value, _ in dictionaries ? .dictionary(["a": value]) : .array([value]) }
    }
    var history = try sample()
    for dictionaries in [false, true] {
      let deepest = nested(127, dictionaries: dictionaries)
      let id = try history.commit { try $0.addItem(kind: "book", attributes: ["deep": deepest]) }
      let record = try #require(history.state.item(id)?.record)
      // Records that are read from the log have to pass this check.
      let read = try EntityRecord(checking: record.bytes)
      #expect(read["deep"] == deepest)
      for depth in [128, 2_000] {
        let words = "\"deep\" of item:1 is nested more than 127 deep"
        let tooDeep = ["deep": nested(depth, dictionaries: dictionaries)]
        try reject(words) { try $0.updateItem(1, set: tooDeep) }
        try reject(words) { try $0.replaceAttributes(ofItem: 1, with: tooDeep) }
        try reject("\"deep\" of item:3") { try $0.addItem(kind: "book", attributes: tooDeep) }
      }
    }
  }

  @Test func anItemMayHave16Mebibytes() throws {
    var history = try sample()
    let half = FieldValue.string(String(repeating: "x", count: 8 << 20))
    let tooLarge = FieldValue.string(String(repeating: "x", count: 16 << 20))
    try history.commit { try $0.updateItem(1, set: ["a": half]) }
    try history.commit { draft in
      // Each change would fit, but the item as a whole would not.
      expectRejection("item:1 would take 16777") { try draft.updateItem(1, set: ["b": half]) }
      expectRejection("item:3 would take 16777") {
        try draft.addItem(kind: "book", attributes: ["a": tooLarge])
      }
    }
    #expect(history.revision == 3)
  }

  @Test func colorsThatAreNotFiniteAreRejected() throws {
    let color = Catalog.Color(red: 0, green: .nan, blue: 0)
    try reject("the color of category:3") { try $0.addCategory(name: "a", color: color) }
    try reject("the color of category:1") { try $0.setColor(ofCategory: 1, to: color) }
    try reject("the color of category:1") { try $0.updateCategory(1, name: "a", color: color) }
  }

  @Test func aBlobOfNegativeSizeIsRejected() throws {
    let blob = Blob(digest: .zero, byteCount: -1)
    try reject("the blob of image:3") {
      try $0.addImage(to: 1, name: "a", mediaType: "b/c", blob: blob)
    }
    try reject("the blob of image:1") { try $0.updateImage(1, blob: blob) }
  }

  @Test func aValueThatEncodesToNoNamedAttributesIsRejected() throws {
    struct Broken: Encodable {
      struct Failure: Error {}
      func encode(to encoder: any Encoder) throws { throw Failure() }
    }
    try reject("must have names, but Array<Int> has none") {
      try $0.addItem(kind: "book", encoding: [1, 2, 3])
    }
    try reject("the attributes of item:3 can't be encoded") {
      try $0.addItem(kind: "book", encoding: Broken())
    }
    try reject("the attributes of item:1 can't be encoded") {
      try $0.replaceAttributes(ofItem: 1, encoding: Broken())
    }
  }
}
