import CatalogModel
import Foundation
import KeyedArchiving

/// Exact decimal numbers in attributes: an integer, the double that is printed with the same digits, or the digits as a
/// text if there is no such number.
extension FieldValue {
  /// Nil for NaN.
  init?(_ decimal: Decimal) {
    let digits = decimal.description
    if decimal.isNaN { return nil }
    if let integer = Int64(digits) {
      self = .integer(integer)
    } else if let double = Double(digits), Decimal(string: double.description) == decimal {
      self = .double(double)
    } else {
      self = .string(digits)
    }
  }

  /// The number that the value is, if it is one.
  var decimal: Decimal? {
    switch self {
    case .integer(let integer): return Decimal(integer)
    case .unsigned(let integer): return Decimal(integer)
    case .double(let double): return double.isFinite ? Decimal(string: double.description) : nil
    case .string(let text): return Decimal(string: text).flatMap { $0.description == text ? $0 : nil }
    default: return nil
    }
  }
}

extension Decimal {
  /// The fields of the number's object in an archive.
  var archivedFields: [String: FieldValue] {
    let parts = ArchivedDecimal(self)
    return [
      "NS.exponent": .integer(Int64(parts.exponent)), "NS.length": .integer(Int64(parts.length)),
      "NS.negative": .bool(parts.isNegative), "NS.compact": true, "NS.mantissa.bo": 1,
      "NS.mantissa": .data(Data(parts.mantissa)),
    ]
  }

  /// The number with these fields.
  init?(archivedFields fields: [String: FieldValue]) {
    guard let exponent = fields["NS.exponent"]?.integer, let length = fields["NS.length"]?.integer,
      let mantissa = fields["NS.mantissa"]?.data,
      let parts = ArchivedDecimal(
        exponent: exponent, length: length, isNegative: [true, 1].contains(fields["NS.negative"]),
        mantissa: [UInt8](mantissa),
        isLowFirst: fields["NS.mantissa.bo"] ?? 1 == 1)
    else { return nil }
    self = parts.decimal
  }
}
