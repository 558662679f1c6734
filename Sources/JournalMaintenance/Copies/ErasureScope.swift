import Files
import Journaling
import SHA256

/// The entities, events and images that an erasure erases.
struct ErasureScope<State: EventSourced> {
  /// The entities passed to the erasure, and those that belong to them.
  var entities: Set<EntityKey>
  /// The entries with an event of one of `entities`.
  var touched: Set<Revision> = []
  /// The images that `entities` name, and the images that other entities name.
  private var named: Set<Blob> = []
  private var kept: Set<Blob> = []
  private(set) var eventCount = 0
  /// The members of `entities` that are in the base of a pruned history.
  var inBase: Set<EntityKey> = []
  /// The pruned entries that are known to have changed one of `entities`.
  var past: Set<Revision> = []

  init(entities: Set<EntityKey>) { self.entities = entities }

  /// The images that no entity outside of `entities` names.
  var images: Set<Blob> { named.subtracting(kept) }

  /// Whether there is any content that was not erased yet.
  var hasContent: Bool { eventCount > 0 || !images.isEmpty || !inBase.isEmpty }

  /// Records the images of an entity's record, and returns whether the entity is to be erased.
  mutating func note(_ entity: EntityKey, _ record: EntityRecord?) -> Bool {
    let blobs = record.map { State.blobs(in: $0, of: entity.kind) } ?? []
    let isErased = entities.contains(entity)
    if isErased { named.formUnion(blobs) } else { kept.formUnion(blobs) }
    return isErased
  }

  /// Counts an event of one of `entities`.
  mutating func count(_ event: JournalEvent, of revision: Revision) {
    touched.insert(revision)
    switch event.change {
    case .add, .update: eventCount += 1
    case .delete, .erased: break
    }
  }

  /// Whether a deletion of one of `others` would delete the entity of a record.
  static func goes(_ record: EntityRecord, _ kind: EntityKind, with others: Set<EntityKey>) -> Bool {
    State.references(in: record, of: kind).contains { reference in
      others.contains(reference) && State.record(record, of: kind, without: reference) == nil
    }
  }

  /// Whether the deletion of some other entity would delete the entity of a record.
  static func belongsToOthers(_ record: EntityRecord, _ kind: EntityKind) -> Bool {
    goes(record, kind, with: Set(State.references(in: record, of: kind)))
  }
}

/// Erases content from the entries of a log.
struct ErasureRewriting<State: EventSourced>: LogRewriting {
  let start: Head
  let considered: Head
  let byteCount: Int
  private let given: Set<EntityKey>
  private let author: String
  private let reason: String
  private let format: JournalFormat
  private let upcast: EventUpcast
  /// The state after the considered entries.
  private let state: State
  /// The newest records that entries after the considered ones made; nil for deleted entities.
  private var records: [EntityKey: EntityRecord?] = [:]
  private var scope: ErasureScope<State>
  private var words: ErasedWords?
  private var erasure: Erasure

  /// - Parameter words: the annotations to erase; nil to keep all annotations.
  init(
    given: Set<EntityKey>, _ scope: ErasureScope<State>, _ words: ErasedWords?, author: String,
    reason: String, in version: Version<State>, _ format: JournalFormat, _ upcast: EventUpcast, byteCount: Int
  ) {
    self.given = given
    self.scope = scope
    self.words = words
    self.author = author
    self.reason = reason
    self.format = format
    self.upcast = upcast
    self.byteCount = byteCount
    start = format.head
    considered = version.head
    state = version.state
    erasure = Erasure(entities: scope.entities, annotations: words?.entries ?? [])
    if !scope.inBase.isEmpty { erasure.firstErased = format.head.revision }
  }

  var images: [ContentDigest] { scope.images.map(\.digest) }

  var annotation: EntryAnnotation {
    var metadata = [ErasureMetadata.erases: scope.entities.sorted().map(State.name).joined(separator: " ")]
    if let words {
      metadata[ErasureMetadata.annotations] = words.entries.sorted().map(String.init).joined(separator: " ")
    }
    return EntryAnnotation(author: author, note: reason, metadata: metadata)
  }

  func report(_ head: Head) -> ErasureReport {
    ErasureReport(
      entities: scope.entities.sorted(), eventCount: scope.eventCount,
      annotations: words?.entries.sorted() ?? [], mentions: words?.mentions.sorted() ?? [],
      imageCount: scope.images.count, isEmpty: false, head: head)
  }

  func writeBase(in entries: Files.Folder<JournalError>) throws(JournalError) -> HistoryBase? {
    guard let base = format.base else { return nil }
    // The entry of the erasure proves the base, in terms of this version of the model.
    if scope.inBase.isEmpty, base.schema.version == upcast.schema.version {
      return try base.copy(to: entries, format)
    }
    // Loading converts the records of the base to this version of the model.
    var state = State()
    _ = try base.contents().load(into: &state)
    guard var tables = state.parts?.tables else { throw Journal<State>.hasNoParts }
    for entity in scope.inBase {
      tables[Int(entity.kind.rawValue)].erase(entity.number, at: state.revision(of: entity))
    }
    return try HistoryBase.write(tables, ModelSchema(of: State.self), base.head, of: format, in: entries)
  }

  mutating func rewrite(_ piece: [SealedEntry], _ blobs: [Blob]) throws -> [SealedEntry] {
    var rewritten: [SealedEntry] = []
    for entry in piece {
      if entry.revision > considered.revision { try note(entry) }
      rewritten.append(try erasure.erase(entry))
    }
    return rewritten
  }

  /// Extends the scope by an entry that was committed after the scope was found.
  private mutating func note(_ entry: SealedEntry) throws {
    let events = try entry.decode { entry throws(JournalError) in try entry.allEvents(upcast) }
    for event in events {
      records[event.entity] = .some(
        event.change.applied(to: records[event.entity] ?? state.record(of: event.entity)))
    }
    var isComplete = false
    while !isComplete {
      isComplete = true
      for event in events where !given.contains(event.entity) {
        let entity = event.entity
        guard let record = records[entity] ?? nil,
          ErasureScope<State>.goes(record, entity.kind, with: scope.entities)
            != scope.entities.contains(entity)
        else { continue }
        // A new entity can join the scope, as none of its events was copied yet. Any other entity has begun or ceased
        // to belong to an erased one, so the scope must be found again.
        guard event.previous == 0, case .add = event.change else { throw RewritingIsOutdated() }
        scope.entities.insert(entity)
        isComplete = false
      }
    }
    var isTouched = false
    for event in events where scope.note(event.entity, records[event.entity] ?? nil) {
      scope.count(event, of: entry.revision)
      isTouched = true
    }
    erasure.entities = scope.entities
    guard words != nil else { return }
    if isTouched { words?.touch(entry.revision) }
    try entry.decode { entry throws(JournalError) in
      try words?.find(in: entry)
      try words?.findMentions(in: entry)
    }
    erasure.annotations = words?.entries ?? []
  }
}
