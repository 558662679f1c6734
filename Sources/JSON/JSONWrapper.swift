import CBOR
import Foundation

/// The forms that stand for what JSON has no words for: objects with a single key that starts with `$`.
///
/// | value | form |
/// |---|---|
/// | a date of the years 0001 to 9999 | `{"$date":"2026-08-01T10:00:00.000000Z"}` |
/// | any other date, also not a number or infinite | `{"$date":"1e+300"}`: its seconds since 2001 began, UTC |
/// | data | `{"$data":"aGVsbG8="}`: base64 with padding |
/// | a double that is no number or infinite | `{"$double":"nan"}`, `"inf"`, `"-inf"` |
/// | a dictionary that looks like one of these | `{"$$date":…}`: one more `$` |
///
/// The dates of years 0001 to 9999 lose what is finer than a microsecond.
enum JSONWrapper {
  case date
  case data
  case double
  /// A dictionary whose only key, given here as it was, looks like a wrapper's.
  case escaped(key: String)

  private static let names = ["date", "data", "double"]

  /// The wrapper that an object's only key announces, if it does.
  init?(key: String) {
    guard Self.isReserved(key) else { return nil }
    switch key {
    case "$date": self = .date
    case "$data": self = .data
    case "$double": self = .double
    default: self = .escaped(key: String(key.utf8.dropFirst())!)
    }
  }

  /// Whether a dictionary with this key alone must be escaped: one of the names after at least one `$`.
  static func isReserved(_ key: String) -> Bool {
    guard key.utf8.first == UInt8(ascii: "$") else { return false }
    let name = key.utf8.drop { $0 == UInt8(ascii: "$") }
    return names.contains { name.elementsEqual($0.utf8) }
  }

  /// What must stand behind the key, for an error's sentence.
  var content: String {
    switch self {
    case .date: "a date such as \"2026-08-01T10:00:00Z\", or seconds since 2001, as a string"
    case .data: "a string in base64"
    case .double: "\"nan\", \"inf\" or \"-inf\""
    case .escaped: "a value"
    }
  }

  /// The value that the wrapper with this content stands for; nil if the content does not fit.
  func unwrap(_ content: FieldValue) -> FieldValue? {
    if case .escaped(let key) = self { return .dictionary([key: content]) }
    guard case .string(let text) = content else { return nil }
    switch self {
    case .date:
      if let timestamp = Timestamp(text) { return .date(timestamp.date) }
      // Only as it is written: "2026" is a mistake for a date, not 34 minutes after 2001 began.
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

  /// The content that stands for a date.
  static func content(for date: Date) -> String {
    if let timestamp = Timestamp(date), Timestamp.fourDigitYears.contains(timestamp) {
      return timestamp.description
    }
    return date.timeIntervalSinceReferenceDate.description
  }
}
