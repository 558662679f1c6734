import CBOR
import CatalogModel
import Foundation
import Journaling
import Testing

/// Values of your own types in the attributes of items.
struct TypedTests {
  private struct Book: Codable, Equatable {
    enum Binding: String, Codable { case hard, soft }
    struct Author: Codable, Equatable { var name: String, born: Int? }
    var title: String
    var binding: Binding
    var authors: [Author]
    var price: Double
    var bought: Date?
    var cover: Data
    var editions: [String: UInt64]
  }

  private let dune = Book(
    title: "Dune", binding: .hard, authors: [.init(name: "Frank Herbert", born: 1920)], price: 9.95,
    bought: Date(timeIntervalSinceReferenceDate: 1_234.567_89), cover: Data([1, 2, 3]),
    editions: ["Ace": 3, "Chilton": .max])

  @Test func aValueComesBackAsItWas() throws {
    var history = CatalogHistory()
    let id = try history.commit { try $0.addItem(kind: "book", encoding: dune) }
    let item = try #require(history.state.item(id))
    #expect(try item.decode(Book.self) == dune)
    #expect(item["title"] == .string("Dune"))
    #expect(item["price"] == .double(9.95))
  }

  @Test func aPropertyThatBecomesNilIsRemoved() throws {
    var history = CatalogHistory()
    let id = try history.commit { try $0.addItem(kind: "book", encoding: dune) }
    var changed = dune
    changed.bought = nil
    changed.authors[0].born = nil
    try history.commit { try $0.replaceAttributes(ofItem: id, encoding: changed) }
    #expect(try history.state.item(id)?.decode() == changed)
    #expect(
      history.newestEvents == [
        #"{"operation":"update","entity":"item:1","previous":1,"changes":"#
          + #"{"attributes":{"authors":[{"name":"Frank Herbert"}]},"removed":["bought"]}}"#
      ])
  }

  /// The type as an older version of an app has it.
  private struct Shelved: Codable {
    var title: String
    var price: Double
    var place: String?
  }

  @Test func editingAsATypeKeepsWhatTheTypeDoesNotKnow() throws {
    var history = CatalogHistory()
    let id = try history.commit { draft in
      try draft.addItem(
        kind: "book",
        attributes: [
          // The price is a whole number, and the type would write it as another sort of number.
          "title": .string("Dun"), "price": .integer(10), "place": .string("hall"), "stars": .integer(5),
        ])
    }
    try history.commit { draft in
      try draft.updateItem(id, as: Shelved.self) {
        $0.title = "Dune"
        $0.place = nil
      }
    }
    #expect(
      history.newestEvents == [
        #"{"operation":"update","entity":"item:1","previous":1,"changes":"#
          + #"{"attributes":{"title":"Dune"},"removed":["place"]}}"#
      ])
    let attributes: [String: FieldValue] = [
      "title": .string("Dune"), "price": .integer(10), "stars": .integer(5),
    ]
    #expect(history.state.item(id)?.attributes == attributes)
  }

  @Test func editingAsATypeThatChangesNothingMakesNoEntry() throws {
    var history = CatalogHistory()
    let id = try history.commit { try $0.addItem(kind: "book", encoding: dune) }
    try history.commit { draft in try draft.updateItem(id, as: Book.self) { $0 = dune } }
    #expect(history.revision == 1)
  }

  @Test func editingAsATypeThatDoesNotFitIsAnErrorAndChangesNothing() throws {
    var history = CatalogHistory()
    let id = try history.commit { try $0.addItem(kind: "book", attributes: ["title": .string("Dune")]) }
    #expect(throws: DecodingError.self) {
      try history.commit { draft in try draft.updateItem(id, as: Shelved.self) { $0.title = "" } }
    }
    #expect(history.revision == 1)
    expectRejection("item:9") {
      try history.commit { draft in try draft.updateItem(9, as: Shelved.self) { $0.title = "" } }
    }
  }

  @Test func aMissingAttributeIsNamed() throws {
    var history = CatalogHistory()
    try history.commit { try $0.addItem(kind: "book", attributes: ["title": .string("Dune")]) }
    let item = try #require(history.state.item(1))
    let error = #expect(throws: DecodingError.self) { try item.decode(Book.self) }
    guard case .keyNotFound(let key, _)? = error else {
      Issue.record("another error: \(String(describing: error))")
      return
    }
    #expect(key.stringValue == "binding")
  }

  private struct Two: CatalogItem {
    static let kind = "two"
    var title: Int
  }

  /// An error of a list did not say which of its items it was about.
  @Test func aDecodingErrorNamesTheItem() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      try draft.addItem(kind: "two", attributes: ["title": .integer(1)])
      try draft.addItem(kind: "two", attributes: ["title": .string("Dune")])
      try draft.addItem(kind: "two", attributes: ["title": .null])
      try draft.addItem(kind: "two")
    }
    let state = history.state
    func expectName(_ name: String, _ body: () throws -> Void) {
      let error = #expect(throws: DecodingError.self) { try body() }
      #expect("\(String(describing: error))".contains("\(name): "), "\(String(describing: error))")
    }
    expectName("item:2") { _ = try state.items(Two.self).values }
    for number in 2...4 {
      expectName("item:\(number)") { _ = try state.value(of: ItemID<Two>(number)) }
      expectName("item:\(number)") { _ = try state.item(Catalog.Item.ID(number))?.decode(Two.self) }
    }
    expectName("item:2") { try history.commit { try $0.update(ItemID<Two>(2)) { $0.title = 1 } } }
    expectName("item:2") { try history.commit { try $0.replace(ItemID<Two>(2), with: Two(title: 1)) } }
    let error = #expect(throws: DecodingError.self) { try state.items(Two.self).values }
    guard case .typeMismatch(_, let context)? = error else {
      Issue.record("another error: \(String(describing: error))")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["title"])
  }

  @Test func itemsAndKeysAreDescribedForAPerson() throws {
    var history = CatalogHistory()
    try history.commit { try $0.addItem(kind: "book", attributes: ["title": .string("Dune")]) }
    #expect(history.state.item(1)?.description == #"item:1 (book) {"title": "Dune"}"#)
    #expect("\(EntityKey.item(2))" == "kind1:2")
  }
}
