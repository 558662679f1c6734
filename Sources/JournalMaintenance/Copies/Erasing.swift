import Files
public import Foundation
public import Journaling

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

extension Journal {
  /// Erases the content of entities from the whole history: the content of all their events, and the bytes of images
  /// that nothing else names.
  ///
  /// The events themselves stay, with their dates and digests, so the chain still verifies and earlier receipts still
  /// hold. A new entry records what was erased, when and why. Afterwards the erased bytes are nowhere in the folder:
  /// not in the log, the layers and snapshots, the images or temporary files. Backups keep them until their next run,
  /// the file system may retain removed files, and states that were returned earlier keep what they have in memory.
  ///
  /// If no content is left to erase, nothing is written. Commits, readers and sequences continue, and what is committed
  /// to the entities in the meantime is erased too, except images that are added again; commits wait only for a moment at
  /// the end. A second erasure or pruning
  /// waits for the first. From a task, call it in ``read(_:)``. After a crash either everything is erased, or nothing.
  /// - Parameters:
  ///   - entities: the entities to erase, existing or deleted. Entities that would be deleted with them are also
  ///     erased.
  ///   - reason: why; the note of the new entry, which is kept.
  ///   - author: who does it; also kept.
  ///   - words: whether the author, note and metadata of all entries that changed these entities are erased as well, and
  ///     those of reverts, undos and redos whose default notes quote them. ``ErasureReport/mentions`` has others with the
  ///     same texts.
  ///   - progress: called with the progress; an error that it throws, cancelling the task, or closing the journal ends the
  ///     work, and nothing is erased.
  /// - Throws: ``JournalError``: `notFound` for an entity that never existed; `readOnly`; `wrongUse` inside the body of a
  ///   commit, for a shared journal, and for one in memory; `closed`; `conflict` if commits keep changing what belongs to
  ///   the entities; `io` if the disk is full; `outcomeUnknown` if the erased content could not be removed, or the journal
  ///   takes no more commits: opening the journal again does the rest. After any other code nothing was erased.
  /// - Complexity: O(n) in the bytes of the entries, because the log is rewritten. The state is in memory until new layers
  ///   are written.
  @discardableResult
  public func erase(
    _ entities: Set<EntityKey>, reason: String, by author: String = "", includingWords words: Bool = false,
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> ErasureReport {
    var unchanged: Set<EntityKey> = []
    let erased = try replaceLog(progress) { observer -> ErasureRewriting<State>? in
      let version = version
      for entity in entities where version.state.revision(of: entity) == 0 {
        throw JournalError(.notFound, "\(State.name(of: entity)) never existed in this journal")
      }
      let scope = try erasureScope(of: entities, through: version.head, observer)
      var erased = ErasedWords(
        touched: words ? scope.touched : [], past: scope.past, base: format.head.revision)
      if words {
        try forEachEntry(through: version.head, observer) { entry throws(JournalError) in
          try erased.find(in: entry)
        }
      }
      guard scope.hasContent || erased.isNew else {
        // No entry: it would seem to say when and why the content was erased.
        unchanged = scope.entities
        return nil
      }
      if words {
        try forEachEntry(through: version.head, observer) { entry throws(JournalError) in
          try erased.findMentions(in: entry)
        }
      }
      return ErasureRewriting(
        given: entities, scope, words ? erased : nil, author: author, reason: reason, in: version, format,
        upcast, byteCount: try log.byteCount())
    }
    guard let (rewriting, head) = erased else {
      return ErasureReport(
        entities: unchanged.sorted(), eventCount: 0, annotations: [], mentions: [], imageCount: 0,
        isEmpty: true, head: head)
    }
    return rewriting.report(head)
  }

  /// Erases the content of entities from the closed journal in the folder `url`, as
  /// ``erase(_:reason:by:includingWords:progress:)`` does. The log of `options` receives the notices.
  /// - Throws: ``JournalError`` as `open` does, and as erasing in an open journal.
  @discardableResult
  public static func erase(
    _ entities: Set<EntityKey>, at url: URL, reason: String, by author: String = "",
    includingWords words: Bool = false, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> ErasureReport {
    try withUnused(at: url, options: options.forCopies) { journal in
      try journal.erase(
        entities, reason: reason, by: author, includingWords: words, progress: progress)
    }
  }

  /// Finds the entities that belong to the given ones, transitively, and the images that only they name.
  private func erasureScope(
    of entities: Set<EntityKey>, through last: Head, _ observer: CopyObserver
  ) throws -> ErasureScope<State> {
    var found = entities
    while true {
      var scope = ErasureScope<State>(entities: found)
      /// The newest record of each entity; of a deleted one the last, if the entity belonged to another.
      var records: [EntityKey: EntityRecord] = [:]
      let upcast = upcast
      /// Notes a record of an entity, and returns whether it is to be erased.
      func note(_ entity: EntityKey, _ record: EntityRecord?) -> Bool {
        if let record {
          records[entity] = record
        } else if let last = records[entity], !ErasureScope<State>.belongsToOthers(last, entity.kind) {
          records[entity] = nil
        }
        return scope.note(entity, record)
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
      try readPieces(after: format.head, through: last, observer) { piece, _, _ in
        for entry in piece {
          for event in try entry.decode({ entry throws(JournalError) in try entry.allEvents(upcast) }) {
            if note(event.entity, event.change.applied(to: records[event.entity])) {
              scope.count(event, of: entry.revision)
            }
          }
        }
      }
      var isComplete = false
      while !isComplete {
        let others = records.filter { entity, record in
          !found.contains(entity) && ErasureScope<State>.goes(record, entity.kind, with: found)
        }
        found.formUnion(others.keys)
        isComplete = others.isEmpty
      }
      if found.count == scope.entities.count { return scope }
    }
  }

  private func forEachEntry(
    through last: Head, _ observer: CopyObserver, _ body: (EntryDecoder) throws(JournalError) -> Void
  ) throws {
    try readPieces(after: format.head, through: last, observer) { piece, _, _ in
      for entry in piece { try entry.decode(body) }
    }
  }
}
