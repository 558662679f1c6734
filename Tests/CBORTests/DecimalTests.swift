import Foundation
import TestSupport
import Testing

@testable import CBOR

/// Decimal numbers and integers beyond 64 bits: exact, and compared by value.
struct DecimalTests {
  private static func decimal(_ text: String) -> Decimal { Decimal(string: text, locale: nil) ?? .nan }

  private static let forms: [(text: String, value: FieldValue)] = [
    ("0", 0), ("-0.0", 0), ("1.00", 1), ("-12e3", -12_000),
    ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
    ("18446744073709551615", .unsigned(.max)), ("9.95", 9.95), ("-0.1", -0.1),
    ("123456789012345.6", 123456789012345.6),
    ("1e-20", 1e-20), ("0.3", 0.3), ("18446744073709551616", ["$decimal": "18446744073709551616"]),
    ("3.33333333333333333333", ["$decimal": "3.33333333333333333333"]),
    ("-0.10000000000000000555", ["$decimal": "-0.10000000000000000555"]),
    ("1e20", 1e20), ("3e23", ["$decimal": "300000000000000000000000"]),
    ("9007199254740993.5", ["$decimal": "9007199254740993.5"]),
  ]

  @Test(arguments: forms)
  func aDecimalIsTheSimplestValueWithItsDigits(text: String, value: FieldValue) throws {
    #expect(try ValueEncoder().encode(Self.decimal(text)) == value)
    #expect(try ValueDecoder().decode(Decimal.self, from: value) == Self.decimal(text))
  }

  private static func random(using random: inout SeededGenerator) -> Decimal {
    let count = Int.random(in: 1...38, using: &random)
    var digits = ""
    for _ in 0..<count { digits += "\(Int.random(in: 0...9, using: &random))" }
    let exponent = Int.random(in: -45...10, using: &random)
    return Decimal(
      sign: Bool.random(using: &random) ? .plus : .minus, exponent: exponent, significand: decimal(digits))
  }

  @Test func anyDecimalComesBack() throws {
    var random = SeededGenerator()
    let greatest = Self.decimal("\(UInt128.max)")
    let ends = [greatest, -greatest, Decimal.greatestFiniteMagnitude, .leastNonzeroMagnitude, .pi]
    for decimal in ends + (0..<5_000).map({ _ in Self.random(using: &random) }) {
      let value = try ValueEncoder().encode(decimal)
      #expect(try ValueDecoder().decode(Decimal.self, from: value) == decimal, "\(decimal)")
      let record = EntityRecord(["a": value])
      #expect(try EntityRecord(checking: record.bytes)["a"] == value)
      #expect(record.key(at: AttributePath(["a"])) == ValueKey(value))
    }
  }

  /// Near each other, so that many share a double.
  @Test func numbersAreOrderedByValue() throws {
    var random = SeededGenerator()
    for _ in 0..<400 {
      let middle = Self.random(using: &random)
      var decimals = [middle, -middle, 0, 1]
      for _ in 0..<12 {
        let step = Decimal(
          sign: .plus, exponent: middle.exponent,
          significand: Decimal(Int.random(in: -999...999, using: &random)))
        decimals.append(middle + step)
        var rounded = Decimal()
        var near = middle + step
        _ = unsafe NSDecimalRound(&rounded, &near, Int.random(in: 0...30, using: &random), .plain)
        decimals.append(rounded)
      }
      let keys = decimals.map { ValueKey(FieldValue(number: $0)) }
      for (left, leftKey) in zip(decimals, keys) {
        for (right, rightKey) in zip(decimals, keys) {
          #expect((leftKey < rightKey) == (left < right), "\(left) and \(right)")
          #expect((leftKey == rightKey) == (left == right), "\(left) and \(right)")
        }
      }
    }
  }

  @Test func decimalsAreOrderedAmongIntegersAndDoubles() {
    func key(_ text: String) -> ValueKey { ValueKey(FieldValue(number: Self.decimal(text))) }
    let rising = [
      ValueKey(.double(-1e300)), key("-18446744073709551617"), key("-9223372036854775809"),
      ValueKey(.integer(.min)),
      key("-9007199254740992.5"), ValueKey(.integer(-9_007_199_254_740_992)), ValueKey(.double(-0.1)),
      key("-0.09999999999999999999"), ValueKey(0), ValueKey(.double(0.1)), key("0.1000000000000000000001"),
      ValueKey(.double(0.1.nextUp)), ValueKey(1), ValueKey(.integer(9_007_199_254_740_993)),
      key("9007199254740993.5"), ValueKey(.integer(9_007_199_254_740_994)), ValueKey(.unsigned(.max)),
      ValueKey(.double(0x1p64)), key("18446744073709551616.5"), ValueKey(.double(0x1p64.nextUp)),
      ValueKey(.double(.infinity)), ValueKey(.double(.nan)),
    ]
    for (index, left) in rising.enumerated() {
      for (other, right) in rising.enumerated() {
        #expect((left < right) == (index < other), "\(index) and \(other)")
      }
    }
    #expect(key("1.50") == ValueKey(.double(1.5)) && key("3.0") == ValueKey(.integer(3)))
    #expect(key("18446744073709551616") == ValueKey(.double(0x1p64)))
    // As a program without this type may write it.
    #expect(ValueKey(["$decimal": "0.50"]) == ValueKey(.double(0.5)))
    for other: FieldValue in [
      ["$decimal": "x"], ["$decimal": 1], ["$decimal": "1", "a": 1], ["$decimal": "1e999"],
    ] {
      #expect(ValueKey(other) == ValueKey(.array([])))
      #expect(EntityRecord(["a": other]).key(at: AttributePath(["a"])) == ValueKey(other))
    }
    for key in rising {
      let parts = key.parts
      #expect(ValueKey(head: parts.head, tail: parts.tail) == key)
    }
  }

  private struct Wide: Codable, Equatable {
    var signed: Int128
    var unsigned: UInt128
    var list: [Int128]
  }

  @Test func integersOf128BitsComeBack() throws {
    for wide in [
      Wide(signed: .min, unsigned: .max, list: [.max, 0, -1]), Wide(signed: 1, unsigned: 1, list: []),
      Wide(signed: 1 << 64, unsigned: 1 << 64, list: [Int128(Int64.min) - 1]),
    ] {
      #expect(try ValueDecoder().decode(Wide.self, from: ValueEncoder().encode(wide)) == wide)
    }
    #expect(try ValueEncoder().encode(Int128(1)) == 1)
    #expect(throws: DecodingError.self) {
      try ValueDecoder().decode(Int64.self, from: ValueEncoder().encode(Int128.max))
    }
    let rising = [Int128.min, Int128(Int64.min) - 1, -1, 0, 1 << 64, 1 << 64 + 1, .max]
    let keys = rising.map { ValueKey(FieldValue(number: $0)) }
    #expect(zip(keys, keys.dropFirst()).allSatisfy(<))
  }

  @Test func aRelativeURLKeepsItsBase() throws {
    let base = try #require(URL(string: "https://example.com/a/"))
    for text in ["b", "b/c?d#e", "../b", "?d", "#e", "/b"] {
      let url = try #require(URL(string: text, relativeTo: base))
      let value = try ValueEncoder().encode(url)
      #expect(value == .string("<https://example.com/a/>\(text)"))
      let decoded = try ValueDecoder().decode(URL.self, from: value)
      #expect(decoded == url && decoded.baseURL == base && decoded.relativeString == text)
    }
    #expect(throws: DecodingError.self) { try ValueDecoder().decode(URL.self, from: .string("")) }
  }
}
