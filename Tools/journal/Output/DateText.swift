import CatalogModel
import Foundation

extension Date {
  /// `2026-08-01 10:00:00`, in UTC.
  var printable: String {
    guard let timestamp = Timestamp(self) else { return "?" }
    let text = timestamp.description
    return String(text.prefix { $0 != "." }).replacingOccurrences(of: "T", with: " ")
  }

  /// RFC 3339 with microseconds, in UTC.
  var precise: String { Timestamp(self)?.description ?? "?" }

  /// Whether the date of an entry and what the clock said are further apart than two clocks that are right.
  func differs(from clockDate: Date) -> Bool { abs(timeIntervalSince(clockDate)) > 1 }

  /// What the clock said, in brackets and behind a space; empty when it said the same.
  func clockRemark(_ clockDate: Date) -> String {
    differs(from: clockDate) ? " [clock: \(clockDate.printable)]" : ""
  }
}

/// Stands where an author, a note or an entity's content has been erased.
let erasedText = "(erased)"
