public import Foundation

/// A value of a record's field: any property-list or JSON value, including null.
public enum FieldValue: Hashable, Sendable {
  /// JSON's null. An attribute with this value exists; an absent attribute has no value.
  case null
  /// True or false; never equal to a number.
  case bool(Bool)
  /// An integer; never equal to a `.double`.
  case integer(Int64)
  /// An integer above `Int64.max`; smaller ones are always `.integer`.
  case unsigned(UInt64)
  /// A number that may have a fraction. Every NaN is stored with the same bits.
  case double(Double)
  /// A text. Records compare texts byte by byte.
  case string(String)
  /// Bytes. Store large data as an image instead.
  case data(Data)
  /// A date, stored as Foundation represents it, in seconds since 2001, so that it is restored bit for bit.
  case date(Date)
  /// Values in order.
  case array([FieldValue])
  /// Values by name; the order of the names is not preserved.
  case dictionary([String: FieldValue])
}

extension FieldValue: CustomStringConvertible {
  /// The value as a text for people, similar to JSON: `"Dune"`, `4`, `[1, 2]`, `{"a": null}`. A date is written as in
  /// RFC 3339, and data as its size.
  public var description: String { text(depth: 0) }

  /// The recursion ends at a depth that no journal accepts, because a deeply nested value would overflow the stack.
  private func text(depth: Int) -> String {
    switch self {
    case .null: return "null"
    case .bool(let bool): return bool ? "true" : "false"
    case .integer(let number): return number.description
    case .unsigned(let number): return number.description
    case .double(let number): return number.description
    case .string(let string): return string.debugDescription
    case .data(let data): return "<\(data.count) bytes>"
    case .date(let date):
      // Foundation's description of a date in the far future or past crashes.
      return Timestamp(date)?.description ?? "\(date.timeIntervalSinceReferenceDate) s after 2001"
    case .array(let elements):
      guard depth < 128 else { return "[…]" }
      return "[\(elements.map { $0.text(depth: depth + 1) }.joined(separator: ", "))]"
    case .dictionary(let members):
      guard depth < 128 else { return "{…}" }
      let parts = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        .map { "\($0.key.debugDescription): \($0.value.text(depth: depth + 1))" }
      return "{\(parts.joined(separator: ", "))}"
    }
  }
}

extension FieldValue {
  /// Whether two values have equal encoded bytes. Swift's `==` compares strings by canonical equivalence, and NaN is
  /// not equal to itself.
  package func isIdentical(to other: FieldValue?) -> Bool {
    guard let other else { return false }
    return EntityRecord(["": self]).bytes == EntityRecord(["": other]).bytes
  }
}
