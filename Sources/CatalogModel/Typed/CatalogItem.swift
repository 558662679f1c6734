/// A type of your own whose values are items: how they are named, and how they are found.
///
/// ```swift
/// struct Recipe: CatalogItem {
///   static let kind = "recipe"
///   static let indexes = [Index(\Recipe.title), Index(\.stars), Index(\.tags)]
///
///   var title: String
///   var stars: Int?
///   var tags: [String]
/// }
/// ```
/// The properties that the type encodes are the attributes of the item, each under the name that it is encoded with.
/// An item of the same kind that was made in any other way is one of these too, as long as it can be decoded.
///
/// Indexes make queries faster, and change no answer. They are derived from the items: one that is declared is built
/// when a query first needs it, and one that is no longer declared is not. See ``ItemQuery``.
public protocol CatalogItem: Codable, Sendable {
  /// The kind of the items, such as `"recipe"`; up to 4,096 bytes.
  static var kind: String { get }
  /// The properties that queries look for or sort by; none when not said otherwise.
  static var indexes: [ItemIndex<Self>] { get }
  /// The attribute that a property is encoded as, where it has another name than the property; nil for all that
  /// don't. A type whose `CodingKeys` rename a property that queries use says so here.
  static func attributeName(of property: PartialKeyPath<Self>) -> String?
}

extension CatalogItem {
  /// Says which property has an index: `Index(\.title)`.
  public typealias Index = ItemIndex<Self>
  /// No indexes: every query scans the items of its kind.
  public static var indexes: [ItemIndex<Self>] { [] }
  /// No property has an attribute of another name.
  public static func attributeName(of property: PartialKeyPath<Self>) -> String? { nil }
}

/// A property whose values are kept in order, so that queries find and sort by them without looking at every item.
///
/// An index on an array finds its elements.
public struct ItemIndex<Model: CatalogItem>: Sendable {
  let path: AttributePath
  /// What the attribute should be for a value.
  let expected: @Sendable (Model) throws -> FieldValue

  /// An index on a property, or on one of what a property holds: `Index(\.place?.latitude)`.
  public init<Property: Encodable & SendableMetatype>(_ property: any KeyPath<Model, Property> & Sendable) {
    path = AttributePath(of: property)
    expected = { try ValueEncoder().encode($0[keyPath: property]) }
  }
}
