import CatalogModel

/// Labels of entities, from their current records, or the last ones of deleted entities, or as of an entry.
final class Labels {
  private let open: () throws -> CatalogJournal
  private var opened: CatalogJournal?
  /// The records as of a revision of the journal, which moves on if it is followed.
  private var records: [EntityKey: EntityRecord?] = [:]
  private var byteCount = 0
  private var revision: Revision = 0
  /// For an entity, a label that it had from one revision to another.
  private var past: [EntityKey: (label: String?, range: ClosedRange<Revision>)] = [:]
  private static let limit = 10_000
  private static let byteLimit = 32 << 20

  /// - Parameter journal: opened for the first label.
  init(_ journal: @autoclosure @escaping () throws -> CatalogJournal) { open = journal }

  /// The journal whose entities these are.
  func journal() throws -> CatalogJournal {
    if let opened { return opened }
    let journal = try open()
    opened = journal
    return journal
  }

  /// The current or last record of an entity; nil if it never existed.
  func record(of entity: EntityKey) throws -> EntityRecord? {
    let journal = try journal()
    let version = journal.version
    if version.revision != revision { removeAll() }
    revision = version.revision
    if let known = records[entity] { return known }
    var record = version.state.record(of: entity)
    let changed = version.state.revision(of: entity)
    if record == nil, changed > 0 {
      record = try journal.entity(entity, asOf: .revision(changed - 1))?.record
    }
    if records.count >= Self.limit || byteCount >= Self.byteLimit { removeAll() }
    records[entity] = record
    byteCount += record?.bytes.count ?? 0
    return record
  }

  private func removeAll() {
    records.removeAll()
    byteCount = 0
  }

  /// A short printable label; empty if there is none.
  func label(of entity: EntityKey) throws -> String {
    try record(of: entity).flatMap { Catalog.label(of: $0, of: entity.kind) }?.printable.shortened(to: 40)
      ?? ""
  }

  /// `item:42 (Dune)`.
  func name(of entity: EntityKey) throws -> String {
    let label = try label(of: entity)
    return Catalog.name(of: entity) + (label.isEmpty ? "" : " (\(label))")
  }

  /// The label of an entity after an event, or before its deletion.
  func label(of event: JournalEvent, in revision: Revision) throws -> String? {
    let entity = event.entity
    switch event.change {
    case .add(let record): return Catalog.label(of: record, of: entity.kind)
    case .erased: return nil
    case .update, .delete: break
    }
    // The entries before and after this one are printed too, and mostly have the same label.
    let range = event.keepsLabel ? event.previous...revision : revision...revision
    if let known = past[entity], known.range.overlaps(range) {
      past[entity]?.range =
        min(range.lowerBound, known.range.lowerBound)...max(range.upperBound, known.range.upperBound)
      return known.label
    }
    let journal = try journal()
    let isNewest = event.operation == .update && journal.state.revision(of: entity) == revision
    let record =
      isNewest
      ? try self.record(of: entity)
      : try journal.entity(
        entity, asOf: .revision(event.operation == .delete ? revision - 1 : revision))?.record
    let label = record.flatMap { Catalog.label(of: $0, of: entity.kind) }
    if past.count >= Self.limit { past.removeAll() }
    past[entity] = (label, range)
    return label
  }

  /// `item:42 (Dune)`, as of an event.
  func name(of event: JournalEvent, in revision: Revision) throws -> String {
    let label = try label(of: event, in: revision)?.printable.shortened(to: 40) ?? ""
    return Catalog.name(of: event.entity) + (label.isEmpty ? "" : " (\(label))")
  }
}

extension JournalEvent {
  /// Whether the entity has the same label before and after: no part changes that can be one.
  fileprivate var keepsLabel: Bool {
    guard case .update(let changes) = change else { return operation == .delete }
    var isKept = true
    changes.visit { key, value in
      switch (key, value) {
      case (.field, _): if entity.kind != .item { isKept = false }
      case (.attribute(let name), _) where ["title", "name", "path"].contains(name): isKept = false
      case (_, nil), (_, .string): isKept = false
      default: break
      }
    }
    return isKept
  }
}
