/// A type whose values are stored as items.
///
/// ```swift
/// struct Recipe: CatalogItem {
///   static let kind = "recipe"
///   static let indexes = [Index(\Recipe.title), Index(\.stars), Index(\.tags)]
///   var title: String
///   var stars: Int?
///   var tags: [String] = []
/// }
/// ```
///
/// The encoded properties of the type are the attributes of the item, under their encoded names. All items of that kind
/// are values of the type, if they can be decoded.
///
/// If a type gets a new property, older items lack the attribute. So the property must be optional, or the type must
/// implement `init(from:)` with `decodeIfPresent`: Swift's own decoding does not use a property's default value.
///
/// Indexes make queries faster but never change their answers. They are derived from the items: a declared index is
/// built when a query first needs it, and is part of the layers that are written from then on. See ``ItemQuery``.
public protocol CatalogItem: Codable, Sendable {
  /// The kind of the items, such as `"recipe"`, up to 4,096 bytes.
  static var kind: String { get }
  /// The indexes on properties that queries filter or sort by. By default none.
  static var indexes: [ItemIndex<Self>] { get }
  /// The attribute name of a property whose encoded name differs, or nil for all others.
  ///
  /// Implement it if `CodingKeys` rename a property that queries or indexes use. Without it, a query would find wrong
  /// items, so it ends the process if one of the first eight items shows that the name differs. An item whose value on the
  /// way to a nested property is nil does not show it. `insert`, `update` and `replace` throw if an index uses the
  /// property. It also names the attribute of a property with a property wrapper.
  static func attributeName(of property: PartialKeyPath<Self>) -> String?
}

extension CatalogItem {
  /// Declares an index on a property: `Index(\.title)`.
  public typealias Index = ItemIndex<Self>
  /// By default, there are no indexes, and every query scans the items of its kind.
  public static var indexes: [ItemIndex<Self>] { [] }
  /// By default, attributes have the names of the properties.
  public static func attributeName(of property: PartialKeyPath<Self>) -> String? { nil }
}

/// An index on a property, so that queries can filter and sort by it without reading every item.
///
/// An index on an array finds its elements.
public struct ItemIndex<Model: CatalogItem>: Sendable {
  let path: AttributePath
  /// The attribute that a value should have.
  let expected: @Sendable (Model) throws -> FieldValue

  /// An index on a property, or on a property of its value: `Index(\.place?.latitude)`.
  public init<Property: Encodable & SendableMetatype>(_ property: any KeyPath<Model, Property> & Sendable) {
    path = AttributePath(of: property)
    expected = { try ValueEncoder().encode($0[keyPath: property]) }
  }
}
