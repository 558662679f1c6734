public import Foundation

/// What a field of a record can hold: any property-list or JSON value, null included.
public enum Value: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// An integer above `Int64.max`; smaller ones are always `.integer`.
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case data(Data)
  /// Kept as Foundation keeps it, in seconds since 2001, so that it comes back bit for bit.
  case date(Date)
  case array([Value])
  case dictionary([String: Value])
}
