import CBOR
import Foundation

/// The forms of values that JSON lacks: objects with a single key that begins with `$`.
///
/// | value | form |
/// |---|---|
/// | a date of the years 0001 to 9999 | `{"$date":"2026-08-01T10:00:00.000000Z"}` |
/// | any other date, such as NaN or infinity | `{"$date":"1e+300"}`: its seconds since the start of 2001, UTC |
/// | data | `{"$data":"aGVsbG8="}`: base64 with padding |
/// | a double that is NaN or infinite | `{"$double":"nan"}`, `"inf"`, `"-inf"` |
/// | a dictionary that looks like one of these | `{"$$date":…}`: with another `$` |
///
/// Dates of the years 0001 to 9999 are rounded to microseconds, but never into the next second.
enum JSONWrapper {
  case date
  case data
  case double
  /// A dictionary whose only key looks like a wrapper's. The associated key is unescaped.
  case escaped(key: String)

  private static let names = ["date", "data", "double"]

  init?(key: String) {
    guard Self.isReserved(key) else { return nil }
    switch key {
    case "$date": self = .date
    case "$data": self = .data
    case "$double": self = .double
    default: self = .escaped(key: String(key.utf8.dropFirst())!)
    }
  }

  /// Whether a dictionary with only this key must be escaped.
  static func isReserved(_ key: String) -> Bool {
    guard key.utf8.first == UInt8(ascii: "$") else { return false }
    let name = key.utf8.drop { $0 == UInt8(ascii: "$") }
    return names.contains { name.elementsEqual($0.utf8) }
  }

  /// The expected content, for the sentence of an error.
  var content: String {
    switch self {
    case .date: "a date such as \"2026-08-01T10:00:00Z\", or seconds since 2001, as a string"
    case .data: "a string in base64"
    case .double: "\"nan\", \"inf\" or \"-inf\""
    case .escaped: "a value"
    }
  }

  /// The value that the wrapper represents; nil if the content is not valid.
  func unwrap(_ content: FieldValue) -> FieldValue? {
    if case .escaped(let key) = self { return .dictionary([key: content]) }
    guard case .string(let text) = content else { return nil }
    switch self {
    case .date:
      if let timestamp = Timestamp(text) { return .date(timestamp.date) }
      // Only the exact form that this module writes is accepted: "2026" is probably a mistaken date, and not 34 minutes
      // after the start of 2001.
      guard let seconds = Double(text), seconds.description == text else { return nil }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case .data:
      return Data(base64Encoded: text).map { .data($0) }
    case .double:
      return ["nan", "inf", "-inf"].contains(text) ? Double(text).map { .double($0) } : nil
    case .escaped:
      return nil
    }
  }

  static func content(for date: Date) -> String {
    if let timestamp = Timestamp(date), timestamp.hasFourDigitYear {
      return timestamp.description
    }
    return date.timeIntervalSinceReferenceDate.description
  }
}
