public import CBOR
public import CatalogModel
public import Journaling

/// A query for entities that match all of its criteria.
public struct EntityQuery: Hashable, Sendable {
  /// An entity's name, such as `item:42`, or a text to search for, ignoring case. The search covers the entity's label,
  /// the texts in its attributes, also inside arrays and dictionaries (but not their keys), the kind of an item, and
  /// the name and the media type of an image. Nil matches all entities.
  public var text: String?
  /// Words as `matching` of `ItemQuery` takes them, such as `tom* "of the day"`; nil for all entities. The same texts are
  /// searched as for ``text``. Each word or phrase may be in another text.
  public var words: String? {
    didSet { pattern = words.map { WordPattern($0) } }
  }
  private var pattern: WordPattern?
  /// The kind of the items to find, or `category`, `image`, `tag` or `rule`; nil for entities of all kinds.
  public var kind: String?
  /// The categories of the items to find; nil for all entities.
  public var categories: Set<CategoryID>?
  /// The conditions that the parts of an entity must meet.
  public var conditions: [Condition]

  /// Makes a query, by default for all entities.
  public init(
    text: String? = nil, words: String? = nil, kind: String? = nil, categories: Set<CategoryID>? = nil,
    conditions: [Condition] = []
  ) {
    self.text = text
    self.words = words
    pattern = words.map { WordPattern($0) }
    self.kind = kind
    self.categories = categories
    self.conditions = conditions
  }

  /// Whether an entity with the given record matches the query.
  public func matches(_ entity: EntityKey, _ record: EntityRecord) -> Bool {
    // Texts are compared by bytes, as in indexes.
    if let kind, !Catalog.kindName(of: record, entity.kind).utf8.elementsEqual(kind.utf8) { return false }
    if let categories {
      guard entity.kind == .item, let category = (try? ItemFields(record))?.category,
        categories.contains(CategoryID(category))
      else { return false }
    }
    return conditions.allSatisfy { $0.holds(of: record, entity.kind) } && hasText(entity, record)
      && pattern?.matches(textsOf: record) ?? true
  }

  /// The entity whose name ``text`` is, or nil if it is not an entity's name.
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
  /// The kind and the number of the entity.
  public let entity: EntityKey
  /// The record of the entity, or the last record of a deleted entity.
  public let record: EntityRecord
  /// The revision that deleted the entity, or nil if the entity exists.
  public let deleted: Revision?
  /// The periods in which the entity matched; empty unless `findEver(_:asOf:_:)` has found it.
  public package(set) var periods: [MatchPeriod] = []

  /// The value of an attribute, of a field such as `@kind`, or at a path such as `name.common`; nil if the entity has none.
  package subscript(part: String) -> FieldValue? { Catalog.part(named: part, of: record, entity.kind) }

  /// A short name of the entity for people; nil if the record has none.
  public var label: String? { Catalog.label(of: record, of: entity.kind) }
  /// The kind of the item, or `category`, `image`, `tag` or `rule`.
  public var kind: String { Catalog.kindName(of: record, entity.kind) }
}

extension Journal where State == Catalog {
  /// Calls `body` with each matching entity, in the order of kinds and numbers, until `body` returns false.
  /// - Parameters:
  ///   - selector: the point in time to search.
  ///   - deleted: whether to search the last records of entities that were deleted by that point in time, instead of
  ///     existing entities. Entities whose last record was pruned or erased are not found.
  /// - Throws: ``JournalError`` with code `notFound` if the selector names no point in time, and the errors of `body`.
  /// - Complexity: O(h) reads of the log if the query names an entity with h events; otherwise O(n) for the n entities
  ///   of the kind, of the categories or of the catalog.
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

  func deletedEntity(_ entity: EntityKey, upTo point: Revision) throws -> FoundEntity? {
    guard let last = try history(of: entity, asOf: .revision(point), limit: 1).first,
      let record = last.before
    else { return nil }
    return FoundEntity(entity: entity, record: record, deleted: last.revision)
  }
}

extension Catalog {
  /// The kind of an item with the given record; `category`, `image`, `tag` or `rule` for other entities.
  static func kindName(of record: EntityRecord, _ kind: EntityKind) -> String {
    if kind == .item, let fields = try? ItemFields(record) { return record.text(at: fields.kind) }
    return kindName(of: kind)
  }

  /// The entities whose content was erased, in the order of kinds and numbers, except tags and rules, which no restore
  /// changes.
  package var erasedEntities: [EntityKey] {
    zip(Self.entityKinds, tables).flatMap { kind, table in
      table.erasedNumbers.map { EntityKey(kind: kind, number: $0) }
    }.filter { Self.isRestored($0.kind) }
  }

  fileprivate var deletedEntities: some Sequence<(EntityKey, Revision)> {
    zip(Self.entityKinds, tables).lazy.flatMap { kind, table in
      table.goneEntities.lazy.map { (EntityKey(kind: kind, number: $0.number), $0.revision) }
    }
  }

  /// All entities that match a query, and possibly others, in the order of kinds and numbers.
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
      zip(Self.entityKinds, tables).lazy.flatMap { kind, table in
        table.lazy.map { (EntityKey(kind: kind, number: $0.number), $0.row.record) }
      })
  }
}
