import CatalogModel
import Foundation

extension Date {
  /// `2026-08-01 10:00:00`, in UTC.
  var printable: String {
    guard let timestamp = Timestamp(self) else { return "?" }
    let text = timestamp.description
    return String(text.prefix { $0 != "." }).replacingOccurrences(of: "T", with: " ")
  }

  /// The date of the clock, in brackets after a space; empty if it is the same.
  func clockRemark(_ clockDate: Date) -> String {
    differs(from: clockDate) ? " [clock: \(clockDate.printable)]" : ""
  }
}

/// Replaces an erased author, note or content.
let erasedText = "(erased)"
