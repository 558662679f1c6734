/// An item and the type of its value. The value is decoded on access, also for a property: `try item.title`.
@dynamicMemberLookup
public struct StoredItem<Model: CatalogItem>: Identifiable, Hashable, Sendable {
  /// The item with all its attributes, including those that `Model` does not know.
  public let item: Catalog.Item

  @inlinable init(_ item: Catalog.Item) { self.item = item }

  /// The item's number.
  public var id: ItemID<Model> { ItemID(item.id.number) }

  /// The value.
  /// - Throws: `DecodingError`, which names the item and the attribute that is missing or of another type.
  /// - Complexity: O(n) in the size of the item, each time.
  public var value: Model {
    get throws { try item.decode(Model.self) }
  }

  /// A property of the value. Those of ``StoredItem`` itself, such as `category`, hide those of the value.
  /// - Throws: `DecodingError`, as ``value``.
  /// - Complexity: as ``value``.
  public subscript<Property>(dynamicMember property: KeyPath<Model, Property>) -> Property {
    get throws { try value[keyPath: property] }
  }

  /// An attribute, or nil if the item has none of that name. Only this attribute is decoded.
  public subscript(name: String) -> FieldValue? { item[name] }

  /// The number of the item's category, or nil if it is in none.
  public var category: CategoryID? { item.category }
  /// The revision that added the item, or added it again after a deletion.
  public var created: Revision { item.created }
  /// The revision that changed the item last.
  public var modified: Revision { item.modified }
}

extension Catalog {
  /// The item of that number, or nil if there is none or it is of another kind. O(log n).
  public func item<Model: CatalogItem>(_ id: ItemID<Model>) -> StoredItem<Model>? {
    guard let item = item(id.item), item.kind.utf8.elementsEqual(Model.kind.utf8) else { return nil }
    return StoredItem(item)
  }

  /// The value of an item, or nil if there is none of that number or it is of another kind.
  /// - Throws: `DecodingError`, which names the item and the attribute that is missing or of another type.
  /// - Complexity: O(log n), and the size of the item.
  public func value<Model: CatalogItem>(of id: ItemID<Model>) throws -> Model? { try item(id)?.value }

  /// The items of a type, in the order of their numbers, to be filtered, sorted and limited. O(1).
  public func items<Model: CatalogItem>(_ type: Model.Type = Model.self) -> ItemQuery<Model> {
    ItemQuery(self)
  }

  /// The images of an item, in the order of their numbers.
  /// - Complexity: grows with the result, not with the catalog.
  public func images<Model: CatalogItem>(of id: ItemID<Model>) -> Images { images(of: id.item) }
}
