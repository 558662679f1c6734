import CBOR

/// By what a query sorts, and in which direction.
///
/// ```swift
/// recipes.sorted(by: .descending(\.stars), .ascending(\.title))
/// ```
/// The order is that of indexes, and knows no locale: what is missing first, false before true, numbers by what they
/// are worth, dates, texts by the bytes of their UTF-8. Descending is the reverse of all that. For an order that a
/// language knows, sort the values with one of Foundation's comparators.
public struct ItemSort<Model: CatalogItem>: Sendable {
  let order: QueryOrder

  /// The smallest value first.
  public static func ascending<Property: QueryValue>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemSort { ItemSort(order: QueryOrder(path: AttributePath(of: property), isDescending: false)) }

  /// The largest value first.
  public static func descending<Property: QueryValue>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemSort { ItemSort(order: QueryOrder(path: AttributePath(of: property), isDescending: true)) }
}

/// The same without the type of the items.
struct QueryOrder: Sendable {
  let path: AttributePath
  let isDescending: Bool
}
