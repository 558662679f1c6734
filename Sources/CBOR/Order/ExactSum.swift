package import Foundation

/// Adds up numbers, so that the sum does not depend on their order.
package protocol ExactSum: Sendable {
  init()
  /// Adds the number with a key. Returns false if the key is not that of such a number.
  mutating func add(_ key: ValueKey) -> Bool
  mutating func add(_ other: Self)
}

/// The sum of integers.
package struct WholeSum: ExactSum {
  /// The sums of the low 64 bits of all numbers, and of the bits above these.
  private var (low, high): (Int128, Int128) = (0, 0)

  package init() {}

  package mutating func add(_ key: ValueKey) -> Bool {
    guard let number = key.wholeNumber else { return false }
    low += Int128(UInt64(truncatingIfNeeded: number))
    high += number >> 64
    return true
  }

  package mutating func add(_ other: WholeSum) {
    low += other.low
    high += other.high
  }

  /// The sum, nil if it has more than 128 bits.
  package var value: Int128? {
    let (top, overflows) = (high + (low >> 64)).multipliedReportingOverflow(by: 1 << 64)
    return overflows ? nil : top + Int128(UInt64(truncatingIfNeeded: low))
  }
}

/// The sum of doubles: that of their exact values, rounded once.
///
/// The bits of each double are added to an integer for 32 neighboring exponents. Most sums need one or two of these.
package struct DoubleSum: ExactSum {
  /// The integer at an index has the unit 2 to the power of 32 · (first + index) - 1075.
  private var parts: [Int128] = []
  private var first = 0
  /// The sum of infinities and NaN, 0 without these.
  private var special = 0.0

  package init() {}

  package mutating func add(_ key: ValueKey) -> Bool {
    guard let number = key.double else { return false }
    guard number.isFinite else {
      special += number
      return true
    }
    // A subnormal number has the exponent of the least normal one, without the leading bit.
    let exponent = max(Int(number.exponentBitPattern), 1)
    let bits = number.significandBitPattern | (number.exponentBitPattern > 0 ? 1 << 52 : 0)
    let value = Int128(bits) &<< Int128(exponent & 31)
    add(number.sign == .minus ? -value : value, to: exponent >> 5)
    return true
  }

  package mutating func add(_ other: DoubleSum) {
    for (index, value) in other.parts.enumerated() { add(value, to: other.first + index) }
    special += other.special
  }

  private mutating func add(_ value: Int128, to part: Int) {
    if parts.isEmpty { first = part }
    if part < first {
      parts.insert(contentsOf: repeatElement(0, count: first - part), at: 0)
      first = part
    }
    while parts.count <= part - first { parts.append(0) }
    parts[part - first] += value
  }

  /// The sum, rounded to the nearest double.
  package var value: Double {
    if special != 0 { return special }
    let (digits, isNegative) = digits
    guard let top = digits.lastIndex(where: { $0 != 0 }) else { return 0 }
    // Four digits have at least 97 bits. One more bit says whether anything follows, so rounding is right.
    let low = max(top - 3, 0)
    var significand = digits[low...top].reversed().reduce(UInt128(0)) { $0 << 32 | UInt128($1) }
    if digits[..<low].contains(where: { $0 != 0 }) { significand |= 1 }
    let sum = Double(sign: .plus, exponent: 32 * (first + low) - 1075, significand: Double(significand))
    return isNegative ? -sum : sum
  }

  /// The digits of the sum's magnitude, each of 32 bits, the lowest first.
  private var digits: (digits: [UInt32], isNegative: Bool) {
    func carry(_ parts: [Int128]) -> (digits: [UInt32], rest: Int128) {
      var digits: [UInt32] = []
      var rest: Int128 = 0
      for part in parts + repeatElement(0, count: 4) {
        rest += part
        digits.append(UInt32(truncatingIfNeeded: rest))
        rest >>= 32
      }
      return (digits, rest)
    }
    let (digits, rest) = carry(parts)
    return rest < 0 ? (carry(parts.map { -$0 }).digits, true) : (digits, false)
  }
}

/// The sum of decimal numbers.
package struct DecimalSum: ExactSum {
  /// For each exponent of ten, the sums of the low and of the high 64 bits of the digits.
  private var parts: [(exponent: Int, low: Int128, high: Int128)] = []

  package init() {}

  package mutating func add(_ key: ValueKey) -> Bool {
    guard let number = key.exactNumber else { return false }
    let low = Int128(UInt64(truncatingIfNeeded: number.digits))
    let high = Int128(number.digits >> 64)
    add(number.isNegative ? (number.exponent, -low, -high) : (number.exponent, low, high))
    return true
  }

  package mutating func add(_ other: DecimalSum) { for part in other.parts { add(part) } }

  private mutating func add(_ part: (exponent: Int, low: Int128, high: Int128)) {
    let place = parts.firstIndex { $0.exponent == part.exponent } ?? parts.count
    if place == parts.count { parts.append((part.exponent, 0, 0)) }
    parts[place].low += part.low
    parts[place].high += part.high
  }

  /// The sum, nil if it has more than 38 digits.
  package var value: Decimal? {
    var (sum, unit) = (Int128(0), 0)
    for part in parts.sorted(by: { $0.exponent > $1.exponent }) where part.low != 0 || part.high != 0 {
      let (high, isTooHigh) = part.high.multipliedReportingOverflow(by: 1 << 64)
      let (digits, isTooLarge) = high.addingReportingOverflow(part.low)
      if isTooHigh || isTooLarge { return nil }
      while sum != 0, unit > part.exponent {
        let (product, overflows) = sum.multipliedReportingOverflow(by: 10)
        if overflows { return nil }
        (sum, unit) = (product, unit - 1)
      }
      unit = part.exponent
      let (next, overflows) = sum.addingReportingOverflow(digits)
      if overflows { return nil }
      sum = next
    }
    return ExactNumber(isNegative: sum < 0, digits: sum.magnitude, exponent: unit).decimal
  }
}
