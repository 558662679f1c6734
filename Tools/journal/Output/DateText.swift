import CatalogModel
import Foundation

extension Date {
  /// `2026-08-01 10:00:00`, in UTC.
  var printable: String {
    guard let timestamp = Timestamp(self) else { return "?" }
    let text = timestamp.description
    return String(text.prefix { $0 != "." }).replacingOccurrences(of: "T", with: " ")
  }
}
