import CBOR
import CatalogModel
import EntitySearch

/// A search for items by field names that are known only at run time. ``ItemScan`` carries out the search.
struct ItemSearch: Sendable {
  var query: EntityQuery
  /// The sort keys: attributes, paths inside attributes such as `name.common`, and `@modified`, `@created` and `@kind`.
  ///
  /// Items that compare equal are in the order of their numbers, reversed if the last key is descending.
  private(set) var orders: [(field: String, order: QueryOrder)] = []

  init(_ query: EntityQuery = EntityQuery()) { self.query = query }

  /// Adds a sort key: `title`, or `-stars` for the largest first.
  /// - Throws: ``JournalError`` with code `wrongUse` if the text has no field.
  mutating func add(order text: String) throws(JournalError) {
    let isDescending = text.hasPrefix("-")
    let field = String(text.dropFirst(isDescending ? 1 : 0))
    guard !field.isEmpty else {
      throw JournalError(.wrongUse, "an order is FIELD, or -FIELD for the largest first")
    }
    let path = AttributePath(field.split(separator: ".").map(String.init))
    orders.append((field, QueryOrder(path: path, isDescending: isDescending)))
  }
}
