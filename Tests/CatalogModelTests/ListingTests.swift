import CBOR
import CatalogModel
import Journaling
import Testing

struct ListingTests {
  @Test func listingsFollowEachChange() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      for name in ["A", "B"] { try draft.addCategory(name: name) }
      for number in 1...200 {
        try draft.addItem(kind: number % 3 == 0 ? "film" : "book", category: number % 2 == 0 ? 1 : nil)
      }
      for item in [7, 3, 7, 5] {
        try draft.addImage(to: EntityID(item), name: "a", mediaType: "b/c", blob: someBlob)
      }
    }
    let before = history.state
    #expect(before.items.map(\.id.number) == Array(1...200))
    #expect(before.items(in: 1).map(\.id.number) == Array(stride(from: 2, through: 200, by: 2)))
    #expect(before.items(in: 2).map(\.id) == [])
    #expect(before.items(ofKind: "film").map(\.id.number) == Array(stride(from: 3, through: 200, by: 3)))
    #expect(before.images(of: 7).map(\.id) == [1, 3])
    #expect(before.kinds == ["book", "film"])

    try history.commit { draft in
      try draft.setCategory(ofItem: 2, to: 2)
      try draft.setCategory(ofItem: 4, to: nil)
      try draft.setKind(ofItem: 3, to: "game")
      try draft.deleteItem(6)
      try draft.deleteImage(3)
    }
    let after = history.state
    #expect(after.items(in: 1).prefix(3).map(\.id) == [8, 10, 12])
    #expect(after.items(in: 2).map(\.id) == [2])
    #expect(after.items(ofKind: "film").prefix(2).map(\.id) == [9, 12])
    #expect(after.items(ofKind: "game").map(\.id) == [3])
    #expect(after.images(of: 7).map(\.id) == [1])
    #expect(after.kinds == ["book", "film", "game"])
    #expect(after.itemCount == 199)
    #expect(after.imageCount == 3)
    #expect(after.categoryCount == 2)

    // A state that is held does not change.
    #expect(before.items(in: 1).prefix(3).map(\.id) == [2, 4, 6])
    #expect(before.kinds == ["book", "film"])
  }

  @Test func listingsKnowTheirFirstElementAndTheirCount() throws {
    var history = CatalogHistory()
    let empty = history.state
    #expect(empty.items.isEmpty && empty.categories.isEmpty && empty.images.isEmpty)
    #expect(empty.items.first == nil && empty.categories.count == 0 && empty.images.count == 0)
    try history.commit { draft in
      for name in ["A", "B"] { try draft.addCategory(name: name) }
      for number in 1...20 { try draft.addItem(kind: "book", category: number % 4 == 0 ? 2 : nil) }
      for item in [7, 3, 7] {
        try draft.addImage(to: EntityID(item), name: "a", mediaType: "b/c", blob: someBlob)
      }
    }
    try history.commit { try $0.deleteItem(1) }
    func check(_ state: Catalog) {
      #expect(state.items.count == 19 && state.items.first?.id == 2 && !state.items.isEmpty)
      #expect(state.categories.count == 2 && state.categories.first?.name == "A")
      #expect(state.images.count == 3 && state.images.first?.item == 7)
      #expect(state.items(in: 2).count == 5 && state.items(in: 2).first?.id == 4)
      #expect(state.items(in: 1).isEmpty && state.items(in: 1).count == 0 && state.items(in: 1).first == nil)
      #expect(state.items(ofKind: "book").count == 19 && state.items(ofKind: "film").isEmpty)
      #expect(state.images(of: 7).count == 2 && state.images(of: 7).first?.id == 1)
    }
    check(history.state)
    try history.rebaseNewestState()
    check(history.state)
  }

  @Test func unknownCategoriesListNothing() throws {
    var history = CatalogHistory()
    try history.commit { try $0.addItem(kind: "book") }
    let catalog = history.state
    for number in [-1, 0, 1, 2, Int.max, Int.min] {
      #expect(Array(catalog.items(in: EntityID(number))) == [])
      #expect(Array(catalog.images(of: EntityID(number))) == [])
      #expect(catalog.image(EntityID(number)) == nil)
      #expect(catalog.category(EntityID(number)) == nil)
    }
    #expect(Array(catalog.items(ofKind: "film")) == [])
    #expect(Array(catalog.items(ofKind: "")) == [])
    #expect(Array(Catalog().items(ofKind: "book")) == [])
  }

  @Test func kindsAreComparedByteByByte() throws {
    var history = CatalogHistory()
    let spellings = ["caf\u{E9}", "cafe\u{301}", "Caf\u{E9}"]
    try history.commit { draft in
      for kind in spellings { try draft.addItem(kind: kind) }
    }
    for (index, kind) in spellings.enumerated() {
      #expect(history.state.items(ofKind: kind).map(\.id.number) == [index + 1])
    }
    #expect(history.state.kinds.count == 3)
  }

  @Test func aKindWithoutItemsIsNotListed() throws {
    var history = CatalogHistory()
    try history.commit { try $0.addItem(kind: "book") }
    try history.commit { try $0.setKind(ofItem: 1, to: "film") }
    #expect(history.state.kinds == ["film"])
  }
}
