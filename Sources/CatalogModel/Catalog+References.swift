import CBOR

// References: an image refers to its item, and an item to its category. Restores and reverts preserve them.
extension Catalog {
  /// The category of an item, and the item of an image.
  public static func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey] {
    switch kind {
    case .item: (try? ItemFields(record))?.category.map { [.category($0)] } ?? []
    case .image: (try? ImageFields(record)).map { [.item($0.item)] } ?? []
    default: []
    }
  }

  /// The items of a category, and the images of an item.
  /// - Complexity: grows with the answer, not with the catalog.
  public func referrers(to entity: EntityKey) -> [EntityKey] {
    switch entity.kind {
    case .category: itemsByCategory.members(of: entity.number).map { .item($0) }
    case .item: imagesByItem.members(of: entity.number).map { .image($0) }
    default: []
    }
  }

  /// If a category is deleted, its items stay without a category. If an item is deleted, so are its images.
  public static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey)
    -> EntityRecord?
  {
    kind == .item ? record.setting(ItemField.category, to: nil) : nil
  }

  /// Restores and reverts do not change tags, because the name of a point is not part of a state.
  public static func isRestored(_ kind: EntityKind) -> Bool { kind != .tag }

  /// The name of a category, an image or a tag; the title, name or path of an item, or its first short text.
  public static func label(of record: EntityRecord, of kind: EntityKind) -> String? {
    switch kind {
    case .category: (try? CategoryFields(record)).map { record.text(at: $0.name) }
    case .image: (try? ImageFields(record)).map { record.text(at: $0.name) }
    case .tag: (try? TagFields(record)).map { record.text(at: $0.name) }
    default: record.label
    }
  }
}
