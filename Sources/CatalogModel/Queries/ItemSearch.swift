package import CBOR
import JSON

/// A search for items by names that are known only at run time, for HTTP clients and the viewer.
///
/// It uses no index: it scans every item of the kind, as an ``ItemQuery`` without indexes does.
package struct ItemSearch: Hashable, Sendable {
  /// A sort key.
  package struct Order: Hashable, Sendable {
    /// An attribute, a path inside of one such as `name.common`, or `@modified`, `@created` and `@kind`.
    package var field: String
    package var isDescending: Bool
  }

  /// A condition on an attribute.
  package struct Comparison: Hashable, Sendable {
    package let field: String
    package let range: ValueRange
    /// Whether values outside of the range match.
    package let isNegated: Bool
  }

  /// The text, the kind, the categories, and conditions of equality.
  package var query: EntityQuery
  package var comparisons: [Comparison] = []
  /// Items that compare equal are in the order of their numbers.
  package var orders: [Order] = []

  package init(_ query: EntityQuery = EntityQuery()) { self.query = query }

  /// Whether every item matches, in the order of numbers.
  package var isEverything: Bool { query == EntityQuery() && comparisons.isEmpty && orders.isEmpty }

  /// Adds a condition as people write it: `stars>=4`, `title^=Du`, `author!=ana`, `title=Dune`.
  /// - Throws: ``JournalError`` with code `wrongUse` for anything else.
  package mutating func add(condition text: String) throws(JournalError) {
    let operators = ["!=", ">=", "<=", "^=", "=", ">", "<"]
    let places = operators.compactMap { sign in text.firstRange(of: sign).map { (sign, $0) } }
    // The first operator counts, and of two at one place the longer.
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
    let value = (try? FieldValue(json: content, decodingWrappers: true)) ?? .string(content)
    let range: ValueRange =
      switch sign {
      case ">=": .from(value)
      case "<=": .through(value)
      case ">": .above(value)
      case "<": .below(value)
      case "^=": .prefix(content)
      default: value == .null ? .missing : .equal(to: value)
      }
    comparisons.append(Comparison(field: field, range: range, isNegated: sign == "!="))
  }

  /// Adds an order: `title`, or `-stars` for the largest first.
  package mutating func add(order text: String) throws(JournalError) {
    let isDescending = text.hasPrefix("-")
    let field = String(text.dropFirst(isDescending ? 1 : 0))
    guard !field.isEmpty else {
      throw JournalError(.wrongUse, "an order is FIELD, or -FIELD for the largest first")
    }
    orders.append(Order(field: field, isDescending: isDescending))
  }
}

extension Catalog {
  /// The items that match, in order.
  /// - Parameter limit: how many are needed; nil for all.
  /// - Complexity: O(n) for n items, or for those of the kind or the categories.
  package func items(_ search: ItemSearch, limit: Int? = nil) -> [Catalog.Item.ID] {
    let orders = search.orders.map { order in
      QueryOrder(
        path: AttributePath(order.field.split(separator: ".").map(String.init)),
        isDescending: order.isDescending)
    }
    let conditions = search.comparisons.map { comparison -> Condition in
      let path = AttributePath(comparison.field.split(separator: ".").map(String.init))
      let condition = Condition.value(path, comparison.range)
      return comparison.isNegated ? .not(condition) : condition
    }
    var selection = Selection(orders, needed: limit ?? .max)
    let matchesAll = search.query == EntityQuery()
    func take(_ item: Catalog.Item) -> Bool {
      guard matchesAll || search.query.matches(item.id.entity, item.record),
        conditions.allSatisfy({ $0.holds(for: item.record) })
      else { return true }
      return selection.take(item.id.number) {
        search.orders.indices.map { item.key(search.orders[$0].field, orders[$0].path) }
      }
    }
    if let categories = search.query.categories {
      // An item is in one category, so no number comes twice.
      for id in categories.sorted().flatMap({ items(in: $0).map(\.id) }).sorted() {
        if let item = item(id), !take(item) { break }
      }
    } else {
      let found = search.query.kind.map { kind in kinds == [kind] ? items : items(ofKind: kind) } ?? items
      for item in found where !take(item) { break }
    }
    return selection.finish().map { EntityID($0) }
  }
}

extension Catalog.Item {
  fileprivate func key(_ field: String, _ path: AttributePath) -> ValueKey {
    switch field {
    case "@modified": ValueKey(.integer(Int64(modified)))
    case "@created": ValueKey(.integer(Int64(created)))
    case "@kind": ValueKey(.string(kind))
    default: record.key(at: path)
    }
  }
}
