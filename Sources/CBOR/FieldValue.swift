public import Foundation

/// A value of a record's field: any property-list or JSON value, including null.
public enum FieldValue: Hashable, Sendable {
  /// JSON's null, which is a value: not the same as an absent attribute.
  case null
  /// True or false; never equal to a number.
  case bool(Bool)
  /// An integer; never equal to a `.double`.
  case integer(Int64)
  /// An integer above `Int64.max`; smaller ones are always `.integer`.
  case unsigned(UInt64)
  /// A number that may have a fraction. All NaNs are one.
  case double(Double)
  /// Text, compared byte by byte where it is stored.
  case string(String)
  /// Bytes; store large ones as an image.
  case data(Data)
  /// Stored as Foundation represents it, in seconds since 2001, so that it is restored bit for bit.
  case date(Date)
  /// Values in order.
  case array([FieldValue])
  /// Values by name; the order of the names is not preserved.
  case dictionary([String: FieldValue])
}

extension FieldValue {
  /// Whether the values are equal byte by byte. Swift's own equality compares strings by canonical equivalence, and NaN
  /// is never equal to itself.
  package func isIdentical(to other: FieldValue?) -> Bool {
    guard let other else { return false }
    return EntityRecord(["": self]).bytes == EntityRecord(["": other]).bytes
  }
}
