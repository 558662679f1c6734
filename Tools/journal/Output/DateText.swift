import CatalogModel
import Foundation

extension Date {
  /// `2026-08-01 10:00:00`, in UTC.
  var printable: String {
    guard let timestamp = Timestamp(self) else { return "?" }
    let text = timestamp.description
    return String(text.prefix { $0 != "." }).replacingOccurrences(of: "T", with: " ")
  }

  /// What the clock said, in brackets and behind a space; empty when it said the same.
  func clockRemark(_ clockDate: Date) -> String {
    differs(from: clockDate) ? " [clock: \(clockDate.printable)]" : ""
  }
}

/// Stands where an author, a note or an entity's content has been erased.
let erasedText = "(erased)"
