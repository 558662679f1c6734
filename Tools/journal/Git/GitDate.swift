import CBOR

/// A date of a commit.
struct GitDate {
  private static let textLimit = 100

  /// The beginning of what the commit has: seconds since 1970 and a zone, or anything else.
  let text: String
  /// Nil if it is missing or no number, or if its year is not 1 to 9999: a journal can't have such a date.
  let timestamp: Timestamp?

  init(_ text: String) {
    self.text = String(text.prefix(Self.textLimit))
    let seconds = text.split(separator: " ").first.flatMap { Int64($0) }
    let (microseconds, overflows) = (seconds ?? 0).multipliedReportingOverflow(by: 1_000_000)
    let stamp = Timestamp(microseconds: microseconds)
    timestamp = seconds != nil && !overflows && stamp.hasFourDigitYear ? stamp : nil
  }

  /// The date as metadata have it; nil if it is missing.
  var description: String? { timestamp?.description ?? (text.isEmpty ? nil : text) }
}
