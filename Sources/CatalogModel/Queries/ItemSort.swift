package import CBOR

/// A sort key of a query, and its direction.
///
/// The order is that of indexes and independent of locales: missing values first, then booleans (false before true),
/// numbers by value, dates, and texts by their UTF-8 bytes. Descending is the exact reverse. For the order of a
/// language, sort the values with one of Foundation's comparators.
///
/// Key paths are limited as in ``ItemFilter``.
public struct ItemSort<Model: CatalogItem>: Sendable {
  /// The sort key, or the error of a key path that leads to no attribute.
  let order: Result<QueryOrder, JournalError>

  private init(_ path: Result<AttributePath, JournalError>, isDescending: Bool) {
    order = path.map { QueryOrder(path: $0, isDescending: isDescending) }
  }

  /// Sorts by a property, the smallest value first.
  public static func ascending<Property: QueryValue>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemSort { ItemSort(Model.attribute(of: property), isDescending: false) }

  /// Sorts by a property, the largest value first.
  public static func descending<Property: QueryValue>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemSort { ItemSort(Model.attribute(of: property), isDescending: true) }

  /// Sorts by an attribute, named as it is stored, or by a member inside, the smallest value first:
  /// `.ascending(attribute: "place", "floor")`.
  public static func ascending(attribute name: String, _ inner: String...) -> ItemSort {
    ItemSort(.success(AttributePath([name] + inner)), isDescending: false)
  }

  /// Sorts by an attribute, named as it is stored, or by a member inside, the largest value first.
  public static func descending(attribute name: String, _ inner: String...) -> ItemSort {
    ItemSort(.success(AttributePath([name] + inner)), isDescending: true)
  }
}

/// The direction of a sort key.
public enum QueryDirection: Sendable {
  /// The smallest value comes first.
  case ascending
  /// The largest value comes first.
  case descending
}

/// A sort key without the type of the items.
package struct QueryOrder: Sendable {
  package let path: AttributePath
  package let isDescending: Bool

  package init(path: AttributePath, isDescending: Bool) {
    self.path = path
    self.isDescending = isDescending
  }
}
