public import Foundation

/// What a field of a record can hold: any property-list or JSON value, null included.
public enum FieldValue: Hashable, Sendable {
  /// JSON's null: there is a value, and it is none. Not the same as an absent attribute.
  case null
  /// True or false; never equal to a number.
  case bool(Bool)
  /// A whole number; never equal to a `.double`.
  case integer(Int64)
  /// An integer above `Int64.max`; smaller ones are always `.integer`.
  case unsigned(UInt64)
  /// A number that may have a fraction. All NaNs are one.
  case double(Double)
  /// Text, compared byte by byte where it is stored.
  case string(String)
  /// Bytes; large ones belong into an image.
  case data(Data)
  /// Kept as Foundation keeps it, in seconds since 2001, so that it comes back bit for bit.
  case date(Date)
  /// Values in order.
  case array([FieldValue])
  /// Values by name; the order of the names is not kept.
  case dictionary([String: FieldValue])
}
