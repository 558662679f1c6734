package import Foundation

/// A decimal number as the fields of an `NSDecimalNumber` in an archive.
package struct ArchivedDecimal {
  package let exponent: Int
  /// How many units of 16 bits the mantissa has.
  package let length: Int
  package let isNegative: Bool
  /// Always 16 bytes. In each unit the lower byte comes first, as the units do.
  package let mantissa: [UInt8]

  /// Nil if a part is out of range.
  package init?(exponent: Int, length: Int, isNegative: Bool, mantissa: [UInt8], isLowFirst: Bool) {
    guard (-128...127).contains(exponent), (0...8).contains(length), mantissa.count >= 2 * length else {
      return nil
    }
    self.exponent = exponent
    self.length = length
    self.isNegative = isNegative
    let bytes = (0..<2 * length).map { mantissa[isLowFirst ? $0 : $0 ^ 1] }
    self.mantissa = bytes + [UInt8](repeating: 0, count: 16 - bytes.count)
  }

  package init(_ decimal: Decimal) {
    let digits = UInt128(decimal.significand.magnitude.description) ?? 0
    mantissa = (0..<16).map { UInt8(truncatingIfNeeded: digits >> (8 * $0)) }
    length = (UInt128.bitWidth - digits.leadingZeroBitCount + 15) / 16
    exponent = decimal.isNaN ? 0 : decimal.exponent
    // NaN is encoded as a negative number without digits.
    isNegative = decimal.isNaN || decimal.isSignMinus
  }

  /// The number.
  package var decimal: Decimal {
    if length == 0 { return isNegative ? .nan : 0 }
    var value: Decimal = 0
    for place in (0..<length).reversed() {
      value = value * 65536 + Decimal(Int(mantissa[2 * place + 1]) << 8 | Int(mantissa[2 * place]))
    }
    return Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: value)
  }
}
