import CBOR
import Foundation

struct NumberToken {
  let range: Range<Int>
  /// Whether the number has no point and no exponent.
  let isInteger: Bool
}

extension JSONCursor {
  mutating func readNumber() throws(JSONError) -> NumberToken {
    let start = position
    if byte == UInt8(ascii: "-") { position += 1 }
    let first = byte
    let integerCount = try skipDigits(after: "'-'")
    guard integerCount == 1 || first != UInt8(ascii: "0") else {
      throw error(.invalidNumber, at: start, "a number with an unnecessary leading zero")
    }
    var isInteger = true
    if byte == UInt8(ascii: ".") {
      isInteger = false
      position += 1
      _ = try skipDigits(after: "the point")
    }
    if byte | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      position += 1
      if byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") { position += 1 }
      _ = try skipDigits(after: "the exponent's sign or 'e'")
    }
    return NumberToken(range: start..<position, isInteger: isInteger)
  }

  /// Skips one or more digits, and returns their count.
  private mutating func skipDigits(after place: String) throws(JSONError) -> Int {
    let start = position
    while byte &- UInt8(ascii: "0") < 10 { position += 1 }
    if position > start { return position - start }
    guard !isAtEnd else {
      throw error(.unexpectedEnd, at: position, "the text ends where a digit should be, after \(place)")
    }
    throw error(
      .invalidNumber, at: position, "\(name(of: byte)) where a digit should be, after \(place)")
  }

  /// The number as an integer; nil if it has a point or an exponent, or does not fit 64 bits.
  func integer(of token: NumberToken) -> FieldValue? {
    guard token.isInteger else { return nil }
    let text = text(in: token.range)
    return Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) }
  }

  /// The nearest `Double`. The standard library accepts every valid JSON number, so this is never `nan`.
  func double(of token: NumberToken) -> Double { Double(text(in: token.range)) ?? .nan }

  /// Whether `double`, the nearest to the number, has other digits if it is written with as many digits.
  func losesDigits(_ token: NumberToken, as double: Double) -> Bool {
    // A token of 16 characters with a point or an exponent has at most 15 digits, which a double keeps.
    if token.range.count <= 16, double.isNormal { return false }
    let digits = Self.significantDigits(text(in: token.range))
    // A double keeps 15 digits unless it is subnormal. Its exact value has at most 767 digits.
    if digits.count <= 15, double.isNormal || digits.isEmpty { return false }
    guard digits.count <= 767 else { return true }
    return Self.significantDigits(String(format: "%.\(max(digits.count, 1) - 1)e", double)) != digits
  }

  /// The digits of a number without its exponent, and without the zeros at both ends.
  private static func significantDigits(_ number: String) -> [UInt8] {
    let digits = number.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }.filter { $0 &- UInt8(ascii: "0") < 10 }
    let trimmed = digits.drop { $0 == UInt8(ascii: "0") }.reversed().drop { $0 == UInt8(ascii: "0") }
    return trimmed.reversed()
  }
}
