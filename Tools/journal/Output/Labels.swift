import CatalogModel
import JSON

/// Looks up labels of entities: current ones, or those as of an entry.
///
/// A log prints many events of one entity, most of which do not change its label, kind and category. So these are kept
/// in memory with the range of revisions in which they are known to be the same, and few records are read.
final class Labels {
  private static let limit = 10_000

  let journal: CatalogJournal
  private var known: [EntityKey: (past: PastEntity, range: ClosedRange<Revision>)] = [:]

  init(_ journal: CatalogJournal) { self.journal = journal }

  /// The name and the label of an entity: `item:42 (Dune)`. A deleted entity has its last label.
  func name(of entity: EntityKey) throws -> String {
    return Catalog.name(
      of: entity, labeled: try lastRecord(of: entity).flatMap { Catalog.label(of: $0, of: entity.kind) })
  }

  /// The items to which a value of an entity's attribute refers by the rules of the entity's kind.
  func targets(of value: FieldValue, _ key: FieldKey, of entity: EntityKey) throws -> [EntityKey] {
    let state = journal.state
    guard case .attribute(let name) = key, entity.kind == .item, !state.allRules.isEmpty,
      let record = try lastRecord(of: entity), let kind = record[field: ItemField.kind]?.string
    else { return [] }
    return state.targets(of: value, in: name, ofKind: kind)
  }

  /// The current record of an entity, or the last one of a deleted entity; nil if it never existed.
  private func lastRecord(of entity: EntityKey) throws -> EntityRecord? {
    let changed = journal.state.revision(of: entity)
    if let record = journal.state.record(of: entity) { return record }
    return changed > 0 ? try journal.entity(entity, asOf: .revision(changed - 1))?.record : nil
  }

  /// The name and the label of an entity as of a revision: `category:1 (Novels)`.
  func reference(to entity: EntityKey, at revision: Revision) throws -> String {
    let state = journal.state
    // If no later event changed the entity, the state has its label. Erased content is erased at every revision.
    if state.isErased(entity) || state.revision(of: entity) <= revision { return state.reference(to: entity) }
    if let past = known(entity, at: revision) { return Catalog.name(of: entity, labeled: past.label) }
    let row = try journal.readable { try journal.entity(entity, asOf: .revision(revision)) } ?? nil
    let past = row.map { PastEntity($0.record, of: entity.kind) }
    if let row, let past { keep(past, of: entity, in: min(row.modified, revision)...revision) }
    return Catalog.name(of: entity, labeled: past?.label)
  }

  /// The label of an entity after an event, or before the event if it is a deletion.
  func label(of event: JournalEvent, in revision: Revision) throws -> String? {
    try past(event, in: revision)?.label
  }

  /// An item before and after an event: one value if both are the same, none if the event's content was erased.
  func around(_ event: JournalEvent, in revision: Revision) throws -> [PastEntity] {
    guard let after = try past(event, in: revision) else { return [] }
    guard case .update(let changes) = event.change, changes.changeFields else { return [after] }
    var before = after
    for part in try journal.parts(changedBy: event) {
      switch part.key {
      case .field(ItemField.kind): before.kind = part.old?.string
      case .field(ItemField.category): before.category = part.old?.integer.map { CategoryID($0) }
      default: break
      }
    }
    return [before, after]
  }

  /// An entity after an event, or before the event if it is a deletion; nil if the event's content was erased.
  func past(_ event: JournalEvent, in revision: Revision) throws -> PastEntity? {
    if case .erased = event.change { return nil }
    let entity = event.entity
    let previous = min(event.previous, revision)
    let found =
      known(entity, at: revision) ?? known(entity, at: previous).flatMap { event.keeps($0) ? $0 : nil }
    guard let past = try found ?? record(of: event, in: revision).map({ PastEntity($0, of: entity.kind) })
    else { return nil }
    keep(past, of: entity, in: event.keeps(past) ? previous...revision : revision...revision)
    return past
  }

  /// The record after an event, or before the event if it is a deletion; nil if the event's content was erased.
  func record(of event: JournalEvent, in revision: Revision) throws -> EntityRecord? {
    switch event.change {
    case .add(let record): return record
    case .erased: return nil
    case .update, .delete: break
    }
    let (entity, state) = (event.entity, journal.state)
    // The state has the record if no later event changed it.
    if state.revision(of: entity) == revision, let record = state.record(of: entity) { return record }
    let point = event.operation == .delete ? revision - 1 : revision
    return try journal.entity(entity, asOf: .revision(point))?.record
  }

  private func known(_ entity: EntityKey, at revision: Revision) -> PastEntity? {
    known[entity].flatMap { $0.range.contains(revision) ? $0.past : nil }
  }

  private func keep(_ past: PastEntity, of entity: EntityKey, in range: ClosedRange<Revision>) {
    var range = range
    if let old = known[entity]?.range, old.overlaps(range) {
      range = min(old.lowerBound, range.lowerBound)...max(old.upperBound, range.upperBound)
    } else if known.count >= Self.limit {
      known.removeAll()
    }
    known[entity] = (past, range)
  }
}

/// What a log prints of an entity as of an entry, and what it selects entries by.
struct PastEntity {
  let label: String?
  /// The attribute of an item that the label comes from; nil if there is none.
  fileprivate let attribute: String?
  /// The kind and the category of an item; nil for other entities.
  fileprivate(set) var kind: String?
  fileprivate(set) var category: CategoryID?

  fileprivate init(_ record: EntityRecord, of kind: EntityKind) {
    guard kind == .item else {
      (label, attribute) = (Catalog.label(of: record, of: kind), nil)
      return
    }
    let part = record.labelPart
    (label, attribute) = (part?.text, part?.attribute)
    self.kind = record[field: ItemField.kind]?.string
    category = record[field: ItemField.category]?.integer.map { CategoryID($0) }
  }
}

extension JournalEvent {
  /// Whether the entity has the same label, kind and category before and after the event.
  /// - Parameter past: the entity before or after the event.
  fileprivate func keeps(_ past: PastEntity) -> Bool {
    guard case .update(let changes) = change else { return operation == .delete }
    return !changes.changeFields && (entity.kind != .item || changes.keepsLabel(from: past.attribute))
  }
}

extension RecordChanges {
  /// Whether a record is known to have the same ``EntityRecord/label`` before and after these changes. The changes lack
  /// the old values, so a text that was replaced by a number may have been the label.
  /// - Parameter attribute: the attribute from which the label before or after the changes comes; nil if there is none.
  fileprivate func keepsLabel(from attribute: String?) -> Bool {
    let names = EntityRecord.labelNames
    let place = attribute.flatMap { names.firstIndex(of: $0) }
    var isKept = true
    visitKeys { key in
      guard case .attribute(let changed) = key else { return }
      switch (names.firstIndex(of: changed), place) {
      case (let changed?, let place?): if changed <= place { isKept = false }
      case (.some, nil): isKept = false
      case (nil, .some): break
      // Without a title, name or path, the first short text is the label.
      case (nil, nil): if attribute?.isBefore(changed) != true { isKept = false }
      }
    }
    return isKept
  }
}

extension String {
  /// Whether an attribute with this name comes before an attribute with another name in a record.
  fileprivate func isBefore(_ other: String) -> Bool {
    utf8.count == other.utf8.count
      ? utf8.lexicographicallyPrecedes(other.utf8) : utf8.count < other.utf8.count
  }
}

extension Catalog {
  static func name(of entity: EntityKey, labeled label: String?) -> String {
    let label = label?.printable.shortened(to: 40) ?? ""
    return name(of: entity) + (label.isEmpty ? "" : " (\(label))")
  }

  /// The name and the current label of an entity: `category:1 (Novels)`, or `category:1 (erased)`.
  func reference(to entity: EntityKey) -> String {
    if isErased(entity) { return "\(Self.name(of: entity)) \(erasedText)" }
    let label = record(of: entity).flatMap { Self.label(of: $0, of: entity.kind) }
    return Self.name(of: entity, labeled: label)
  }
}
