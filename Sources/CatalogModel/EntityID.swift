package import CBOR

/// The number of an item, a category, an image or a tag, typed by what it identifies.
///
/// ```swift
/// let soup: ItemID<Recipe> = try journal.commit { try $0.insert(recipe) }.value
/// try journal.commit { try $0.delete(soup) }
/// ```
/// An item of any kind has a `Catalog.Item.ID`, a typed one an `ItemID` of its type as well. An ID is encoded as its
/// number, so an item can refer to another: `var author: ItemID<Author>`.
public struct EntityID<Subject>: Hashable, Comparable, Sendable {
  /// The number, from 1: `item:42` has 42.
  public let number: Int

  /// The entity of that number, which need not exist.
  public init(_ number: Int) { self.number = number }

  /// Compares numbers, and so the order of addition.
  public static func < (left: EntityID, right: EntityID) -> Bool { left.number < right.number }
}

/// The number of an item with a value of the type `Model`.
public typealias ItemID<Model: CatalogItem> = EntityID<Model>
/// The number of a category.
public typealias CategoryID = EntityID<Catalog.Category>
/// The number of an image.
public typealias ImageID = EntityID<Catalog.Image>

extension EntityID: ExpressibleByIntegerLiteral {
  /// The entity of that number.
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
  /// The item, as histories and expectations name it.
  public var entity: EntityKey { .item(number) }

  /// The item, whatever its kind.
  public var item: Catalog.Item.ID { Catalog.Item.ID(number) }
}

extension EntityID where Subject == Catalog.Item {
  /// The item, as histories and expectations name it.
  public var entity: EntityKey { .item(number) }
}

extension EntityID where Subject == Catalog.Category {
  /// The category, as histories and expectations name it.
  public var entity: EntityKey { .category(number) }
}

extension EntityID where Subject == Catalog.Image {
  /// The image, as histories and expectations name it.
  public var entity: EntityKey { .image(number) }
}

extension EntityID where Subject == Catalog.Tag {
  /// The tag, as histories and expectations name it.
  public var entity: EntityKey { .tag(number) }
}

extension EntityID where Subject == Catalog.Rule {
  /// The rule, as histories and expectations name it.
  public var entity: EntityKey { .rule(number) }
}

extension EntityID {
  /// The number in the form of a record.
  package var value: FieldValue { .integer(Int64(number)) }
}

extension EntityKey {
  /// The item of that ID.
  public static func item(_ id: Catalog.Item.ID) -> EntityKey { id.entity }
  /// The category of that ID.
  public static func category(_ id: CategoryID) -> EntityKey { id.entity }
  /// The image of that ID.
  public static func image(_ id: ImageID) -> EntityKey { id.entity }
}
