import CatalogModel
import EntitySearch
import JSON

struct EntryFilter {
  private let author: String?
  private let note: String?
  private let entities: Set<EntityKey>
  private let kind: String?
  private let categories: Set<CategoryID>?
  private let operation: JournalEvent.Operation?
  private let field: String?
  private let labels: Labels

  /// - Parameter until: the point in time at which to look up the name of a category.
  init(
    _ arguments: Arguments, entities: [EntityKey], _ labels: Labels, until: RevisionSelector = .head()
  ) throws {
    author = arguments.value("--author")?.lowercased()
    note = arguments.value("--note")?.lowercased()
    self.entities = Set(entities)
    kind = arguments.value("--kind")
    categories = try arguments.value("--category").map {
      try labels.journal.categories(named: $0, asOf: until)
    }
    operation = try arguments.value("--operation").map { name throws(Failure) in
      switch name {
      case "add": .add
      case "update": .update
      case "delete": .delete
      default: throw Failure.wrongUse("--operation is add, update or delete, not \"\(name)\"")
      }
    }
    field = arguments.value("--touched")
    // Throws an error for a field that no entity has.
    if let field { _ = try NamedParts([field]) }
    self.labels = labels
  }

  /// The selected events of an entry; nil if the entry is not selected.
  func events(of entry: Entry) throws -> [JournalEvent]? {
    if let author, !entry.author.lowercased().contains(author) { return nil }
    if let note, !entry.note.lowercased().contains(note) { return nil }
    let events = try entry.events.filter { try matches($0, in: entry.revision) }
    return events.isEmpty && choosesEvents ? nil : events
  }

  /// Whether a part is one that `--touched` names, or `--touched` is not given.
  func wants(_ key: FieldKey, of kind: EntityKind) -> Bool {
    field.map { Catalog.key(named: $0, of: kind) == key } ?? true
  }

  private var choosesEvents: Bool {
    !entities.isEmpty || kind != nil || categories != nil || operation != nil || field != nil
  }

  private func matches(_ event: JournalEvent, in revision: Revision) throws -> Bool {
    if !entities.isEmpty, !entities.contains(event.entity) { return false }
    if let operation, event.operation != operation { return false }
    if let field, try !touches(event, field, in: revision) { return false }
    guard kind != nil || categories != nil else { return true }
    let entity = event.entity
    guard entity.kind != .item else {
      return try labels.around(event, in: revision).contains { matches($0) }
    }
    if let categories {
      return kind == nil && entity.kind == .category && categories.contains(CategoryID(entity.number))
    }
    return Catalog.kindName(of: entity.kind) == kind
  }

  private func matches(_ item: PastEntity) -> Bool {
    if let kind, item.kind?.utf8.elementsEqual(kind.utf8) != true { return false }
    guard let categories else { return true }
    return item.category.map { categories.contains($0) } ?? false
  }

  /// Whether an event adds, changes or removes a part; false if the content of the event was erased.
  private func touches(_ event: JournalEvent, _ name: String, in revision: Revision) throws -> Bool {
    guard let key = Catalog.key(named: name, of: event.entity.kind) else { return false }
    var isTouched = false
    switch event.change {
    case .add(let record): isTouched = record.value(of: key) != nil
    case .update(let changes): changes.visitKeys { if $0 == key { isTouched = true } }
    case .delete: isTouched = try labels.record(of: event, in: revision)?.value(of: key) != nil
    case .erased: break
    }
    return isTouched
  }
}
