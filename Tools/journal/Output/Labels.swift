import CatalogModel

/// Labels of entities, from their current records, or the last ones of deleted entities.
final class Labels {
  private let open: () throws -> CatalogJournal
  private var opened: CatalogJournal?
  /// The records as of a revision of the journal, which moves on if it is followed.
  private var records: [EntityKey: EntityRecord?] = [:]
  private var byteCount = 0
  private var revision: Revision = 0
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
}
