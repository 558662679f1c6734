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

  /// Which items.
  package var query: EntityQuery
  /// Items that compare equal are in the order of their numbers, which is reversed if the last key is descending.
  package var orders: [Order] = []

  package init(_ query: EntityQuery = EntityQuery()) { self.query = query }

  /// All of its texts. Two searches are equal even if only the bytes of these differ, and then find other items.
  package var texts: [String?] {
    [query.text, query.kind] + query.conditions.flatMap { [$0.field, $0.value] } + orders.map(\.field)
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
