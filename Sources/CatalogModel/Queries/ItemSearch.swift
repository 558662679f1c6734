package import CBOR
import JSON

/// A search for items by names that are known only at run time, for HTTP clients and the viewer.
///
/// ``ItemScan`` carries it out.
package struct ItemSearch: Hashable, Sendable {
  /// A sort key.
  package struct Order: Hashable, Sendable {
    /// An attribute, a path inside one such as `name.common`, or `@modified`, `@created` and `@kind`.
    package var field: String
    package var isDescending: Bool
  }

  /// A condition on an attribute.
  package struct Comparison: Hashable, Sendable {
    package let field: String
    /// The values that match are in one of these.
    package let ranges: [ValueRange]
    /// Whether all other values match instead.
    package let isNegated: Bool
  }

  /// The text, the kind, the categories, and conditions of equality.
  package var query: EntityQuery
  package var comparisons: [Comparison] = []
  /// Conditions of equality that must not hold.
  package var exclusions: [EntityQuery.Condition] = []
  /// Items that compare equal are in the order of their numbers.
  package var orders: [Order] = []

  package init(_ query: EntityQuery = EntityQuery()) { self.query = query }

  /// All of its texts. Two searches are equal even if only the bytes of these differ, and then find other items.
  package var texts: [String?] {
    [query.text, query.kind] + (query.conditions + exclusions).flatMap { [$0.field, $0.value] }
      + comparisons.map(\.field) + orders.map(\.field)
  }

  /// The conditions, for a query of entities of any kind.
  package var conditions: [EntityQuery.Condition] {
    var conditions = query.conditions
    for var exclusion in exclusions {
      exclusion.isNegated = true
      conditions.append(exclusion)
    }
    for comparison in comparisons {
      var condition = EntityQuery.Condition(comparison.field, is: "")
      condition.ranges = comparison.ranges
      condition.isNegated = comparison.isNegated
      conditions.append(condition)
    }
    return conditions
  }

  /// Adds a condition as people write it: `stars>=4`, `title^=Du`, `author!=ana`, `title=Dune`.
  /// - Throws: ``JournalError`` with code `wrongUse` if the text has another form.
  package mutating func add(condition text: String) throws(JournalError) {
    let operators = ["!=", ">=", "<=", "^=", "=", ">", "<"]
    let places = operators.compactMap { sign in text.firstRange(of: sign).map { (sign, $0) } }
    // The first operator counts. If two begin at the same place, the longer one does.
    guard
      let (sign, place) = places.min(by: {
        ($0.1.lowerBound, $1.0.count) < ($1.1.lowerBound, $0.0.count)
      }), place.lowerBound > text.startIndex
    else {
      throw JournalError(
        .wrongUse, "a condition is FIELD=VALUE, or with !=, <, <=, >, >= or ^= (begins with), not \"\(text)\""
      )
    }
    let (field, content) = (String(text[..<place.lowerBound]), String(text[place.upperBound...]))
    if sign == "=" {
      query.conditions.append(EntityQuery.Condition(field, is: content))
      return
    }
    if sign == "!=" {
      exclusions.append(EntityQuery.Condition(field, is: content))
      // An item without the field has no value either.
      if content == "null" {
        comparisons.append(Comparison(field: field, ranges: [.missing], isNegated: true))
      }
      return
    }
    var values = [(try? FieldValue(json: content, decodingWrappers: true)) ?? .string(content)]
    if let timestamp = Timestamp(shown: content) { values.append(.date(timestamp.date)) }
    let ranges: [ValueRange] =
      switch sign {
      case ">=": values.map { .from($0) }
      case "<=": values.map { .through($0) }
      case ">": values.map { .above($0) }
      case "<": values.map { .below($0) }
      default: [.prefix(content)]
      }
    comparisons.append(Comparison(field: field, ranges: ranges, isNegated: false))
  }

  /// Adds a sort key: `title`, or `-stars` for the largest first.
  /// - Throws: ``JournalError`` with code `wrongUse` if there is no field.
  package mutating func add(order text: String) throws(JournalError) {
    let isDescending = text.hasPrefix("-")
    let field = String(text.dropFirst(isDescending ? 1 : 0))
    guard !field.isEmpty else {
      throw JournalError(.wrongUse, "an order is FIELD, or -FIELD for the largest first")
    }
    orders.append(Order(field: field, isDescending: isDescending))
  }
}
