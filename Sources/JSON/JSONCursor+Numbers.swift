import Foundation

/// A valid number in the text. Its first digits are already converted.
struct NumberToken {
  let range: Range<Int>
  let isNegative: Bool
  /// Whether it has neither a point nor an exponent.
  let isInteger: Bool
  /// The first 19 significant digits as one number. More might not fit.
  let mantissa: UInt64
  /// Whether the number has no more digits than the mantissa.
  let isExact: Bool
  /// The exponent of the power of ten by which an exact mantissa is to be multiplied.
  let exponent: Int
  /// Whether it is finite as a `Double`.
  var isFinite = true
}

extension JSONCursor {
  /// Reads a number that starts at the position.
  mutating func readNumber() throws(JSONError) -> NumberToken {
    let start = position
    let isNegative = byte == UInt8(ascii: "-")
    if isNegative { position += 1 }

    var digits = DigitCollector()
    let integerStart = position
    collect(&digits)
    let integerCount = position - integerStart
    guard integerCount > 0 else { throw missingDigit(after: "'-'") }
    guard integerCount == 1 || self[integerStart] != UInt8(ascii: "0") else {
      throw error(.invalidNumber, at: start, "a number with an unnecessary leading zero")
    }

    var isInteger = true
    var fractionCount = 0
    if byte == UInt8(ascii: ".") {
      isInteger = false
      position += 1
      let fractionStart = position
      collect(&digits)
      fractionCount = position - fractionStart
      guard fractionCount > 0 else { throw missingDigit(after: "the point") }
    }

    var exponent = 0
    if byte | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      position += 1
      exponent = try readExponent()
    }

    var token = NumberToken(
      range: start..<position, isNegative: isNegative, isInteger: isInteger, mantissa: digits.mantissa,
      isExact: digits.dropped == 0, exponent: exponent - fractionCount)
    // A number below 10^308 is finite. Only larger ones need the expensive conversion to find out.
    if integerCount + exponent > 308 { token.isFinite = double(of: token).isFinite }
    return token
  }

  /// Collects significant digits from the left, as many as are certain to fit.
  private struct DigitCollector {
    var mantissa: UInt64 = 0
    var count = 0
    var dropped = 0

    @inline(__always) mutating func add(_ digit: UInt8) {
      if count < 19 {
        mantissa = mantissa &* 10 &+ UInt64(digit)
        // Leading zeros are not significant.
        if mantissa > 0 { count += 1 }
      } else {
        dropped += 1
      }
    }
  }

  @inline(__always) private mutating func collect(_ digits: inout DigitCollector) {
    while true {
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10 else { return }
      digits.add(digit)
      position += 1
    }
  }

  /// Reads the exponent after `e`. Exponents that no number of digits can make up for are clamped; `double(of:)` then
  /// reads the text.
  private mutating func readExponent() throws(JSONError) -> Int {
    let isNegative = byte == UInt8(ascii: "-")
    if isNegative || byte == UInt8(ascii: "+") { position += 1 }
    let start = position
    var exponent = 0
    while byte &- UInt8(ascii: "0") < 10 {
      exponent = min(exponent * 10 + Int(byte - UInt8(ascii: "0")), 1 << 53)
      position += 1
    }
    guard position > start else { throw missingDigit(after: "the exponent's sign or 'e'") }
    return isNegative ? -exponent : exponent
  }

  private func missingDigit(after place: String) -> JSONError {
    guard !isAtEnd else {
      return error(.unexpectedEnd, at: position, "the text ends where a digit should be, after \(place)")
    }
    return error(.invalidNumber, at: position, "\(name(of: byte)) where a digit should be, after \(place)")
  }

  /// The nearest `Double`.
  func double(of token: NumberToken) -> Double {
    // Both operands are exact, so the single rounding is correct (Clinger's fast path).
    if token.isExact, token.mantissa <= 1 << 53, abs(token.exponent) <= 22 {
      let magnitude =
        token.exponent < 0
        ? Double(token.mantissa) / Self.powersOfTen[-token.exponent]
        : Double(token.mantissa) * Self.powersOfTen[token.exponent]
      return token.isNegative ? -magnitude : magnitude
    }
    // The standard library rounds correctly too, but needs a string. It accepts every valid JSON number.
    return Double(text(in: token.range)) ?? .nan
  }

  /// Whether the nearest `Double`, written with as many digits as the number, has other digits.
  func losesDigits(_ token: NumberToken, as double: Double) -> Bool {
    // A double keeps 15 digits, unless it is very small.
    if token.isExact, token.mantissa < 1_000_000_000_000_000, double.isNormal || token.mantissa == 0 {
      return false
    }
    let digits = Self.significantDigits(text(in: token.range))
    // No double has more.
    guard digits.count <= 767 else { return true }
    return Self.significantDigits(String(format: "%.\(max(digits.count, 1) - 1)e", double)) != digits
  }

  /// The digits of a number without its exponent, and without the zeros at both ends.
  private static func significantDigits(_ number: String) -> [UInt8] {
    let digits = number.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }.filter { $0 &- UInt8(ascii: "0") < 10 }
    let trimmed = digits.drop { $0 == UInt8(ascii: "0") }.reversed().drop { $0 == UInt8(ascii: "0") }
    return trimmed.reversed()
  }

  /// The integer without its sign, if it fits.
  func magnitude(of token: NumberToken) -> UInt64? {
    if token.isExact { return token.mantissa }
    return UInt64(text(in: token.isNegative ? token.range.dropFirst() : token.range))
  }

  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
  ]
}
