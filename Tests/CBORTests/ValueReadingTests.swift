import CBOR
import Foundation
import Testing

struct ValueReadingTests {
  @Test func literalsAreValues() {
    let values: [String: FieldValue] = [
      "title": "Soup", "stars": 5, "price": 4.5, "isVegan": true, "tags": ["hot", "quick"],
      "place": ["floor": 2, "name": "\(1 + 1)nd"],
    ]
    #expect(values["title"] == .string("Soup"))
    #expect(values["stars"] == .integer(5))
    #expect(values["price"] == .double(4.5))
    #expect(values["isVegan"] == .bool(true))
    #expect(values["tags"] == .array([.string("hot"), .string("quick")]))
    #expect(values["place"] == .dictionary(["floor": .integer(2), "name": .string("2nd")]))
  }

  @Test func aValueIsReadAsWhatItIsAndAsNothingElse() {
    let date = Date(timeIntervalSinceReferenceDate: 7)
    let values: [FieldValue] = [
      .null, .bool(true), .integer(-3), .unsigned(.max), .double(2.5), .double(4), .string("a"),
      .data(Data([1])),
      .date(date), .array([1, 2]), .dictionary(["a": 1]),
    ]
    #expect(values.map(\.isNull) == [true] + Array(repeating: false, count: 10))
    #expect(values.map(\.bool) == [nil, true] + Array(repeating: nil, count: 9))
    #expect(values.map(\.integer) == [nil, nil, -3, nil, nil, 4, nil, nil, nil, nil, nil])
    #expect(values.map(\.double) == [nil, nil, -3, Double(UInt64.max), 2.5, 4, nil, nil, nil, nil, nil])
    #expect(values.map(\.string) == Array(repeating: nil, count: 6) + ["a", nil, nil, nil, nil])
    #expect(values.compactMap(\.data) == [Data([1])])
    #expect(values.compactMap(\.date) == [date])
    #expect(values.compactMap(\.array) == [[1, 2]])
    #expect(values.compactMap(\.dictionary) == [["a": 1]])
    #expect(values[9][1] == 2)
    #expect(values[9][2] == nil && values[9][-1] == nil)
    #expect(values[10]["a"] == 1)
    #expect(values[10]["b"] == nil && values[9]["a"] == nil)
  }

  @Test func aValueOfACustomTypeKeepsItsType() throws {
    struct Note: Codable, Equatable {
      var text: String
      var extra: [String: FieldValue]
      var any: FieldValue?
    }
    let note = Note(
      text: "a", extra: ["when": .date(Date(timeIntervalSinceReferenceDate: 1)), "bytes": .data(Data([7]))],
      any: .unsigned(.max))
    let value = try ValueEncoder().encode(note)
    #expect(value["extra"]?["when"]?.date == Date(timeIntervalSinceReferenceDate: 1))
    #expect(try ValueDecoder().decode(Note.self, from: value) == note)
  }

  @Test func aValueComesBackFromJSON() throws {
    let value: FieldValue = ["title": "Soup", "stars": 5, "tags": [true, 1.5, -3], "none": .null]
    let decoded = try JSONDecoder().decode(FieldValue.self, from: try JSONEncoder().encode(value))
    #expect(decoded == value)
  }
}
