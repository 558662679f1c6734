/// The number of an item, a category or an image, typed by what it identifies.
///
/// ```swift
/// let soup: ItemID<Recipe> = try journal.commit { try $0.insert(recipe) }.value
/// try journal.commit { try $0.delete(soup) }
/// ```
/// It encodes itself as the number, so an item can refer to another: `var author: ItemID<Author>`.
public struct EntityID<Subject>: Hashable, Comparable, Sendable {
  /// The number, from 1: `item:42` has 42.
  public let number: Int

  /// The entity of that number; it need not exist.
  public init(_ number: Int) { self.number = number }

  /// By number, which is the order of addition.
  public static func < (left: EntityID, right: EntityID) -> Bool { left.number < right.number }
}

/// The number of an item that holds a value of the type `Model`.
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
}

extension EntityID where Subject == Catalog.Category {
  /// The category, as histories and expectations name it.
  public var entity: EntityKey { .category(number) }
}

extension EntityID where Subject == Catalog.Image {
  /// The image, as histories and expectations name it.
  public var entity: EntityKey { .image(number) }
}
