import CBOR
import CatalogModel
import Foundation
import Journaling
import Testing

/// An event has what changed, and nothing else.
struct UpdateTests {
  private let composed = "caf\u{E9}"
  private let decomposed = "cafe\u{301}"

  /// One book in a category.
  private func sample() throws -> CatalogHistory {
    var history = CatalogHistory()
    try history.commit { draft in
      try draft.addCategory(name: "Novels", color: Catalog.Color(hex: "#FF8000FF"))
      try draft.addItem(
        kind: "book", category: 1, attributes: ["title": .string("Dune"), "stars": .integer(4)])
      try draft.addImage(to: 1, name: "dune.png", mediaType: "image/png", blob: someBlob)
    }
    return history
  }

  @Test func anUpdateHoldsOnlyWhatDiffers() throws {
    var history = try sample()
    try history.commit { draft in
      try draft.updateItem(
        1, set: ["title": .string("Dune"), "stars": .integer(5), "year": .integer(1965)], remove: ["none"])
    }
    #expect(
      history.newestEvents == [
        #"{"operation":"update","entity":"item:1","previous":1,"changes":"#
          + #"{"attributes":{"stars":5,"year":1965}}}"#
      ])
    #expect(
      history.state.item(1)?.attributes == [
        "title": .string("Dune"), "stars": .integer(5), "year": .integer(1965),
      ])
    #expect(history.state.item(1)?.created == 1)
    #expect(history.state.item(1)?.modified == 2)
  }

  @Test func anUpdateToTheSameMakesNoEntry() throws {
    var history = try sample()
    try history.commit { draft in
      try draft.updateItem(1, set: ["title": .string("Dune")], remove: ["none"])
      try draft.replaceAttributes(ofItem: 1, with: ["title": .string("Dune"), "stars": .integer(4)])
      try draft.setKind(ofItem: 1, to: "book")
      try draft.setCategory(ofItem: 1, to: 1)
      try draft.updateCategory(1, name: "Novels", color: Catalog.Color(hex: "#FF8000FF"))
      try draft.updateImage(1, name: "dune.png", mediaType: "image/png", blob: someBlob)
      try draft.updateImage(1)
    }
    #expect(history.revision == 1)
  }

  @Test func replacingAttributesRemovesTheOthers() throws {
    var history = try sample()
    try history.commit { try $0.replaceAttributes(ofItem: 1, with: ["title": .string("Dune"), "x": .null]) }
    #expect(
      history.newestEvents == [
        #"{"operation":"update","entity":"item:1","previous":1,"changes":"#
          + #"{"attributes":{"x":null},"removed":["stars"]}}"#
      ])
    #expect(history.state.item(1)?.kind == "book")
    #expect(history.state.item(1)?.category == 1)
  }

  @Test func anAttributeThatIsBothSetAndRemovedIsSet() throws {
    var history = try sample()
    try history.commit { try $0.updateItem(1, set: ["stars": .integer(1)], remove: ["stars", "title"]) }
    #expect(history.state.item(1)?.attributes == ["stars": .integer(1)])
  }

  @Test func integersDoublesAndBooleansAreDifferentValues() throws {
    var history = try sample()
    for value in [
      FieldValue.double(4), .bool(true), .integer(1), .double(-0.0), .double(0), .integer(0), .null,
    ] {
      let revision = history.revision
      try history.commit { try $0.updateItem(1, set: ["stars": value]) }
      #expect(history.revision == revision + 1)
      #expect(history.state.item(1)?["stars"] == value)
    }
  }

  @Test func twoSpellingsOfATextAreDifferentValues() throws {
    var history = try sample()
    try history.commit { try $0.updateItem(1, set: ["title": .string(composed)]) }
    try history.commit { try $0.updateItem(1, set: ["title": .string(decomposed)]) }
    #expect(history.revision == 3)
    let title = try #require(history.state.item(1)?["title"])
    guard case .string(let text) = title else { throw Mismatch() }
    #expect(Array(text.utf8) == Array(decomposed.utf8))
    try history.commit { try $0.replaceAttributes(ofItem: 1, with: ["title": .string(composed)]) }
    try history.commit { try $0.setName(ofCategory: 1, to: composed) }
    try history.commit { try $0.setName(ofCategory: 1, to: decomposed) }
    #expect(history.revision == 6)
    #expect(history.state.category(1).map { Array($0.name.utf8) } == Array(decomposed.utf8))
  }

  @Test func anAttributeNameReplacesItsOtherSpelling() throws {
    var history = try sample()
    try history.commit { try $0.replaceAttributes(ofItem: 1, with: [composed: .integer(1)]) }
    try history.commit { try $0.updateItem(1, set: [decomposed: .integer(1)]) }
    let names = try #require(history.state.item(1)).attributes.keys.map { Array($0.utf8) }
    #expect(names == [Array(decomposed.utf8)])
    try history.commit { try $0.updateItem(1, remove: [composed]) }
    #expect(history.state.item(1)?.attributes == [:])
  }

  @Test func anAttributeNameMayBeEmpty() throws {
    var history = try sample()
    try history.commit { try $0.updateItem(1, set: ["": .integer(1)]) }
    #expect(history.state.item(1)?[""] == .integer(1))
  }

  @Test func deletingACategoryUpdatesItsItems() throws {
    var history = try sample()
    try history.commit { try $0.addItem(kind: "film", category: 1) }
    try history.commit { try $0.deleteCategory(1) }
    #expect(
      history.newestEvents == [
        #"{"operation":"update","entity":"item:1","previous":1,"changes":{"category":null}}"#,
        #"{"operation":"update","entity":"item:2","previous":2,"changes":{"category":null}}"#,
        #"{"operation":"delete","entity":"category:1","previous":1,"changes":{}}"#,
      ])
    #expect(history.state.category(1) == nil)
    #expect(history.state.item(1)?.category == nil)
    #expect(Array(history.state.items(in: 1)) == [])
    #expect(history.state.revision(of: .category(1)) == 3)
  }

  @Test func deletingAnItemDeletesItsImages() throws {
    var history = try sample()
    try history.commit { draft in
      try draft.addItem(kind: "book")
      try draft.addImage(to: 2, name: "other.png", mediaType: "image/png", blob: someBlob)
      try draft.addImage(to: 1, name: "back.png", mediaType: "image/png", blob: someBlob)
    }
    try history.commit { try $0.deleteItem(1) }
    #expect(
      history.newestEvents == [
        #"{"operation":"delete","entity":"image:1","previous":1,"changes":{}}"#,
        #"{"operation":"delete","entity":"image:3","previous":2,"changes":{}}"#,
        #"{"operation":"delete","entity":"item:1","previous":1,"changes":{}}"#,
      ])
    #expect(history.state.images.map(\.id) == [2])
  }

  @Test func numbersAreNeverUsedAgain() throws {
    var history = try sample()
    try history.commit { try $0.deleteItem(1) }
    try history.commit { draft in
      #expect(try draft.addItem(kind: "book") == 2)
      try draft.deleteItem(2)
      #expect(try draft.addItem(kind: "book") == 3)
      #expect(try draft.addImage(to: 3, name: "a", mediaType: "b/c", blob: someBlob) == 2)
    }
    #expect(history.state.items.map(\.id) == [3])
  }

  @Test func aCommitBodySeesItsOwnChanges() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      let category = try draft.addCategory(name: "Novels")
      let item = try draft.addItem(kind: "book", category: category)
      try draft.updateItem(item, set: ["stars": .integer(3)])
      #expect(draft.state.items(in: category).map(\.id) == [item])
      #expect(draft.state.item(item)?["stars"] == .integer(3))
      try draft.deleteCategory(category)
      #expect(draft.state.item(item)?.category == nil)
    }
    // There is one event of the item, and none of the category, which was added and deleted again.
    #expect(
      history.newestEvents == [
        #"{"operation":"add","entity":"item:1","previous":0,"changes":"#
          + #"{"kind":"book","attributes":{"stars":3}}}"#
      ])
  }

  @Test func eachPartOfAnImageCanBeChangedByItself() throws {
    var history = try sample()
    let blob = Blob(digest: .zero, byteCount: 7)
    try history.commit { try $0.updateImage(1, name: "cover.png") }
    try history.commit { try $0.updateImage(1, mediaType: "image/apng") }
    try history.commit { try $0.updateImage(1, blob: blob) }
    let image = try #require(history.state.image(1))
    #expect(image.name == "cover.png")
    #expect(image.mediaType == "image/apng")
    #expect(image.blob == blob)
    #expect(image.item == 1)
    #expect(image.created == 1)
    #expect(image.modified == 4)
    let record = try #require(history.state.record(of: .image(1)))
    #expect(Catalog.blobs(in: record, of: .image) == [blob])
    #expect(Catalog.blobs(in: record, of: .item) == [])
  }

  @Test func theColorOfACategoryCanBeRemovedAndSetAgain() throws {
    var history = try sample()
    try history.commit { try $0.setColor(ofCategory: 1, to: nil) }
    #expect(history.state.category(1)?.color == nil)
    #expect(
      history.newestEvents == [
        #"{"operation":"update","entity":"category:1","previous":1,"changes":{"color":null}}"#
      ])
    try history.commit {
      try $0.updateCategory(1, name: "Books", color: Catalog.Color(red: 0.1, green: 0, blue: 2))
    }
    #expect(history.state.category(1)?.color == Catalog.Color(red: 0.1, green: 0, blue: 2, alpha: 1))
    #expect(history.state.category(1)?.name == "Books")
  }

  private struct Mismatch: Error {}
}
