import CatalogModel
import JSON

/// Labels of entities: current, or as of an entry.
final class Labels {
  private let open: () throws -> CatalogJournal
  private var opened: CatalogJournal?
  private var past = PastValues<Label>()
  private var references = PastValues<String>()

  /// - Parameter journal: evaluated for the first label.
  init(_ journal: @autoclosure @escaping () throws -> CatalogJournal) { open = journal }

  func journal() throws -> CatalogJournal {
    if let opened { return opened }
    let journal = try open()
    opened = journal
    return journal
  }

  /// An entity after an event, or before its deletion; nil if its content was erased.
  func record(of event: JournalEvent, in revision: Revision) throws -> EntityRecord? {
    switch event.change {
    case .add(let record): return record
    case .erased: return nil
    case .update, .delete: break
    }
    let (journal, entity) = (try journal(), event.entity)
    let state = journal.state
    // The state has the record if no later event changed it.
    if state.revision(of: entity) == revision, let record = state.record(of: entity) { return record }
    let point = event.operation == .delete ? revision - 1 : revision
    return try journal.entity(entity, asOf: .revision(point))?.record
  }

  /// `item:42 (Dune)`, with the current label or the last one.
  func name(of entity: EntityKey) throws -> String {
    let (journal, state) = (try journal(), try journal().state)
    let changed = state.revision(of: entity)
    var record = state.record(of: entity)
    if record == nil, changed > 0 {
      record = try journal.entity(entity, asOf: .revision(changed - 1))?.record
    }
    return Catalog.name(of: entity, labeled: record.flatMap { Catalog.label(of: $0, of: entity.kind) })
  }

  /// `category:1 (Novels)`, as of a revision.
  func reference(to entity: EntityKey, at revision: Revision) throws -> String {
    let journal = try journal()
    let state = journal.state
    // Without a later event, the label in the state counts. Erased content is erased at every revision.
    if state.isErased(entity) || state.revision(of: entity) <= revision { return state.reference(to: entity) }
    if let known = references.value(of: entity, at: revision) { return known }
    let row: EntityRow? =
      try journal.readable { try journal.entity(entity, asOf: .revision(revision)) } ?? nil
    guard let row else { return Catalog.name(of: entity) }
    let name = Catalog.name(of: entity, labeled: Catalog.label(of: row.record, of: entity.kind))
    references.note(name, of: entity, in: min(row.modified, revision)...revision)
    return name
  }

  /// The label after an event, or before a deletion.
  func label(of event: JournalEvent, in revision: Revision) throws -> String? {
    let entity = event.entity
    switch event.change {
    case .add(let record):
      let label = Label(record, of: entity.kind)
      past.note(label, of: entity, in: revision...revision)
      return label.text
    case .erased: return nil
    case .update, .delete: break
    }
    // Neighboring entries are printed too, and mostly have the same label.
    let range = event.range(in: revision)
    var known = past.value(of: entity, at: revision)
    if known == nil, let before = past.value(of: entity, at: range.lowerBound), event.keeps(before) {
      known = before
    }
    let label = try known ?? Label(try record(of: event, in: revision), of: entity.kind)
    past.note(label, of: entity, in: event.keeps(label) ? range : revision...revision)
    return label.text
  }

  /// `item:42 (Dune)`, as of an event.
  func name(of event: JournalEvent, in revision: Revision) throws -> String {
    Catalog.name(of: event.entity, labeled: try label(of: event, in: revision))
  }
}

extension Catalog {
  static func name(of entity: EntityKey, labeled label: String?) -> String {
    let label = label?.printable.shortened(to: 40) ?? ""
    return name(of: entity) + (label.isEmpty ? "" : " (\(label))")
  }

  /// `category:1 (Novels)`, or `category:1 (erased)`.
  func reference(to entity: EntityKey) -> String {
    if isErased(entity) { return "\(Self.name(of: entity)) \(erasedText)" }
    let label = record(of: entity).flatMap { Self.label(of: $0, of: entity.kind) }
    return Self.name(of: entity, labeled: label)
  }
}

/// A label, and the attribute that it comes from.
private struct Label {
  let text: String?
  let attribute: String?

  init(_ record: EntityRecord?, of kind: EntityKind) {
    if kind == .item {
      let part = record?.labelPart
      (text, attribute) = (part?.text, part?.attribute)
    } else {
      (text, attribute) = (record.flatMap { Catalog.label(of: $0, of: kind) }, nil)
    }
  }
}

extension JournalEvent {
  /// - Parameter label: the one before or after the event.
  fileprivate func keeps(_ label: Label) -> Bool {
    guard case .update(let changes) = change else { return operation == .delete }
    if entity.kind == .item { return changes.keepsLabel(from: label.attribute) }
    let name = Catalog.key(named: "@name", of: entity.kind)
    var isKept = true
    changes.visitKeys { if $0 == name { isKept = false } }
    return isKept
  }
}
