import Foundation
import TestSupport
import Testing

@testable import CBOR

struct ValueOrderTests {
  /// One value for each place in the order, ascending.
  private static let rising: [FieldValue] = {
    let texts = [
      "", "\u{0}", "a", "a\u{0}", "ab", "abcdefghijklmn", "abcdefghijklmn\u{0}", "abcdefghijklmno", "b", "é",
      "😀",
    ]
    let numbers: [FieldValue] = [
      .double(-.infinity), .double(-1e300), .integer(.min), .integer(.min + 1), .integer(-1), .double(-0.5),
      .integer(0), .double(.leastNonzeroMagnitude), .double(0.5), .integer(1),
      .integer(9_007_199_254_740_992), .integer(9_007_199_254_740_993), .double(9_007_199_254_740_994),
      .integer(.max - 1), .integer(.max), .double(9_223_372_036_854_775_808),
      .unsigned(9_223_372_036_854_775_809),
      .unsigned(.max), .double(1e300), .double(.infinity), .double(.nan),
    ]
    let dates: [FieldValue] = [-1e9, 0, 1e-3, 7e8].map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    return [.null, false, true] + numbers + dates + texts.map { .string($0) }
      + [.data(Data()), .data(Data([0])), .data(Data([255])), .array([])]
  }()

  @Test func valuesAreInTheDocumentedOrder() {
    let keys = Self.rising.map { ValueKey($0) }
    for (index, key) in keys.enumerated() {
      for (other, otherKey) in keys.enumerated() {
        #expect((key < otherKey) == (index < other), "\(Self.rising[index]) and \(Self.rising[other])")
        #expect((key == otherKey) == (index == other))
      }
    }
  }

  @Test func equalNumbersHaveEqualKeysWhateverTheirType() {
    #expect(ValueKey(.integer(1)) == ValueKey(.double(1)))
    #expect(ValueKey(.double(-0.0)) == ValueKey(.integer(0)))
    #expect(ValueKey(.unsigned(1 << 63)) == ValueKey(.double(0x1p63)))
    #expect(ValueKey(nil) == ValueKey(.null))
    #expect(ValueKey(["a"]) == ValueKey(["b": 1]))
  }

  @Test func keysFromTheBytesOfARecordEqualThoseOfItsValues() {
    var random = SeededGenerator()
    for _ in 0..<2_000 {
      let value = FieldValue.random(using: &random)
      let record = EntityRecord(["a": 1, "value": value, "x": ["in": ["deep": value]]])
      #expect(record.key(at: AttributePath(["value"])) == ValueKey(value))
      #expect(record.key(at: AttributePath(["x", "in", "deep"])) == ValueKey(value))
      #expect(record.key(at: AttributePath(["value", "in"])) == ValueKey(value["in"]))
      #expect(record.key(at: AttributePath(["missing"])) == .missing)
      var keys: [ValueKey] = []
      record.forEachKey(at: AttributePath(["value"])) { keys.append($0) }
      #expect(keys == [ValueKey(value)] + (value.array ?? []).map { ValueKey($0).asElement })
      for element in value.array ?? [] {
        #expect(record.hasElement(in: .containing(element), at: AttributePath(["value"])))
      }
    }
  }

  @Test func aRangeHasTheValuesOfItsClassBetweenItsEnds() {
    func found(_ range: ValueRange) -> [FieldValue] {
      let places = Self.rising.indices.filter { range.contains(ValueKey(Self.rising[$0])) }
      // In a record, most texts are told apart without their keys.
      let ofRecords = Self.rising.indices.filter {
        range.contains(EntityRecord(["a": Self.rising[$0]]), at: AttributePath(["a"]))
      }
      #expect(ofRecords == places, "\(range)")
      return places.map { Self.rising[$0] }
    }
    #expect(found(.equal(to: 1)) == [1])
    #expect(found(.missing) == [.null])
    #expect(found(.below(0)).count == 6)
    #expect(found(.through(0)).count == 7)
    #expect(found(.above(.unsigned(.max))) == [.double(1e300), .double(.infinity)])
    #expect(found(.from(.double(.infinity))) == [.double(.infinity)])
    #expect(found(.from(0, through: 1)).count == 4)
    #expect(found(.from(0, below: 1)).count == 3)
    #expect(found(.from(1, through: 0)) == [])
    #expect(found(.prefix("a")).count == 6)
    #expect(found(.prefix("abcdefghijklmn")).count == 3)
    #expect(found(.prefix("")).count == 11)
    #expect(found(.above("b")) == ["é", "😀"])
    #expect(found(.above("abcdefghijklmn")).count == 5)
    #expect(found(.below("abcdefghijklmno")).count == 7)
    #expect(found(.equal(to: "abcdefghijklmno")) == ["abcdefghijklmno"])
    #expect(found(.below(true)) == [false])
    #expect(found(.from(.date(Date(timeIntervalSinceReferenceDate: 0)))).count == 3)
    #expect(found(.all).count == Self.rising.count)
  }

  @Test func nothingIsAboveOrBelowNaN() {
    for value in [FieldValue.double(.nan), .date(Date(timeIntervalSinceReferenceDate: .nan))] {
      let key = ValueKey(value)
      for range in [ValueRange.below(value), .through(value), .above(value), .from(value)] {
        #expect(!(Self.rising.map { ValueKey($0) } + [key]).contains { range.contains($0) })
      }
      #expect(ValueRange.equal(to: value).contains(key))
    }
  }
}
