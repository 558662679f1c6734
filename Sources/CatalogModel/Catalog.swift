import CBOR

/// Items, categories, images, tags and rules: the state of a ``CatalogJournal``.
///
/// ```swift
/// let catalog = journal.state
/// for item in catalog.items(ofKind: "book") { print(item.id, item["title"] ?? .null) }
/// ```
///
/// A catalog is a value. Copying it takes constant time, and later commits do not change a copy. Only events change it:
/// in a commit, through the methods of `Draft`; in a replay, by ``apply(_:at:)``.
///
/// Entities are in the order of their numbers. A part of an entity is decoded when it is accessed.
///
/// 1. Each item is listed under its kind and its category, if it has one; each image is listed under its item; nothing
///    else is listed.
/// 2. Between entries, categories of items and items of images exist, and the items keep all rules. Inside an entry
///    they need not, because events may be in any order.
public struct Catalog: Sendable {
  /// The tables and indexes. Code that reads them here, instead of through `itemTable` and so on, records what it reads.
  var contents = Contents()
  /// Records what is read of this state; nil unless the state was passed to an observed closure.
  var reads: CatalogReads?
  var itemChecks = ItemChecks()

  /// The indexes that queries have built. All states that follow from this one by changes share this cache. A state
  /// that is read from layers or replayed, such as a past one, has its own.
  package internal(set) var indexCache = IndexCache()

  /// The empty catalog.
  public init() {}

  /// How many items there are. O(1).
  public var itemCount: Int { count(of: .item, contents.itemTable) }
  /// How many categories there are. O(1).
  public var categoryCount: Int { count(of: .category, contents.categoryTable) }
  /// How many images there are. O(1).
  public var imageCount: Int { count(of: .image, contents.imageTable) }

  /// The item of that number, or nil if it does not exist. O(log n).
  public func item(_ id: Catalog.Item.ID) -> Catalog.Item? {
    row(of: id.entity, contents.itemTable).map { Catalog.Item(number: id.number, row: $0) }
  }
  /// The category of that number, or nil if it does not exist. O(log n).
  public func category(_ id: CategoryID) -> Catalog.Category? {
    row(of: id.entity, contents.categoryTable).map { Catalog.Category(number: id.number, row: $0) }
  }
  /// The image of that number, or nil if it does not exist. O(log n).
  public func image(_ id: ImageID) -> Catalog.Image? {
    row(of: id.entity, contents.imageTable).map { Catalog.Image(number: id.number, row: $0) }
  }
}

extension Catalog: EventSourced {
  /// The version of records that this version of the module reads and writes.
  public static var schema: String { "catalog/2" }
  /// The kinds in the order of the numbers that the log contains.
  public static let kindNames = ["category", "item", "image", "tag", "rule"]

  /// The name of a kind; empty if no entity of a catalog has it.
  package static func kindName(of kind: EntityKind) -> String {
    Int(kind.rawValue) < kindNames.count ? kindNames[Int(kind.rawValue)] : ""
  }

  /// The encoded record of an entity, or nil if it does not exist. O(log n).
  public func record(of entity: EntityKey) -> EntityRecord? {
    contents.withTable(of: entity.kind) { row(of: entity, $0)?.record } ?? nil
  }

  /// The revision of an entity's newest event, including its deletion; 0 if it never existed. O(log n).
  public func revision(of entity: EntityKey) -> Revision {
    reads?.note(entity)
    return contents.withTable(of: entity.kind) { $0.revision(of: entity.number) } ?? 0
  }

  /// Whether an entity was erased. O(log n) in the number of erased entities.
  public func isErased(_ entity: EntityKey) -> Bool {
    reads?.note(entity)
    return contents.withTable(of: entity.kind) { $0.isErased(entity.number) } ?? false
  }

  /// The blob that the record of an image names.
  public static func blobs(in record: EntityRecord, of kind: EntityKind) -> [Blob] {
    guard kind == .image, let fields = try? ImageFields(record) else { return [] }
    return [fields.blob]
  }

}
