/// A journal whose state is a ``Catalog``.
public typealias CatalogJournal = Journal<Catalog>

extension EntityKind {
  /// A category: a named group of items.
  public static var category: EntityKind { EntityKind(rawValue: 0) }
  /// An item: an object of the user, with attributes.
  public static var item: EntityKind { EntityKind(rawValue: 1) }
  /// An image: a picture or another file that belongs to an item.
  public static var image: EntityKind { EntityKind(rawValue: 2) }
  /// A tag: a name for a revision.
  public static var tag: EntityKind { EntityKind(rawValue: 3) }
  /// A rule that the items of a kind keep.
  public static var rule: EntityKind { EntityKind(rawValue: 4) }
}

extension EntityKey {
  /// The category of that number.
  public static func category(_ number: Int) -> EntityKey { EntityKey(kind: .category, number: number) }
  /// The item of that number.
  public static func item(_ number: Int) -> EntityKey { EntityKey(kind: .item, number: number) }
  /// The image of that number.
  public static func image(_ number: Int) -> EntityKey { EntityKey(kind: .image, number: number) }
  /// The tag of that number.
  public static func tag(_ number: Int) -> EntityKey { EntityKey(kind: .tag, number: number) }
  /// The rule of that number.
  public static func rule(_ number: Int) -> EntityKey { EntityKey(kind: .rule, number: number) }
}
