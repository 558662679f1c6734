import Files
public import Foundation

/// The result of an erasure.
public struct ErasureReport: Sendable {
  /// The erased entities: the given ones, and those that belong to them, such as the images of an item.
  public let entities: [EntityKey]
  /// How many events have lost their content.
  public let eventCount: Int
  /// The entries that have lost author, note and metadata: those that changed the entities, and reverts, undos and redos
  /// of them whose default notes quoted theirs.
  public let annotations: [Revision]
  /// Other entries whose notes or metadata have the first line of an erased note, because people wrote it there. They
  /// stay. So do the default notes of reverts of entries that were pruned, and may have changed the entities.
  public let mentions: [Revision]
  /// How many images were removed.
  public let imageCount: Int
  /// Whether all of it had been erased before. Then nothing was written.
  public let isEmpty: Bool
  /// The newest entry: the one that records what was erased, when and why, unless nothing was.
  public let head: Head
}

enum ErasureMetadata {
  /// The names of the entities, separated by spaces.
  static let erases = "journal.erases"
  /// The entries whose annotations were erased, separated by spaces.
  static let annotations = "journal.erasesWords"
}

extension EntryDecoder {
  /// Whether the entry records an erasure. A commit can have the same metadata, but only with events: without events, it
  /// makes no entry.
  func recordsErasure() throws(JournalError) -> Bool { try recordsErasure(try events()) }

  /// - Parameter events: all of the entry.
  func recordsErasure(_ events: EventDecoder) throws(JournalError) -> Bool {
    guard events.remaining == 0 else { return false }
    return try annotation()?.metadata[ErasureMetadata.erases] != nil
  }
}

extension SealedEntry {
  package func recordsErasure() throws(JournalError) -> Bool {
    try decode { entry throws(JournalError) in try entry.recordsErasure() }
  }

  /// What the entry says was erased; nil if it records no erasure.
  package func recordedErasure<State: EventSourced>(
    in model: State.Type
  ) throws(JournalError) -> Erasure? {
    let metadata = try decode { entry throws(JournalError) in
      try entry.recordsErasure() ? try entry.annotation()?.metadata : nil
    }
    guard let metadata else { return nil }
    func words(_ key: String) -> [String] { metadata[key]?.split(separator: " ").map(String.init) ?? [] }
    return Erasure(
      entities: Set(words(ErasureMetadata.erases).compactMap { try? State.entity(named: $0) }),
      annotations: Set(words(ErasureMetadata.annotations).compactMap { Revision($0) }))
  }
}

extension Journal {
  /// Erases the content of entities from the whole history: the content of all their events, and the bytes of images
  /// that nothing else names.
  ///
  /// The events themselves stay, with their dates and digests, so the chain still verifies and earlier receipts still
  /// hold. A new entry records what was erased, when and why. Afterwards the erased bytes are nowhere in the folder:
  /// not in the log, the layers and snapshots, the images or temporary files. Backups keep them until their next run,
  /// and the file system may retain removed files.
  ///
  /// If no content is left to erase, nothing is written.
  ///
  /// The journal must be closed. After a crash either everything is erased, or nothing.
  /// - Parameters:
  ///   - entities: the entities to erase, existing or deleted. Entities that would be deleted with them are also
  ///     erased.
  ///   - url: the journal's folder.
  ///   - reason: why; the note of the new entry, which is kept.
  ///   - author: who does it; also kept.
  ///   - words: whether the author, note and metadata of all entries that changed these entities are erased as well, and
  ///     those of reverts, undos and redos whose default notes quote them. ``ErasureReport/mentions`` has others with the
  ///     same texts.
  ///   - options: whose log receives the notices.
  ///   - progress: called with the progress; an error that it throws, or cancelling the task, ends the work, and
  ///     nothing is erased.
  /// - Throws: ``JournalError`` as `open` does; `notFound` for an entity that never existed; `wrongUse` for a shared
  ///   journal; `io` if the disk is full.
  /// - Complexity: O(n) in the bytes of the entries, because the log is rewritten.
  @discardableResult
  public static func erase(
    _ entities: Set<EntityKey>, at url: URL, reason: String, by author: String = "",
    includingWords words: Bool = false, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> ErasureReport {
    let options = options.forCopies
    return try replacingLog(at: url, options: options) { journal in
      for entity in entities where journal.state.revision(of: entity) == 0 {
        throw JournalError(.notFound, "\(State.name(of: entity)) never existed in this journal")
      }
      return try journal.erase(entities, reason, author, words, options, progress)
    }
  }

  private func erase(
    _ entities: Set<EntityKey>, _ reason: String, _ author: String, _ words: Bool, _ options: JournalOptions,
    _ observer: CopyObserver
  ) throws -> ErasureReport {
    let scope = try erasureScope(of: entities, observer)
    var erased = ErasedWords(
      touched: words ? scope.touched : [], past: scope.past, base: format.head.revision)
    if words {
      try forEachEntry(observer) { entry throws(JournalError) in try erased.find(in: entry) }
    }
    guard scope.hasContent || erased.isNew else {
      // No entry: it would seem to say when and why the content was erased.
      return ErasureReport(
        entities: scope.entities.sorted(), eventCount: 0, annotations: [], mentions: [], imageCount: 0,
        isEmpty: true, head: head)
    }
    if words {
      try forEachEntry(observer) { entry throws(JournalError) in try erased.findMentions(in: entry) }
    }
    let annotations = erased.entries.sorted()
    let isBaseErased = !scope.inBase.isEmpty
    let replacement = try LogReplacement(in: LogPlace(folder, format, options: options)) {
      [format, upcast] entries throws(JournalError) in
      guard let base = format.base else { return nil }
      // The entry of the erasure proves the base, in terms of this version of the model.
      return isBaseErased || base.schema.version != upcast.schema.version
        ? try Self.write(base, without: scope.inBase, of: format, in: entries)
        : try base.copy(to: entries, format)
    }
    do {
      try folder.root.require(2 * (try log.byteCount()), for: "the entries without the erased content")
      var erasure = Erasure(entities: scope.entities, annotations: erased.entries)
      if isBaseErased { erasure.firstErased = format.head.revision }
      try rewrite(to: replacement.copy, without: &erasure, observer)
      // The base can't be rebuilt, so each erasure proves it again. Otherwise an old backup's base would fit.
      let checkpoint = try replacement.base?.checkpoint ?? checkpoint(after: replacement)
      var metadata = [
        ErasureMetadata.erases: scope.entities.sorted().map(State.name).joined(separator: " ")
      ]
      if words {
        metadata[ErasureMetadata.annotations] = annotations.map(String.init).joined(separator: " ")
      }
      try replacement.copy.append(
        EntryAnnotation(author: author, note: reason, metadata: metadata), checkpoint, upcast.schema)
      try replacement.copy.prove(observer)
      try Task.checkCancellation()
    } catch {
      replacement.cancel()
      throw error
    }
    try replacement.commit(removing: scope.images.map(\.digest))
    return ErasureReport(
      entities: scope.entities.sorted(), eventCount: scope.eventCount,
      annotations: annotations, mentions: erased.mentions.sorted(), imageCount: scope.images.count,
      isEmpty: false, head: replacement.copy.head)
  }

  private struct ErasureScope {
    var entities: Set<EntityKey>
    /// The entries with an event of one of them.
    var touched: Set<Revision> = []
    /// The images that nothing else names.
    var images: Set<Blob> = []
    var eventCount = 0
    /// The entities in the base of a pruned history.
    var inBase: Set<EntityKey> = []
    /// The pruned entries that are known to have changed one of them.
    var past: Set<Revision> = []

    /// Whether there is any content that was not erased yet.
    var hasContent: Bool { eventCount > 0 || !images.isEmpty || !inBase.isEmpty }
  }

  /// Finds the entities that belong to the given ones, transitively, and the images that only they name.
  private func erasureScope(of entities: Set<EntityKey>, _ observer: CopyObserver) throws -> ErasureScope {
    var found = entities
    while true {
      var scope = ErasureScope(entities: found)
      var kept: Set<Blob> = []
      /// The newest record of each entity; of a deleted one the last, if the entity belonged to another.
      var records: [EntityKey: EntityRecord] = [:]
      let upcast = upcast
      /// Notes a record of an entity, and returns whether it is to be erased.
      func note(_ entity: EntityKey, _ record: EntityRecord?) -> Bool {
        if let record {
          records[entity] = record
        } else if let last = records[entity], !Self.belongsToOthers(last, entity.kind) {
          records[entity] = nil
        }
        let blobs = record.map { State.blobs(in: $0, of: entity.kind) } ?? []
        let isErased = scope.entities.contains(entity)
        if isErased { scope.images.formUnion(blobs) } else { kept.formUnion(blobs) }
        return isErased
      }
      try format.base?.contents().forEach(upcast) { entity, row throws(JournalError) in
        switch row {
        case .there(let row):
          guard note(entity, row.record) else { return }
          scope.inBase.insert(entity)
          scope.past.formUnion([row.created, row.modified])
        case .gone(let deletion):
          if scope.entities.contains(entity) { scope.past.insert(deletion.revision) }
        }
      }
      try readPieces(after: format.head, through: head, observer) { piece, _, _ in
        for entry in piece {
          for event in try entry.decode({ entry throws(JournalError) in try entry.allEvents(upcast) }) {
            guard note(event.entity, event.change.applied(to: records[event.entity])) else { continue }
            scope.touched.insert(entry.revision)
            switch event.change {
            case .add, .update: scope.eventCount += 1
            case .delete, .erased: break
            }
          }
        }
      }
      var isComplete = false
      while !isComplete {
        let others = records.filter { entity, record in
          !found.contains(entity) && Self.goes(record, entity.kind, with: found)
        }
        found.formUnion(others.keys)
        isComplete = others.isEmpty
      }
      if found.count == scope.entities.count {
        scope.images.subtract(kept)
        return scope
      }
    }
  }

  /// Whether a record's entity is deleted with one of the others.
  private static func goes(_ record: EntityRecord, _ kind: EntityKind, with others: Set<EntityKey>) -> Bool {
    State.references(in: record, of: kind).contains { reference in
      others.contains(reference) && State.record(record, of: kind, without: reference) == nil
    }
  }

  /// Whether a record's entity is deleted with any other.
  private static func belongsToOthers(_ record: EntityRecord, _ kind: EntityKind) -> Bool {
    goes(record, kind, with: Set(State.references(in: record, of: kind)))
  }

  private func forEachEntry(
    _ observer: CopyObserver, _ body: (EntryDecoder) throws(JournalError) -> Void
  ) throws {
    try readPieces(after: format.head, through: head, observer) { piece, _, _ in
      for entry in piece { try entry.decode(body) }
    }
  }

  private func rewrite(to copy: JournalCopy, without erasure: inout Erasure, _ observer: CopyObserver) throws
  {
    try readPieces(after: format.head, through: head, observer) { piece, _, head in
      let rewritten = try piece.map { entry throws(JournalError) in try erasure.erase(entry) }
      try copy.append(rewritten, head: head)
    }
  }

  /// The digest of the remaining state.
  private func checkpoint(after replacement: LogReplacement) throws -> Checkpoint? {
    let (copy, format) = (replacement.copy, replacement.format)
    let state = try Replay<State>(log: copy.log, format: format).version(through: copy.head.revision).version
      .state
    return StateDigest.digest(of: state).map { Checkpoint(revision: copy.head.revision, stateDigest: $0) }
  }

  /// Writes the base of a log without some entities. Its records are converted to this version of the model.
  private static func write(
    _ base: HistoryBase, without entities: Set<EntityKey>, of format: JournalFormat, in entries: Folder
  ) throws(JournalError) -> HistoryBase {
    var state = State()
    _ = try base.contents().load(into: &state)
    guard var tables = state.parts?.tables else { throw Self.hasNoParts }
    for entity in entities {
      let revision = state.revision(of: entity)
      tables[Int(entity.kind.rawValue)].erase(entity.number, at: revision)
    }
    return try HistoryBase.write(tables, ModelSchema(of: State.self), base.head, of: format, in: entries)
  }
}

extension JournalCopy {
  /// Appends a new entry to the copy, which records a change of the history, or begins a history with some events.
  /// - Parameter schema: the schema of the checkpoint and the events.
  func append(
    _ annotation: EntryAnnotation, _ checkpoint: Checkpoint?, _ schema: ModelSchema,
    events: [JournalEvent] = []
  ) throws(JournalError) {
    let last = head
    let now = Timestamp(Date()) ?? last.timestamp
    let header = EntryHeader(
      date: max(now, last.timestamp), clockDate: now, schemaVersion: schema.version,
      previousDigest: last.digest, checkpointRevision: checkpoint?.revision)
    var salts = RandomBytes()
    let sealed = try EntryCoding.seal(
      header, annotation, events: events, stateDigest: checkpoint?.stateDigest, revision: last.revision + 1,
      journal: journal, salts: &salts, logLimit: log.limits.appendByteCount)
    try append([sealed], head: Head(revision: sealed.revision, timestamp: header.date, digest: sealed.digest))
  }
}

extension Journal {
  /// The entry of the erasure that removed the newest content of an entity, with date, author and reason; nil if it was
  /// not erased. Later erasures that name the entity erased at most its words or what belongs to it.
  /// - Throws: ``JournalError`` if an entry can't be read.
  /// - Complexity: O(n) in the entries after the newest event of the entity.
  public func erasure(of entity: EntityKey) throws -> Entry? {
    let name = State.name(of: entity)
    let newest = state.revision(of: entity)
    let cursor = entries(newestFirst: true)
    var found: Entry?
    while let entry = try cursor.next() {
      if found != nil, entry.revision <= newest { break }
      // A commit can have this metadata too, but always has events.
      if entry.events.isEmpty,
        entry.metadata[ErasureMetadata.erases]?.split(separator: " ").contains(Substring(name)) == true
      {
        found = entry
      }
    }
    return found
  }
}
