package import CBOR

/// The number of an item, a category, an image, a tag or a rule, with the type of what it identifies.
///
/// ```swift
/// let soup: ItemID<Recipe> = try journal.commit { try $0.insert(recipe) }.value
/// try journal.commit { try $0.delete(soup) }
/// ```
/// Every item has a `Catalog.Item.ID`. An item with a typed value also has an `ItemID` of that type. An ID is encoded
/// as its number, so an item can refer to another: `var author: ItemID<Author>`.
public struct EntityID<Subject>: Hashable, Comparable, Sendable {
  /// The number, from 1: `item:42` has 42.
  public let number: Int

  /// The ID of an entity by its number. The entity need not exist.
  public init(_ number: Int) { self.number = number }

  /// Orders IDs by number, which is the order in which entities were added.
  public static func < (left: EntityID, right: EntityID) -> Bool { left.number < right.number }
}

/// The number of an item with a value of the type `Model`.
public typealias ItemID<Model: CatalogItem> = EntityID<Model>
/// The number of a category.
public typealias CategoryID = EntityID<Catalog.Category>
/// The number of an image.
public typealias ImageID = EntityID<Catalog.Image>

extension EntityID: ExpressibleByIntegerLiteral {
  /// The ID of an entity by its number.
  public init(integerLiteral number: Int) { self.number = number }
}

extension EntityID: Codable {
  /// Reads the number.
  public init(from decoder: any Decoder) throws {
    number = try decoder.singleValueContainer().decode(Int.self)
  }

  /// Writes the number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}

extension EntityID: CustomStringConvertible {
  /// The number.
  public var description: String { number.description }
}

extension EntityID where Subject: CatalogItem {
  /// The item's key, as histories and expectations have it.
  public var entity: EntityKey { .item(number) }

  /// The ID of the item without the type of its value.
  public var item: Catalog.Item.ID { Catalog.Item.ID(number) }
}

extension EntityID where Subject == Catalog.Item {
  /// The item's key, as histories and expectations have it.
  public var entity: EntityKey { .item(number) }
}

extension EntityID where Subject == Catalog.Category {
  /// The category's key, as histories and expectations have it.
  public var entity: EntityKey { .category(number) }
}

extension EntityID where Subject == Catalog.Image {
  /// The image's key, as histories and expectations have it.
  public var entity: EntityKey { .image(number) }
}

extension EntityID where Subject == Catalog.Tag {
  /// The tag's key, as histories and expectations have it.
  public var entity: EntityKey { .tag(number) }
}

extension EntityID where Subject == Catalog.Rule {
  /// The rule's key, as histories and expectations have it.
  public var entity: EntityKey { .rule(number) }
}

extension EntityID {
  /// The number as a record has it.
  package var value: FieldValue { .integer(Int64(number)) }
}

extension EntityKey {
  /// The key of an item.
  public static func item(_ id: Catalog.Item.ID) -> EntityKey { id.entity }
  /// The key of a category.
  public static func category(_ id: CategoryID) -> EntityKey { id.entity }
  /// The key of an image.
  public static func image(_ id: ImageID) -> EntityKey { id.entity }
}
