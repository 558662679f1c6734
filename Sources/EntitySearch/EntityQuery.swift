public import CBOR
public import CatalogModel
public import Journaling

/// A query for entities that match all of its criteria.
public struct EntityQuery: Hashable, Sendable {
  /// An entity's name, such as `item:42`, or a text that is part of the label or of a text in the entity, ignoring
  /// case. The texts are those of the attributes, also inside arrays and dictionaries (but not their keys), the kind of
  /// an item, and the name and the media type of an image.
  public var text: String?
  /// The kind of items. `category`, `image`, `tag` and `rule` stand for the other kinds of entities.
  public var kind: String?
  /// The categories of the items.
  public var categories: Set<CategoryID>?
  /// The conditions on parts.
  public var conditions: [Condition]

  /// Makes a query, by default for all entities.
  public init(
    text: String? = nil, kind: String? = nil, categories: Set<CategoryID>? = nil, conditions: [Condition] = []
  ) {
    self.text = text
    self.kind = kind
    self.categories = categories
    self.conditions = conditions
  }

  /// Whether an entity with that record matches.
  public func matches(_ entity: EntityKey, _ record: EntityRecord) -> Bool {
    // Texts are compared by bytes, as in indexes.
    if let kind, !Catalog.kindName(of: record, entity.kind).utf8.elementsEqual(kind.utf8) { return false }
    if let categories {
      guard entity.kind == .item, let category = (try? ItemFields(record))?.category,
        categories.contains(CategoryID(category))
      else { return false }
    }
    return conditions.allSatisfy { $0.holds(of: record, entity.kind) } && hasText(entity, record)
  }

  /// The entity that the text names, or nil if it names none.
  public var namedEntity: EntityKey? {
    text.flatMap { $0.contains(":") ? try? Catalog.entity(named: $0) : nil }
  }

  private func hasText(_ entity: EntityKey, _ record: EntityRecord) -> Bool {
    guard let text else { return true }
    if let named = namedEntity { return named == entity }
    if let label = Catalog.label(of: record, of: entity.kind), label.containsIgnoringCase(text) {
      return true
    }
    var found = false
    record.visit { _, value in
      if !found, value.hasText(text) { found = true }
    }
    return found
  }
}

/// An entity that a query found.
public struct FoundEntity: Sendable {
  /// Its kind and number.
  public let entity: EntityKey
  /// Its record. If it was deleted, this is the last record.
  public let record: EntityRecord
  /// The revision that deleted it, or nil if it exists.
  public let deleted: Revision?

  /// A short name for people.
  public var label: String? { Catalog.label(of: record, of: entity.kind) }
  /// The kind of the item, or `category`, `image`, `tag` or `rule`.
  public var kind: String { Catalog.kindName(of: record, entity.kind) }
}

extension Journal where State == Catalog {
  /// Calls `body` with each matching entity, in the order of kinds and numbers, until it returns false.
  /// - Parameters:
  ///   - selector: the point in time to search.
  ///   - deleted: whether to search, by their last records, only the entities that were deleted by then. Those whose
  ///     last record was pruned or erased are not found.
  /// - Throws: ``JournalError`` with code `notFound` if the selector names no point in time, and what `body` throws.
  /// - Complexity: O(h) reads of the log for the h events of the entity, if the query names one. Otherwise O(n) for n
  ///   entities of the kind, the categories or the catalog.
  public func find(
    _ query: EntityQuery, asOf selector: RevisionSelector = .head(), deleted: Bool = false,
    _ body: (FoundEntity) throws -> Bool
  ) throws {
    let point = try revision(at: selector)
    if let named = query.namedEntity {
      let row = try entity(named, asOf: .revision(point))
      if let row, !deleted, query.matches(named, row.record) {
        _ = try body(FoundEntity(entity: named, record: row.record, deleted: nil))
      } else if row == nil, deleted, let found = try deletedEntity(named, upTo: point) {
        if query.matches(named, found.record) { _ = try body(found) }
      }
      return
    }
    let catalog = try state(asOf: .revision(point))
    if deleted {
      // The last records of entities that were deleted up to the base were pruned.
      for (entity, revision) in catalog.deletedEntities where revision > base?.revision ?? 0 {
        guard let record = try self.entity(entity, asOf: .revision(revision - 1))?.record,
          query.matches(entity, record)
        else { continue }
        guard try body(FoundEntity(entity: entity, record: record, deleted: revision)) else { return }
      }
      return
    }
    for (entity, record) in catalog.candidates(query) where query.matches(entity, record) {
      guard try body(FoundEntity(entity: entity, record: record, deleted: nil)) else { return }
    }
  }

  private func deletedEntity(_ entity: EntityKey, upTo point: Revision) throws -> FoundEntity? {
    guard let last = try history(of: entity, asOf: .revision(point), limit: 1).first,
      let record = last.before
    else { return nil }
    return FoundEntity(entity: entity, record: record, deleted: last.revision)
  }

  /// The entities that a restore of a category covers: the category, and the items that are or were in it.
  public func entities(ofCategory id: CategoryID, asOf selector: RevisionSelector) throws -> [EntityKey] {
    let items = try [state, state(asOf: selector)].flatMap { $0.items(in: id).map(\.id) }
    return [id.entity] + Set(items).sorted().map(\.entity)
  }

  /// The items that have or had a kind, now or at a point in time.
  public func entities(ofKind kind: String, asOf selector: RevisionSelector) throws -> [EntityKey] {
    let items = try [state, state(asOf: selector)].flatMap { $0.items(ofKind: kind).map(\.id) }
    return Set(items).sorted().map(\.entity)
  }
}

extension Catalog {
  /// The kind of an item with that record. For other entities, it is `category`, `image`, `tag` or `rule`.
  static func kindName(of record: EntityRecord, _ kind: EntityKind) -> String {
    if kind == .item, let fields = try? ItemFields(record) { return record.text(at: fields.kind) }
    return Int(kind.rawValue) < kindNames.count ? kindNames[Int(kind.rawValue)] : ""
  }

  /// The entities whose content was erased, in the order of kinds and numbers, without tags, which no restore
  /// touches.
  package var erasedEntities: [EntityKey] {
    zip(0..., tables).flatMap { kind, table in
      table.erasedNumbers.map { EntityKey(kind: EntityKind(rawValue: kind), number: $0) }
    }.filter { Self.isRestored($0.kind) }
  }

  fileprivate var deletedEntities: some Sequence<(EntityKey, Revision)> {
    zip(0..., tables).lazy.flatMap { kind, table in
      table.goneEntities.lazy.map {
        (EntityKey(kind: EntityKind(rawValue: kind), number: $0.number), $0.revision)
      }
    }
  }

  /// The entities that may match, in order.
  fileprivate func candidates(_ query: EntityQuery) -> AnySequence<(EntityKey, EntityRecord)> {
    if let categories = query.categories {
      return AnySequence(
        categories.sorted().flatMap { items(in: $0).map(\.id) }.sorted().lazy.compactMap { id in
          item(id).map { (id.entity, $0.record) }
        })
    }
    if let kind = query.kind, !Self.kindNames.contains(kind) {
      return AnySequence(items(ofKind: kind).lazy.map { ($0.id.entity, $0.record) })
    }
    return AnySequence(
      zip(0..., tables).lazy.flatMap { kind, table in
        table.lazy.map { (EntityKey(kind: EntityKind(rawValue: kind), number: $0.number), $0.row.record) }
      })
  }
}
