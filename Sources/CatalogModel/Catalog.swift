import CBOR

/// Items, categories and images: the state that a ``CatalogJournal`` keeps.
///
/// ```swift
/// let catalog = journal.state
/// for item in catalog.items(ofKind: "book") { print(item.id, item["title"] ?? .null) }
/// ```
///
/// A catalog is a value. Copying it takes no time, and no later commit changes a copy. It is changed only by
/// events: in a commit, through the verbs of `Draft`; in a replay, by ``apply(_:at:)``.
///
/// Entities stand in the order of their numbers, and stay encoded until a part of one is asked for.
///
/// 1. Each item is listed under its kind and, when it has one, its category; each image under its item; and
///    nothing else is listed.
/// 2. Between entries, categories of items and items of images exist. Inside an entry they need not: events
///    may stand in any order.
public struct Catalog: Sendable {
  var categoryTable = EntityTable()
  var itemTable = EntityTable()
  var imageTable = EntityTable()
  var tagTable = EntityTable()

  var kindNumbers = TextInterner()
  var itemsByKind = EntityIndex()
  var itemsByCategory = EntityIndex()
  var imagesByItem = EntityIndex()

  /// The indexes that queries have needed. All states that follow from one another share it.
  var indexCache = IndexCache()

  /// The empty catalog.
  public init() {}

  /// How many items there are. O(1).
  public var itemCount: Int { itemTable.count }
  /// How many categories there are. O(1).
  public var categoryCount: Int { categoryTable.count }
  /// How many images there are. O(1).
  public var imageCount: Int { imageTable.count }

  /// The item of that number, nil when it is not there. O(log n).
  public func item(_ id: Catalog.Item.ID) -> Catalog.Item? {
    itemTable[id.number].map { Catalog.Item(number: id.number, row: $0) }
  }
  /// The category of that number, nil when it is not there. O(log n).
  public func category(_ id: CategoryID) -> Catalog.Category? {
    categoryTable[id.number].map { Catalog.Category(number: id.number, row: $0) }
  }
  /// The image of that number, nil when it is not there. O(log n).
  public func image(_ id: ImageID) -> Catalog.Image? {
    imageTable[id.number].map { Catalog.Image(number: id.number, row: $0) }
  }
}

extension Catalog: EventSourced {
  /// The name of the fields of records that this version writes and reads.
  public static var schema: String { "catalog/1" }
  /// The kinds in the order of their numbers, which are in the log.
  public static let kindNames = ["category", "item", "image", "tag"]

  /// All that is known of an entity, encoded; nil when it is not there. O(log n).
  public func record(of entity: EntityKey) -> EntityRecord? { table(of: entity.kind)?[entity.number]?.record }

  /// The revision of an entity's newest event, its deletion included; 0: it never was. O(log n).
  public func revision(of entity: EntityKey) -> Revision {
    table(of: entity.kind)?.revision(of: entity.number) ?? 0
  }

  /// Whether an entity is not there because what it was has been erased. O(log n) in how many were.
  public func isErased(_ entity: EntityKey) -> Bool {
    table(of: entity.kind)?.isErased(entity.number) ?? false
  }

  /// The blob that the record of an image names.
  public static func blobs(in record: EntityRecord, of kind: EntityKind) -> [Blob] {
    guard kind == .image, let fields = try? ImageFields(record) else { return [] }
    return [fields.blob]
  }

  private func table(of kind: EntityKind) -> EntityTable? {
    switch kind {
    case .category: categoryTable
    case .item: itemTable
    case .image: imageTable
    case .tag: tagTable
    default: nil
    }
  }
}
