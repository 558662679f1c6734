import CBOR
import Foundation
import TestSupport
import Testing

/// What types of an app see of a value while they are decoded from it.
@Suite struct DecodingTests {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
  }

  /// Keeps its decoder.
  private struct Probe: Decodable {
    let decoder: any Decoder
    init(from decoder: any Decoder) throws { self.decoder = decoder }
  }

  private func decode(_ value: FieldValue, _ body: (any Decoder) throws -> Void) throws {
    try body(ValueDecoder().decode(Probe.self, from: value).decoder)
  }

  @Test func everyKeyOfALargeDictionaryIsFoundAndNoOther() throws {
    var members: [String: FieldValue] = [:]
    for number in 0..<300 {
      members[String(repeating: "k", count: number / 10) + "\(number)"] = .integer(Int64(number))
    }
    members[""] = -1
    let all = members
    try decode(.dictionary(all)) { decoder in
      let container = try decoder.container(keyedBy: Name.self)
      #expect(Set(container.allKeys.map(\.stringValue)) == Set(all.keys))
      for (name, value) in all {
        #expect(container.contains(Name(name)))
        #expect(try container.decode(FieldValue.self, forKey: Name(name)) == value)
        #expect(!container.contains(Name(name + "x")) && !container.contains(Name("a" + name)))
      }
    }
    #expect(try ValueDecoder().decode([String: FieldValue].self, from: .dictionary(all)) == all)
  }

  @Test func keysAreComparedByTheirBytes() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    let record = EntityRecord([composed: 1]).applying(RecordChanges(set: [decomposed: 2]))
    struct Both: Decodable {
      var composed: Int
      var decomposed: Int
      enum CodingKeys: String, CodingKey {
        case composed = "caf\u{E9}"
        case decomposed = "cafe\u{301}"
      }
    }
    let both = try ValueDecoder().decode(Both.self, fromAttributesOf: record)
    #expect(both.composed == 1 && both.decomposed == 2)
    #expect(throws: DecodingError.self) {
      try ValueDecoder().decode(Both.self, from: .dictionary([composed: 1]))
    }
  }

  @Test func recordsAreDecodedOneAfterTheOtherAsEachAlone() throws {
    struct Inner: Codable, Equatable { var b, aa: Int? }
    struct Outer: Codable, Equatable {
      var long: String?
      var a, b, cc: Int?
      var inner: Inner?
      var list: [Inner]
    }
    var random = SeededGenerator()
    func number() -> Int? { random.chance(1, in: 3) ? nil : .random(in: -9...9, using: &random) }
    let decoder = RecordDecoder()
    for round in 0..<2_000 {
      let outer = Outer(
        long: number().map { "\($0)" }, a: number(), b: number(), cc: number(),
        inner: number().map { _ in Inner(b: number(), aa: number()) },
        list: (0..<Int.random(in: 0...2, using: &random)).map { _ in Inner(b: number(), aa: number()) })
      guard case .dictionary(var attributes) = try ValueEncoder().encode(outer) else { return }
      // Keys that the type does not know come before, between and after the others.
      for _ in 0..<(random.chance(1, in: 5) ? 40 : 1) {
        attributes["\(Int.random(in: 0...9999, using: &random))"] = 1
      }
      if random.chance(1, in: 9) { attributes["list"] = nil }
      let record = EntityRecord(attributes, fields: number().map { _ in [0: "kind"] } ?? [:])
      let alone = try? ValueDecoder().decode(Outer.self, fromAttributesOf: record)
      #expect((try? decoder.decode(Outer.self, fromAttributesOf: record)) == alone, "round \(round)")
      #expect(alone == (attributes["list"] == nil ? nil : outer), "round \(round)")
    }
  }

  @Test func aContainerThatIsKeptHasTheMembersOfItsRecord() throws {
    struct Keeper: Decodable {
      let container: KeyedDecodingContainer<Name>
      init(from decoder: any Decoder) throws { container = try decoder.container(keyedBy: Name.self) }
    }
    let decoder = RecordDecoder()
    let kept = try (0..<4).map {
      try decoder.decode(Keeper.self, fromAttributesOf: EntityRecord(["a": .integer($0), "b\($0)": true]))
    }
    for (number, keeper) in kept.enumerated() {
      #expect(try keeper.container.decode(Int.self, forKey: Name("a")) == number)
      #expect(keeper.container.allKeys.map(\.stringValue) == ["a", "b\(number)"])
    }
  }

  @Test func theAttributesOfARecordAreItsMembersAndItsFieldsAreNot() throws {
    let record = EntityRecord(
      ["a": ["b": [1, 2]], "long name of an attribute": 3], fields: [0: "book", 1: 7])
    let decoder = ValueDecoder()
    #expect(
      try decoder.decode([String: FieldValue].self, fromAttributesOf: record) == record.attributes)
    #expect(
      try decoder.decode(FieldValue.self, fromAttributesOf: record) == .dictionary(record.attributes))
    #expect(try decoder.decode([String: Int].self, fromAttributesOf: EntityRecord(fields: [0: "x"])) == [:])
    #expect(try decoder.decode(FieldValue.self, fromAttributesOf: EntityRecord()) == .dictionary([:]))
  }

  @Test func aMissingValueIsNotNull() throws {
    try decode(["null": .null, "text": "a"]) { decoder in
      let container = try decoder.container(keyedBy: Name.self)
      #expect(container.contains(Name("null")) && !container.contains(Name("missing")))
      #expect(try container.decodeNil(forKey: Name("null")))
      #expect(try !container.decodeNil(forKey: Name("text")))
      #expect(throws: DecodingError.self) { try container.decodeNil(forKey: Name("missing")) }
      for name in ["null", "missing"] {
        #expect(try container.decodeIfPresent(String.self, forKey: Name(name)) == nil)
        #expect(try container.decodeIfPresent(Date.self, forKey: Name(name)) == nil)
        #expect(try container.superDecoder(forKey: Name(name)).singleValueContainer().decodeNil())
      }
      #expect(try container.superDecoder().singleValueContainer().decodeNil())
      #expect(try container.decodeIfPresent(String.self, forKey: Name("text")) == "a")
    }
  }

  @Test func aTypeCanRequestSeveralContainers() throws {
    try decode(["a": 1, "list": [["b": 2], 3]]) { decoder in
      #expect(throws: DecodingError.self) { try decoder.unkeyedContainer() }
      let first = try decoder.container(keyedBy: Name.self)
      let second = try decoder.container(keyedBy: Name.self)
      #expect(try first.decode(Int.self, forKey: Name("a")) == second.decode(Int.self, forKey: Name("a")))
      var list = try second.nestedUnkeyedContainer(forKey: Name("list"))
      #expect(list.count == 2 && list.currentIndex == 0)
      let member = try list.nestedContainer(keyedBy: Name.self)
      #expect(try list.decode(Int.self) == 3)
      #expect(list.isAtEnd && list.currentIndex == 2)
      #expect(member.codingPath.map(\.stringValue) == ["list", "Index 0"])
      #expect(try member.decode(Int.self, forKey: Name("b")) == 2)
    }
  }

  @Test func valuesOfEveryWidthComeBack() throws {
    struct Widths: Codable, Equatable {
      var int8: [Int8] = [.min, .max]
      var int16: [Int16] = [.min, .max]
      var int32: [Int32] = [.min, .max]
      var int64: [Int64] = [.min, .max]
      var uint8: Set<UInt8> = [.min, .max]
      var uint16: Set<UInt16> = [.min, .max]
      var uint32: UInt32 = .max
      var uint64: UInt64 = .max
      var float: Float? = .leastNonzeroMagnitude
      var double: Double? = -0.0
      var yes: [Bool?] = [true, nil, false]
      var dates: [Date] = [.distantPast, .distantFuture]
      var data: [Data] = [Data(), Data([0])]
      var urls: [URL?] = [URL(string: "a:b"), nil]
      var decimals: [Int: Decimal] = [-7: 0.07, 7: 1_000_000]
      var values: [FieldValue] = [.null, 1, "a", ["b": [1.5]]]
    }
    let value = try ValueEncoder().encode(Widths())
    #expect(try ValueDecoder().decode(Widths.self, from: value) == Widths())
    let float = try #require(ValueDecoder().decode(Widths.self, from: value).double)
    #expect(float.sign == .minus)
  }

  @Test func decimalsOfFewDigitsComeBack() throws {
    for text in [
      "0", "-0.01", "0.1", "123456.7891", "-99999999999.99", "999999999999999", "0.00001", "1.00005",
      "9007199254740993", "562949953421311.25",
    ] {
      let decimal = try #require(Decimal(string: text))
      let value = try ValueEncoder().encode(decimal)
      #expect(try ValueDecoder().decode(Decimal.self, from: value) == decimal, "\(text)")
    }
  }

  @Test func errorsSayWhatIsThereAndWhatShouldBe() throws {
    func text<T: Decodable>(_ type: T.Type, _ value: FieldValue) -> String {
      do {
        _ = try ValueDecoder().decode([Int: T].self, from: ["7": value])
        return "nothing"
      } catch DecodingError.valueNotFound(_, let context) {
        return "\(context.codingPath.map { $0.intValue ?? -1 }) not found: \(context.debugDescription)"
      } catch DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context) {
        return "\(context.codingPath.map { $0.intValue ?? -1 }) \(context.debugDescription)"
      } catch {
        return "\(error)"
      }
    }
    #expect(text(Bool.self, .null) == "[7] not found: null where true or false should be")
    #expect(text(Int16.self, .data(Data())) == "[7] data where an integer should be")
    #expect(text(Double.self, true) == "[7] true or false where a number should be")
    #expect(text(String.self, 1) == "[7] an integer where a string should be")
    #expect(text(Date.self, 1.5) == "[7] a floating-point number where a date should be")
    #expect(text(Data.self, .date(.distantPast)) == "[7] a date where data should be")
    #expect(text([Int].self, ["a": 1]) == "[7] a dictionary where an array should be")
    #expect(text([String: Int].self, ["a"]) == "[7] an array where a dictionary should be")
    #expect(text([String].self, "a") == "[7] a string where an array should be")
    #expect(text([String].self, ["a", 1]) == "[7, 1] an integer where a string should be")
    #expect(text(Decimal.self, []) == "[7] an array where a number, or its digits as a string should be")
    #expect(text(Decimal.self, "x") == #"[7] "x" is not a decimal number"#)
    #expect(text(UInt8.self, -1) == "[7] the number -1 does not fit UInt8")
    #expect(text(Float.self, 1e300) == "[7] the number 1e+300 does not fit Float")
    #expect(text(Int.self, ["$decimal": "0.5"]) == "[7] the number a dictionary does not fit Int")
    #expect(text(URL.self, "") == #"[7] "" is not a URL"#)
  }

  @Test func aValueThatNoRecordCanHoldIsAnError() throws {
    func nested(_ depth: Int) -> FieldValue { (0..<depth).reduce(1) { value, _ in [value] } }
    #expect(
      try ValueDecoder().decode(FieldValue.self, from: nested(CBORLimits.depth)) == nested(CBORLimits.depth))
    for depth in [CBORLimits.depth + 1, CBORLimits.depth + 2, 1000] {
      #expect(throws: DecodingError.self) { try ValueDecoder().decode(FieldValue.self, from: nested(depth)) }
    }
  }
}
