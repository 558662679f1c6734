public import CBOR
public import Foundation

/// A type whose values queries can compare: texts, numbers, dates, booleans, types with such a raw value, and optionals
/// of these.
///
/// An enumeration only needs to declare conformance: `enum Course: String, Codable, QueryValue { … }`.
public protocol QueryValue {
  /// The type without nil: `Wrapped` for an optional, otherwise the type itself.
  associatedtype Present = Self
  /// The value as an attribute has it, or nil if the attribute is missing.
  var queryValue: FieldValue? { get }
}

extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
  /// The raw value.
  public var queryValue: FieldValue? { rawValue.queryValue }
}

extension QueryValue where Self: FixedWidthInteger {
  /// The number.
  public var queryValue: FieldValue? { FieldValue(number: self) }
}

extension QueryValue where Self: BinaryFloatingPoint {
  /// The number.
  public var queryValue: FieldValue? { .double(Double(self)) }
}

extension Optional: QueryValue where Wrapped: QueryValue {
  /// The type without nil.
  public typealias Present = Wrapped.Present
  /// The wrapped value. Nil counts as missing.
  public var queryValue: FieldValue? { flatMap(\.queryValue) }
}

extension String: QueryValue {
  /// The text.
  public var queryValue: FieldValue? { .string(self) }
}
extension Bool: QueryValue {
  /// The boolean.
  public var queryValue: FieldValue? { .bool(self) }
}
extension Double: QueryValue {}
extension Float: QueryValue {}
extension Int: QueryValue {}
extension Int8: QueryValue {}
extension Int16: QueryValue {}
extension Int32: QueryValue {}
extension Int64: QueryValue {}
extension UInt: QueryValue {}
extension UInt8: QueryValue {}
extension UInt16: QueryValue {}
extension UInt32: QueryValue {}
extension UInt64: QueryValue {}
extension Int128: QueryValue {}
extension UInt128: QueryValue {}
extension Decimal: QueryValue {
  /// The number. Decimal numbers compare by value with each other, with integers and, by their shortest digits, with
  /// doubles: 1.50 equals 1.5.
  public var queryValue: FieldValue? { FieldValue(number: self) }
}
extension Date: QueryValue {
  /// The date.
  public var queryValue: FieldValue? { .date(self) }
}
extension Data: QueryValue {
  /// The bytes.
  public var queryValue: FieldValue? { .data(self) }
}
extension UUID: QueryValue {
  /// The text by which a UUID is encoded.
  public var queryValue: FieldValue? { .string(uuidString) }
}
extension URL: QueryValue {
  /// The text by which a URL is encoded.
  public var queryValue: FieldValue? { FieldValue(self) }
}
extension EntityID: QueryValue {
  /// The number.
  public var queryValue: FieldValue? { .integer(Int64(number)) }
}

/// A collection that is encoded as an array of its elements, so that queries find them: `.contains(\.tags, "hot")`; or an
/// optional one.
///
/// Declare conformance for a type of yours that encodes itself as an array. Not every collection does: a `ClosedRange`
/// encodes its bounds, and `Data` is one value.
public protocol QueryArray {
  /// The type of the elements.
  associatedtype Element
}

extension Array: QueryArray {}
extension ContiguousArray: QueryArray {}
extension Set: QueryArray {}
extension Optional: QueryArray where Wrapped: QueryArray {
  /// The type of the elements of the wrapped collection.
  public typealias Element = Wrapped.Element
}
