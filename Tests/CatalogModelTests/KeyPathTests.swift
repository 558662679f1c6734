import CatalogModel
import Foundation
import Testing

/// Key paths of every kind: each finds the right items, or throws an error that says what to write. An empty store and a
/// full one agree on which.
@Suite struct KeyPathTests {
  private struct Row: Sendable {
    let name: String
    let find: @Sendable (Catalog) throws -> [Int]
    /// The items that it finds, or nil if it throws.
    let found: [Int]?

    init<Model: CatalogItem>(
      _ name: String, _ query: @escaping @Sendable (ItemQuery<Model>) throws -> ItemQuery<Model>,
      finds found: [Int]?
    ) {
      self.name = name
      find = { try query($0.items(Model.self)).ids.map(\.number) }
      self.found = found
    }
  }

  private static func deals(
    _ name: String, finds found: [Int]?, _ filter: @escaping @Sendable () -> ItemFilter<Deal>
  ) -> Row { Row(name, { try $0.filter(filter()) }, finds: found) }

  private static let rows: [Row] = [
    deals("renamed", finds: [1]) { \.title == "Soup" },
    deals("renamed inside", finds: [1]) { \.place?.floor == 3 },
    deals("nested", finds: [2]) { \.address.city == "Ulm" },
    deals("nested in an optional", finds: [1]) { \.place?.room == 7 },
    deals("missing", finds: [2]) { \.place?.room == nil },
    deals("optional", finds: [1]) { \.stars >= 4 },
    deals("structure", finds: [2]) { .isMissing(\.place) },
    deals("enumeration", finds: [1]) { \.stage == .won },
    deals("raw value", finds: [1]) { \.stage.rawValue == "won" },
    deals("raw value of an optional", finds: [2]) { \.former?.rawValue == "lead" },
    deals("enumeration of integers", finds: [2]) { \.priority > .low },
    deals("one of two truth values", finds: [1]) { \.isHot == true },
    deals("another one", finds: [2]) { \.isPaid == true },
    deals("array", finds: [1]) { .contains(\.tags, "new") },
    deals("set", finds: [2]) { .contains(\.sizes, 5) },
    deals("text in an array", finds: [1]) { .contains(\.tags, ignoringCase: "NEW") },
    deals("date", finds: [2]) { \.due > Date(timeIntervalSinceReferenceDate: 5) },
    deals("UUID", finds: [2]) { \.number == Deal.pie.number },
    deals("URL", finds: [1]) { \.site == URL(string: "https://example.com") },
    deals("decimal", finds: [1]) { \.price >= 9.95 },
    deals("identifier of an item", finds: [2]) { \.owner == 9 },
    deals("type that validates", finds: [1]) { \.email == Email("ana@example.com") },
    deals("wrapper that encodes a dictionary", finds: [1]) { \.amount == 4 },
    deals("wrapper that encodes its value", finds: [2]) { \.label == "b" },
    deals("observed", finds: [1]) { \.note == "x" },
    deals("another name for a stored property", finds: [1]) { \.heading == "Soup" },
    deals("negation", finds: [2]) { !(\.title == "Soup") },
    deals("count", finds: nil) { \.tags.count == 1 },
    deals("length", finds: nil) { \.title.count == 4 },
    deals("element", finds: nil) { \.tags[0] == "new" },
    deals("first element", finds: nil) { \.tags.first == "new" },
    deals("emptiness", finds: nil) { \.tags.isEmpty == false },
    deals("computed text", finds: nil) { \.shout == "SOUP" },
    deals("computed text that is usually stored", finds: nil) { \.displayTitle == "Soup" },
    deals("computed truth value", finds: nil) { \.isLong == true },
    deals("default for nil", finds: nil) { \.starsOrZero == 4 },
    deals("unwrapped", finds: nil) { \.stars! == 4 },
    deals("not encoded", finds: nil) { \.isPlaying == false },
    deals("in a conjunction", finds: nil) { \.title == "Soup" && \.isLong == true },
    deals("in an alternative", finds: nil) { \.isLong == true || \.title == "Soup" },
    deals("in a negation", finds: nil) { !(\.shout == "SOUP") },
    deals("compared with nil", finds: nil) { \.tags.first == nil },
    Row("sorted", { (deals: ItemQuery<Deal>) in try deals.sorted(by: \.title) }, finds: [2, 1]),
    Row(
      "sorted by a wrapped one", { (deals: ItemQuery<Deal>) in try deals.sorted(by: .descending(\.amount)) },
      finds: [1, 2]),
    Row("sorted by a count", { (deals: ItemQuery<Deal>) in try deals.sorted(by: \.tags.count) }, finds: nil),
    Row(
      "limited", { (deals: ItemQuery<Deal>) in try deals.prefix(1).filter(\.title.count == 4) }, finds: nil),
    Row("of a class", { (accounts: ItemQuery<Account>) in try accounts.filter(\.balance == 4) }, finds: [3]),
    Row("inherited", { (accounts: ItemQuery<Account>) in try accounts.filter(\.name == "Ana") }, finds: [3]),
    Row(
      "encoded by a superclass", { (members: ItemQuery<Member>) in try members.filter(\.name == "Bob") },
      finds: [4]),
    Row(
      "computed of a class", { (accounts: ItemQuery<Account>) in try accounts.filter(\.initial == "A") },
      finds: nil),
    Row(
      "usually stored of a class",
      { (accounts: ItemQuery<Account>) in try accounts.filter(\.shown == "Ana") },
      finds: nil),
    Row("generic", { (boxes: ItemQuery<Box<Int>>) in try boxes.filter(\.value == 5) }, finds: [5]),
    Row("generic, text", { (boxes: ItemQuery<Box<String>>) in try boxes.filter(\.value == "a") }, finds: [6]),
    Row(
      "requirement of a protocol", { (songs: ItemQuery<Song>) in try titled("Stew", in: songs) }, finds: [7]),
    Row(
      "of a type that validates", { (rated: ItemQuery<Rated>) in try rated.filter(\.stars > 4) }, finds: [8]),
    Row("named by the type", { (odd: ItemQuery<Odd>) in try odd.filter(\.code == "secret") }, finds: [9]),
    Row("of a type that refuses", { (odd: ItemQuery<Odd>) in try odd.filter(\.text == "a") }, finds: nil),
    Row("the item itself", { (songs: ItemQuery<Song>) in try songs.filter(.isMissing(\.self)) }, finds: nil),
    Row(
      "recursive enumeration", { (figures: ItemQuery<Figure>) in try figures.filter(\.name == "a") },
      finds: []),
    Row("recursive", { (nodes: ItemQuery<Node>) in try nodes.filter(\.name == "root") }, finds: [10]),
  ]

  @Test(arguments: rows.indices) func aKeyPathFindsTheRightItemsOrThrowsAnErrorThatHelps(index: Int) throws {
    let row = Self.rows[index]
    for state in [Catalog(), try Self.full.get().state] {
      guard let found = row.found else {
        let error = #expect(throws: JournalError.self, "\(row.name)") { try row.find(state) }
        #expect(error?.code == .wrongUse && error?.message.contains(".attribute(\"") == true, "\(row.name)")
        continue
      }
      #expect(try row.find(state) == (state.itemCount == 0 ? [] : found), "\(row.name)")
    }
  }

  @Test func theErrorNamesTheTypeTheKeyPathAndTheAttributes() throws {
    let error = #expect(throws: JournalError.self) {
      try Catalog().items(Song.self).filter(\.title.count == 4)
    }
    let message = error?.message ?? ""
    for words in ["Song", "title", "The attributes of Song are stars, t.", "attributeName(of:)"] {
      #expect(message.contains(words), "\(message)")
    }
    let refusal = #expect(throws: JournalError.self) { try Catalog().items(Odd.self).filter(\.text == "a") }
    #expect(refusal?.message.contains("not the code") == true, "\(refusal?.message ?? "")")
  }

  @Test func anIndexOnNoAttributeIsAnErrorAtTheFirstChange() throws {
    var history = CatalogHistory()
    func expectError(_ body: () throws -> Void) {
      #expect(#expect(throws: JournalError.self, performing: body)?.code == .wrongUse)
    }
    expectError { _ = try history.commit { try $0.insert(Indexed(tags: [])) } }
    let id = try history.commit {
      ItemID<Indexed>(try $0.addItem(kind: Indexed.kind, attributes: ["tags": []]).number)
    }
    expectError { try history.commit { try $0.update(id) { $0.tags = ["a"] } } }
    expectError { try history.commit { try $0.replace(id, with: Indexed(tags: ["a"])) } }
    expectError { try Catalog().buildIndexes(of: Indexed.self) }
    #expect(try history.state.items(Indexed.self).filter(.contains(\.tags, "a")).isEmpty)
  }

  private static let full = Result {
    var history = CatalogHistory()
    try history.commit { draft in
      try draft.insert(Deal.soup)
      try draft.insert(Deal.pie)
      try draft.insert(Account(name: "Ana", balance: 4))
      try draft.insert(Member(name: "Bob", level: 2))
      try draft.insert(Box(value: 5))
      try draft.insert(Box(value: "a"))
      try draft.insert(Song(title: "Stew", stars: 1))
      try draft.insert(Rated(stars: 5))
      try draft.insert(Odd(code: "secret", text: "a"))
      try draft.insert(
        Node(name: "root", parent: nil, children: [Node(name: "a", parent: nil, children: [])]))
    }
    return history
  }
}

private func titled<Model: Titled>(_ title: String, in items: ItemQuery<Model>) throws -> ItemQuery<Model> {
  try items.filter(\.title == title)
}

private enum Stage: String, Codable, QueryValue { case lead, won, lost }

private enum Priority: Int, Codable, QueryValue, CaseIterable, Comparable {
  case low = 3
  case high = 8
  static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
}

private struct Email: Codable, QueryValue, Equatable {
  let text: String
  init(_ text: String) { self.text = text }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    text = try container.decode(String.self)
    guard text.contains("@") else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no address")
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  var queryValue: FieldValue? { .string(text) }
}

@propertyWrapper private struct Counted: Codable {
  var wrappedValue: Int
  var changes = 0
}

@propertyWrapper private struct Plain: Codable {
  var wrappedValue: String
  init(wrappedValue: String) { self.wrappedValue = wrappedValue }
  init(from decoder: any Decoder) throws {
    wrappedValue = try decoder.singleValueContainer().decode(String.self)
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

private struct Deal: CatalogItem {
  static let kind = "deal"
  static let indexes = [Index(\Deal.title), Index(\.stage), Index(\.price), Index(\.place?.floor)]

  struct Address: Codable { var city: String, street: String }
  struct Place: Codable {
    var floor: Int
    var room: Int?
    enum CodingKeys: String, CodingKey {
      case floor = "f"
      case room
    }
  }

  var title: String
  var stage: Stage
  var former: Stage?
  var priority: Priority
  var stars: Int?
  var tags: [String]
  var sizes: Set<Int>
  var place: Place?
  var address: Address
  var number: UUID
  var site: URL?
  var price: Decimal
  var due: Date
  var isHot: Bool
  var isPaid: Bool
  var owner: ItemID<Song>
  var email: Email
  @Counted var amount: Int
  @Plain var label: String
  var note: String { didSet { isPlaying = true } }
  var isPlaying = false

  enum CodingKeys: String, CodingKey {
    case title = "t"
    case stage = "s"
    case former, priority, stars, tags, sizes, place, address, number, site, price, due, isHot, isPaid, owner
    case email, amount, label, note
  }

  var heading: String { title }
  var shout: String { title.uppercased() }
  var displayTitle: String { title.isEmpty ? "Untitled" : title }
  var isLong: Bool { title.count > 3 }
  var starsOrZero: Int { stars ?? 0 }

  static let soup = Deal(
    title: "Soup", stage: .won, former: nil, priority: .low, stars: 4, tags: ["new"], sizes: [1, 2],
    place: Place(floor: 3, room: 7), address: Address(city: "Bonn", street: "a"), number: UUID(),
    site: URL(string: "https://example.com"), price: 9.95, due: Date(timeIntervalSinceReferenceDate: 1),
    isHot: true, isPaid: false, owner: 8, email: Email("ana@example.com"), amount: 4, label: "a", note: "x")
  static let pie = Deal(
    title: "Pie", stage: .lost, former: .lead, priority: .high, stars: nil, tags: [], sizes: [5],
    place: nil, address: Address(city: "Ulm", street: "b"), number: UUID(), site: nil, price: 9,
    due: Date(timeIntervalSinceReferenceDate: 10), isHot: false, isPaid: true, owner: 9,
    email: Email("bob@example.com"), amount: 3, label: "b", note: "y")
}

private class Named: Codable {
  let name: String
  init(name: String) { self.name = name }
}

/// A class that encodes what it inherits under the same keys.
private final class Account: Named, CatalogItem, @unchecked Sendable {
  static let kind = "account"
  let balance: Int
  var initial: String { String(name.prefix(1)) }
  var shown: String { name.isEmpty ? "nobody" : name }

  init(name: String, balance: Int) {
    self.balance = balance
    super.init(name: name)
  }

  enum CodingKeys: CodingKey { case balance }

  required init(from decoder: any Decoder) throws {
    balance = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .balance)
    try super.init(from: decoder)
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(balance, forKey: .balance)
    try super.encode(to: encoder)
  }
}

/// A class whose superclass encodes itself apart.
private final class Member: Named, CatalogItem, @unchecked Sendable {
  static let kind = "member"
  let level: Int

  init(name: String, level: Int) {
    self.level = level
    super.init(name: name)
  }

  enum CodingKeys: CodingKey { case level }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    level = try container.decode(Int.self, forKey: .level)
    try super.init(from: container.superDecoder())
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(level, forKey: .level)
    try super.encode(to: container.superEncoder())
  }
}

private struct Box<Value: Codable & Sendable & SendableMetatype>: CatalogItem {
  static var kind: String { "box of \(Value.self)" }
  var value: Value
}

private protocol Titled: CatalogItem { var title: String { get } }

private struct Song: Titled {
  static let kind = "song"
  var title: String
  var stars: Int

  enum CodingKeys: String, CodingKey {
    case title = "t"
    case stars
  }
}

private struct Rated: CatalogItem {
  static let kind = "rated"
  var stars: Int

  init(stars: Int) { self.stars = stars }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    stars = try container.decode(Int.self, forKey: .stars)
    guard 1...5 ~= stars else {
      throw DecodingError.dataCorruptedError(forKey: .stars, in: container, debugDescription: "not 1 to 5")
    }
  }
}

/// A type that refuses all made-up values.
private struct Odd: CatalogItem {
  static let kind = "odd"
  var code: String
  var text: String

  static func attributeName(of property: PartialKeyPath<Odd>) -> String? { property == \.code ? "code" : nil }

  init(code: String, text: String) { (self.code, self.text) = (code, text) }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    code = try container.decode(String.self, forKey: .code)
    text = try container.decode(String.self, forKey: .text)
    guard code == "secret" else {
      throw DecodingError.dataCorruptedError(forKey: .code, in: container, debugDescription: "not the code")
    }
  }
}

private struct Node: CatalogItem {
  static let kind = "node"
  var name: String
  var parent: [Node]?
  var children: [Node]
}

private struct Figure: CatalogItem {
  static let kind = "figure"
  indirect enum Shape: Codable, Sendable {
    case pair(Shape, Shape)
    case point
  }
  indirect enum Tree: Codable, Sendable {
    case leaf
    case fork(Tree, Tree)
  }
  var name: String
  var shape: Shape
  var tree: Tree
}

private struct Indexed: CatalogItem {
  static let kind = "indexed"
  static let indexes = [Index(\Indexed.tags), Index(\.tags.count)]
  var tags: [String]
}
