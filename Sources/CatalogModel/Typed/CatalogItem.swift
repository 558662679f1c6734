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
/// To find out the names of attributes, queries and indexes decode made-up values of the type. So `init(from:)` must throw
/// if it refuses a value, and not end the process.
///
/// Indexes make queries faster but never change their answers. They are derived from the items: a declared index is
/// built when a query first needs it, and is part of the layers that are written from then on. See ``ItemQuery``.
public protocol CatalogItem: Codable, Sendable {
  /// The kind of the items, such as `"recipe"`, up to 4,096 bytes.
  static var kind: String { get }
  /// The indexes on properties that queries filter or sort by. By default none.
  static var indexes: [ItemIndex<Self>] { get }
  /// The rules that all items of the kind keep: references, unique properties, required properties. By default none.
  /// See `Journal.declare(_:by:)`.
  static var rules: [ItemRule<Self>] { get }
  /// The attribute name of a property, nil if unknown. Called only if made-up values don't show the name, because
  /// `init(from:)` refuses them, or because no attribute always has the value of the property.
  static func attributeName(of property: PartialKeyPath<Self>) -> String?
}

extension CatalogItem {
  /// Declares an index on a property: `Index(\.title)`.
  public typealias Index = ItemIndex<Self>
  /// The type of a rule, so that ``rules`` can be declared as `[Rule]`.
  public typealias Rule = ItemRule<Self>
  /// By default, there are no indexes, and every query scans the items of its kind.
  public static var indexes: [ItemIndex<Self>] { [] }
  /// By default, there are no rules.
  public static var rules: [ItemRule<Self>] { [] }
  /// By default, nil: only encoded properties have names.
  public static func attributeName(of property: PartialKeyPath<Self>) -> String? { nil }
}

/// An index on a property, so that queries can filter and sort by it without reading every item.
///
/// An index on an array finds its elements.
public struct ItemIndex<Model: CatalogItem>: Sendable {
  /// What an index is of, other than whole values.
  public enum Form: Sendable {
    /// The words of texts, also of those inside arrays and dictionaries: for `matching` of ``ItemQuery``.
    case text
  }

  let path: Result<AttributePath, JournalError>
  let form: Form?

  /// An index on a property, or on a property of its value: `Index(\.place?.latitude)`.
  ///
  /// If the key path leads to no attribute, `insert`, `update`, `replace` and ``Catalog/buildIndexes(of:progress:)``
  /// throw: see ``ItemFilter``.
  public init<Property: Encodable & SendableMetatype>(_ property: any KeyPath<Model, Property> & Sendable) {
    path = Model.attribute(of: property)
    form = nil
  }

  /// An index of the words of a property: `Index(\.title, .text)`.
  public init<Property: Encodable & SendableMetatype>(
    _ property: any KeyPath<Model, Property> & Sendable, _ form: Form
  ) {
    path = Model.attribute(of: property)
    self.form = form
  }
}

/// The paths of a type's indexes: of those of values, and of those of words.
struct IndexedPaths: Sendable {
  var values: [AttributePath] = []
  var words: [AttributePath] = []
}

extension CatalogItem {
  /// The paths of the indexes, without those whose key paths lead to no attribute.
  static var indexedPaths: IndexedPaths {
    var paths = IndexedPaths()
    for index in indexes {
      guard let path = try? index.path.get() else { continue }
      switch index.form {
      case nil: paths.values.append(path)
      case .text: paths.words.append(path)
      }
    }
    return paths
  }

  /// Throws `wrongUse` if the key path of an index leads to no attribute.
  static func checkIndexes() throws(JournalError) {
    for index in indexes {
      if case .failure(let error) = index.path { throw error }
    }
  }
}
