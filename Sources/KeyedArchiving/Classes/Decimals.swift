public import Foundation
import PropertyLists

/// A decimal number as the fields of an `NSDecimalNumber` in an archive.
package struct ArchivedDecimal {
  package let exponent: Int
  /// The number of 16-bit units in the mantissa.
  package let length: Int
  package let isNegative: Bool
  /// Always 16 bytes: the lowest unit first, and in each unit the lower byte first.
  package let mantissa: [UInt8]

  /// Fails if a part is out of range.
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

extension ArchivedValue {
  /// The exact value of an `NSDecimalNumber`. Nil for other numbers.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if its parts are missing or out of range.
  public var decimal: Decimal? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSDecimalNumber") else { return nil }
      guard let exponent = try object["NS.exponent"]?.integer, let length = try object["NS.length"]?.integer,
        let isNegative = try object["NS.negative"]?.bool, let mantissa = try object["NS.mantissa"]?.data,
        // 1 means that the lower byte comes first, as on all of Apple's current platforms.
        let decimal = ArchivedDecimal(
          exponent: exponent, length: length, isNegative: isNegative, mantissa: [UInt8](mantissa),
          isLowFirst: try object["NS.mantissa.bo"]?.integer ?? 1 == 1)
      else {
        throw object.malformed("the decimal number has no exponent, length, sign or mantissa, or a wrong one")
      }
      return decimal.decimal
    }
  }

  /// The exact value of a number or, for a real, the shortest decimal that is read as this real; nil for other values.
  var exactDecimal: Decimal? {
    get throws(ArchiveError) {
      switch self {
      case .integer(let value): return Decimal(value)
      case .unsigned(let value): return Decimal(value)
      case .real(let value) where value.isNaN: return .nan
      case .real(let value):
        guard value.isFinite, let decimal = Decimal(string: value.description, locale: nil) else {
          throw ArchiveError(.wrongType, "the number \(value) doesn't fit into Decimal")
        }
        return decimal
      default: return try decimal
      }
    }
  }
}

extension ArchiveNode {
  /// An `NSDecimalNumber`.
  public static func decimal(_ decimal: Decimal) -> ArchiveNode {
    let parts = ArchivedDecimal(decimal)
    return ArchiveNode(
      .decimalNumber,
      [
        "NS.exponent": .integer(Int64(parts.exponent)), "NS.length": .integer(Int64(parts.length)),
        "NS.negative": .bool(parts.isNegative), "NS.compact": .bool(true),
        // The lower byte comes first.
        "NS.mantissa.bo": .integer(1), "NS.mantissa": .bytes(parts.mantissa),
      ])
  }
}
