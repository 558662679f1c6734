import CatalogModel
import Foundation

extension Date {
  /// `2026-08-01 10:00:00`, in UTC.
  var printable: String { String(printableWithFraction.prefix { $0 != "." }) }

  /// The same with the fraction of a second, to the microsecond, if there is one: `2026-08-01 10:00:00.25`.
  var printableWithFraction: String {
    guard let timestamp = Timestamp(self) else { return "?" }
    var text = timestamp.description.replacingOccurrences(of: "T", with: " ")
    // The fraction has six digits.
    text.removeLast()
    while text.last == "0" { text.removeLast() }
    if text.last == "." { text.removeLast() }
    return text
  }
}
