import CBOR
import Foundation
import Testing

private struct Place: Codable, Equatable {
  var name: String
  var population: Int?
  var area: Double
  var ratio: Float
  var founded: Date
  var flag: Data
  var site: URL
  var budget: Decimal
  var id: UUID
  var tags: [String?]
  var byLanguage: [String: String]
  var byYear: [Int: UInt8]
  var corner: Corner
  var shape: Shape
  var mayor: Mayor?
  var empty: Empty
}

private struct Corner: Codable, Equatable { var x: Int8, y: UInt64 }

private struct Mayor: Codable, Equatable { var name: String, since: Date? }

private struct Empty: Codable, Equatable {}

private enum Shape: Codable, Equatable {
  case point
  case circle(radius: Double)
  indirect case pair(Shape, Shape)
}

private class Animal: Codable {
  var legs: Int
  init(legs: Int) { self.legs = legs }
}

private final class Dog: Animal {
  var name: String
  private enum CodingKeys: CodingKey { case name }

  init(name: String) {
    self.name = name
    super.init(legs: 4)
  }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    name = try container.decode(String.self, forKey: .name)
    try super.init(from: container.superDecoder())
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try super.encode(to: container.superEncoder())
  }
}

/// Uses every kind of nested container by hand, in an order that synthesized code never has.
private struct Handmade: Codable, Equatable {
  var numbers: [Int]
  var note: String?

  private enum CodingKeys: CodingKey { case nested, list, note }

  init(numbers: [Int], note: String?) {
    self.numbers = numbers
    self.note = note
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let nested = try container.nestedContainer(keyedBy: CodingKeys.self, forKey: .nested)
    var list = try nested.nestedUnkeyedContainer(forKey: .list)
    numbers = []
    while !list.isAtEnd {
      var inner = try list.nestedUnkeyedContainer()
      numbers.append(try inner.decode(Int.self))
      #expect(inner.isAtEnd)
    }
    let hasNote = try !nested.decodeNil(forKey: .note)
    note = hasNote ? try nested.decode(String.self, forKey: .note) : nil
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    var nested = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .nested)
    var list = nested.nestedUnkeyedContainer(forKey: .list)
    if let note { try nested.encode(note, forKey: .note) } else { try nested.encodeNil(forKey: .note) }
    for number in numbers {
      var inner = list.nestedUnkeyedContainer()
      try inner.encode(number)
    }
    // Asking for the container again gives the same one.
    var again = encoder.container(keyedBy: CodingKeys.self)
    try again.encode(list.count, forKey: .list)
  }
}

@Suite struct CodingTests {
  private let place = Place(
    name: "Ulm", population: 126_000, area: 118.7, ratio: 0.1, founded: Date(timeIntervalSince1970: 0.1),
    flag: Data([0, 255]), site: URL(string: "https://ulm.de/a?b#c")!,
    budget: Decimal(string: "123456789012345678901234567890.12")!,
    id: UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!, tags: ["a", nil, "b"],
    byLanguage: ["de": "Ulm"], byYear: [1890: 255, -1: 0], corner: Corner(x: -128, y: .max),
    shape: .pair(.circle(radius: 2), .pair(.point, .point)), mayor: Mayor(name: "Ana", since: nil),
    empty: Empty())

  @Test func aNestedStructureBecomesAValueThatAPersonCanRead() throws {
    #expect(
      try ValueEncoder().encode(place)
        == .dictionary([
          "name": .string("Ulm"), "population": .integer(126_000), "area": .double(118.7),
          "ratio": .double(Double(Float(0.1))), "founded": .date(Date(timeIntervalSince1970: 0.1)),
          "flag": .data(Data([0, 255])), "site": .string("https://ulm.de/a?b#c"),
          "budget": ["$decimal": "123456789012345678901234567890.12"],
          "id": .string("E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
          "tags": .array([.string("a"), .null, .string("b")]),
          "byLanguage": .dictionary(["de": .string("Ulm")]),
          "byYear": .dictionary(["1890": .integer(255), "-1": .integer(0)]),
          "corner": .dictionary(["x": .integer(-128), "y": .unsigned(.max)]),
          "shape": .dictionary([
            "pair": .dictionary([
              "_0": .dictionary(["circle": .dictionary(["radius": .double(2)])]),
              "_1": .dictionary([
                "pair": .dictionary([
                  "_0": .dictionary(["point": .dictionary([:])]),
                  "_1": .dictionary(["point": .dictionary([:])]),
                ])
              ]),
            ])
          ]),
          "mayor": .dictionary(["name": .string("Ana")]), "empty": .dictionary([:]),
        ]))
  }

  @Test func aNestedStructureComesBackAsItWas() throws {
    #expect(try ValueDecoder().decode(Place.self, from: ValueEncoder().encode(place)) == place)
  }

  @Test func aSuperclassComesBack() throws {
    let value = try ValueEncoder().encode(Dog(name: "Rex"))
    #expect(
      value == .dictionary(["name": .string("Rex"), "super": .dictionary(["legs": .integer(4)])]))
    let dog = try ValueDecoder().decode(Dog.self, from: value)
    #expect(dog.name == "Rex" && dog.legs == 4)
  }

  @Test(arguments: [nil, "note"])
  func containersNestedByHandComeBack(note: String?) throws {
    let handmade = Handmade(numbers: [1, 2, 3], note: note)
    let value = try ValueEncoder().encode(handmade)
    let list = FieldValue.array([.array([.integer(1)]), .array([.integer(2)]), .array([.integer(3)])])
    #expect(
      value
        == .dictionary([
          "nested": .dictionary(["list": list, "note": note.map { .string($0) } ?? .null]),
          "list": .integer(3),
        ]))
    #expect(try ValueDecoder().decode(Handmade.self, from: value) == handmade)
  }

  @Test func plainValuesNeedNoContainer() throws {
    #expect(try ValueEncoder().encode(5) == .integer(5))
    #expect(try ValueEncoder().encode(true) == .bool(true))
    #expect(try ValueEncoder().encode("a") == .string("a"))
    #expect(try ValueEncoder().encode(Int?.none) == .null)
    #expect(
      try ValueEncoder().encode([Date?.none, Date(timeIntervalSinceReferenceDate: 0)])
        == .array([.null, .date(Date(timeIntervalSinceReferenceDate: 0))]))
    #expect(try ValueDecoder().decode(Int?.self, from: .null) == nil)
    #expect(try ValueDecoder().decode([Date?].self, from: .array([.null])) == [nil])
    #expect(
      try ValueDecoder().decode([[Int?]].self, from: .array([.array([.integer(1), .null])])) == [[1, nil]])
  }

  @Test func numbersAreConvertedBetweenTypesIfNothingIsLost() throws {
    let decoder = ValueDecoder()
    #expect(try decoder.decode(Int.self, from: .double(3)) == 3)
    #expect(try decoder.decode(UInt64.self, from: .double(-0.0)) == 0)
    #expect(try decoder.decode(UInt64.self, from: .unsigned(.max)) == .max)
    #expect(try decoder.decode(Double.self, from: .integer(3)) == 3)
    #expect(try decoder.decode(Double.self, from: .unsigned(1 << 63)) == 0x1p63)
    #expect(try decoder.decode(Float.self, from: .double(0.1)) == 0.1)
    #expect(try decoder.decode(Float.self, from: .double(.infinity)) == .infinity)
    #expect(try decoder.decode(Decimal.self, from: .double(0.1)) == Decimal(string: "0.1"))
    #expect(try decoder.decode(Decimal.self, from: .integer(.min)) == Decimal(Int64.min))
    #expect(try decoder.decode(Decimal.self, from: .unsigned(.max)) == Decimal(UInt64.max))
    #expect(try decoder.decode(Decimal.self, from: ValueEncoder().encode(Decimal.nan)).isNaN)
    for text in ["1", "+1", "-1.50", ".5", "5.", "1e3", "-1.5E-100", "12345678901234567890123456789012345"] {
      #expect(try decoder.decode(Decimal.self, from: .string(text)) == Decimal(string: text))
    }
  }

  @Test func aChainTooDeepForARecordIsAnErrorAndDoesNotEndTheProcess() throws {
    final class Link: Encodable {
      var next: Link?
      init(before next: Link?) { self.next = next }
    }
    func chain(_ count: Int) -> Link {
      (1..<count).reduce(Link(before: nil)) { next, _ in Link(before: next) }
    }
    let deep = try ValueEncoder().encode(chain(127))
    #expect(throws: Never.self) { try EntityRecord(checking: EntityRecord(["chain": deep]).bytes) }
    let last = chain(1)
    last.next = last
    #expect(throws: EncodingError.self) { try ValueEncoder().encode(last) }
    last.next = nil
  }

  @Test func aNumberThatDoesNotFitIsAnError() throws {
    expectCorrupted(UInt8.self, .integer(256))
    expectCorrupted(UInt.self, .integer(-1))
    expectCorrupted(Int64.self, .unsigned(1 << 63))
    expectCorrupted(Int.self, .double(0.5))
    expectCorrupted(Int.self, .double(0x1p63))
    expectCorrupted(Int.self, .double(.nan))
    expectCorrupted(Float.self, .double(1e300))
    expectCorrupted(Decimal.self, .double(.nan))
    for text in ["12x", "", "+", ".", "1.2.3", "1e", "1e+", "1e1000", "e1", " 1", "1 ", "1,5", "--1", "٣"] {
      expectCorrupted(Decimal.self, .string(text))
    }
    expectCorrupted(UUID.self, .string("12"))
    expectCorrupted(URL.self, .string(""))
  }

  private func expectCorrupted<T: Decodable>(
    _ type: T.Type, _ value: FieldValue, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: DecodingError.self, sourceLocation: sourceLocation) {
      _ = try ValueDecoder().decode([String: T].self, from: .dictionary(["a": value]))
    }
    guard case .dataCorrupted(let context)? = error else {
      Issue.record("another error: \(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["a"], sourceLocation: sourceLocation)
  }

  @Test func aValueIsNotDecodedAsAnotherKindOfValue() {
    let decoder = ValueDecoder()
    for value in [FieldValue.integer(1), .string("true"), .double(1), .null] {
      #expect(throws: DecodingError.self) { try decoder.decode(Bool.self, from: value) }
      #expect(throws: DecodingError.self) { try decoder.decode(Date.self, from: value) }
      #expect(throws: DecodingError.self) { try decoder.decode(Data.self, from: value) }
      #expect(throws: DecodingError.self) { try decoder.decode([Int].self, from: value) }
      #expect(throws: DecodingError.self) { try decoder.decode([String: Int].self, from: value) }
    }
    for value in [FieldValue.bool(true), .string("1"), .null, .date(Date(timeIntervalSinceReferenceDate: 1))]
    {
      #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: value) }
      #expect(throws: DecodingError.self) { try decoder.decode(Double.self, from: value) }
    }
  }

  @Test func errorsNameThePathToThePartThatDoesNotFit() throws {
    let value = FieldValue.dictionary(["a": .array([.dictionary(["x": .integer(1), "y": .string("no")])])])
    let mismatch = #expect(throws: DecodingError.self) {
      try ValueDecoder().decode([String: [Corner]].self, from: value)
    }
    guard case .typeMismatch(_, let context)? = mismatch else {
      Issue.record("another error: \(String(describing: mismatch))")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["a", "Index 0", "y"])
    #expect(context.codingPath[1].intValue == 0)
    #expect(context.debugDescription == "a string where an integer should be")

    let missing = #expect(throws: DecodingError.self) {
      try ValueDecoder().decode([Corner].self, from: .array([.dictionary(["x": .integer(1)])]))
    }
    guard case .keyNotFound(let key, let missingContext)? = missing else {
      Issue.record("another error: \(String(describing: missing))")
      return
    }
    #expect(key.stringValue == "y")
    #expect(missingContext.codingPath.map(\.stringValue) == ["Index 0"])

    let null = #expect(throws: DecodingError.self) {
      try ValueDecoder().decode([Int].self, from: .array([.integer(1), .null]))
    }
    guard case .valueNotFound(_, let nullContext)? = null else {
      Issue.record("another error: \(String(describing: null))")
      return
    }
    #expect(nullContext.codingPath.map(\.stringValue) == ["Index 1"])
  }

  @Test func readingBeyondTheEndOfAnArrayIsAnError() throws {
    struct Pair: Decodable {
      init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        _ = try container.decode(Int.self)
        #expect(throws: DecodingError.self) { try container.decodeNil() }
        _ = try container.decode(Int.self)
      }
    }
    let error = #expect(throws: DecodingError.self) {
      try ValueDecoder().decode(Pair.self, from: .array([.integer(1)]))
    }
    guard case .valueNotFound? = error else {
      Issue.record("another error: \(String(describing: error))")
      return
    }
  }

  @Test func anElementThatDoesNotFitCanBeReadAsSomethingElse() throws {
    struct Either: Decodable {
      var text: String
      init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        #expect(throws: DecodingError.self) { try container.decode(Int.self) }
        text = try container.decode(String.self)
      }
    }
    #expect(try ValueDecoder().decode(Either.self, from: .array([.string("a")])).text == "a")
  }
}
