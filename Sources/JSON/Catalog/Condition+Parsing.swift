import CBOR
package import CatalogModel
package import EntitySearch
package import Foundation

extension EntityQuery.Condition {
  /// Parses a condition: `stars>=4`, `title^=Du`, `author!=ana`, `title=Dune`, or `stars=null` for items
  /// without stars.
  ///
  /// The value is in JSON, or a plain text. A date may be written as the command line prints it, `2026-08-01 10:00:00`,
  /// or shorter, `2026-08-01 10:00`, `2026-08-01` or `2026-08`.
  /// - Parameters:
  ///   - text: a field, one of `=`, `!=`, `<`, `<=`, `>`, `>=` and `^=` (begins with), and a value.
  ///   - timeZone: the zone of a date that names no zone.
  /// - Throws: `JournalError` with code `wrongUse` if the text has another form, or `invalidSelector` for a day that
  ///   did not exist in the zone.
  package init(parsing text: String, timeZone: TimeZone = .gmt) throws(JournalError) {
    let operators = ["!=", ">=", "<=", "^=", "=", ">", "<"]
    let places = operators.compactMap { sign in text.firstRange(of: sign).map { (sign, $0) } }
    // The first operator counts; if two begin at the same place, the longer one.
    let first = places.min { ($0.1.lowerBound, $1.0.count) < ($1.1.lowerBound, $0.0.count) }
    let field = first.map { text[..<$0.1.lowerBound].trimmingCharacters(in: .whitespaces) } ?? ""
    guard let (sign, place) = first, !field.isEmpty else {
      throw JournalError(
        .wrongUse, "a condition is FIELD=VALUE, or with !=, <, <=, >, >= or ^= (begins with), not \"\(text)\""
      )
    }
    let value = String(text[place.upperBound...])
    try Self.check(field, sign, value, text)
    let json = try? FieldValue(json: value, decodingWrappers: true)
    let literal = FieldValue(longNumber: value) ?? json ?? .string(value)
    let date = try Timestamp(calendarDate: value.trimmingCharacters(in: .whitespaces), in: timeZone)?.date
    // Dates are equal if they round to the same microsecond.
    let dates = date.map { date -> (first: FieldValue, last: FieldValue) in
      (.date(date.addingTimeInterval(-0.000_000_5)), .date(date.addingTimeInterval(0.000_000_5)))
    }
    let meanings = [(first: literal, last: literal)] + (dates.map { [$0] } ?? [])
    switch sign {
    case ">=": self.init(field, in: meanings.map { .from($0.first) })
    case "<=": self.init(field, in: meanings.map { .through($0.last) })
    case ">": self.init(field, in: meanings.map { .above($0.last) })
    case "<": self.init(field, in: meanings.map { .below($0.first) })
    case "^=": self.init(field, in: [.prefix(value)])
    default:
      self.init(
        // null finds missing values. The text "null" can be found only if it is in quotation marks, as in JSON.
        field, isOne: literal.isNull ? [.null] : [.string(value), literal],
        in: dates.map { [.from($0.first, through: $0.last)] } ?? [], isNegated: sign == "!=")
    }
  }

  /// Throws `wrongUse` if the operator or the field is probably a mistake.
  private static func check(
    _ field: String, _ sign: String, _ value: String, _ text: String
  ) throws(JournalError) {
    if value.hasPrefix("="), sign == "=" || sign == "!=" {
      let rest = value.drop { $0 == "=" }
      throw JournalError(
        .wrongUse,
        "a condition has one =: \(field)\(sign)\(rest) instead of \"\(text)\"; a text that begins with = is written "
          + "in JSON, \(field)\(sign)\"\(value)\"")
    }
    if let next = value.first, "=<>".contains(next) {
      throw JournalError(
        .wrongUse,
        "there is no operator \(sign)\(next); write != for another value, <= or >= for a range; a text that begins "
          + "with \(next) is written in JSON, \(field)\(sign)\"\(value)\"")
    }
    // An attribute may have any name, but a name with one @ must be a field of the catalog.
    if field.hasPrefix("@"), !field.hasPrefix("@@") { _ = try NamedParts([field]) }
    if field == "@category", Int(value) == nil, value != "null" {
      throw JournalError(
        .wrongUse,
        "@category is the number of a category, not \"\(value)\"; with its name, choose the items by category instead of "
          + "by a condition")
    }
  }
}
