import Files
public import Foundation
public import Journaling

/// The result of an erasure.
public struct ErasureReport: Sendable {
  /// The erased entities: those passed to the call, and those that belong to them, such as the images of an item.
  public let entities: [EntityKey]
  /// The number of events that have lost their content.
  public let eventCount: Int
  /// The entries that have lost author, note and metadata: entries that changed the entities, and reverts, undos and
  /// redos whose default notes quoted such an entry.
  public let annotations: [Revision]
  /// Entries whose annotations stay although they may have erased texts: a person wrote the first line of an erased
  /// note there, or a default note quotes a pruned entry that may have changed the entities.
  public let mentions: [Revision]
  /// The number of images that were removed.
  public let imageCount: Int
  /// Whether all content had been erased before, so that nothing was written.
  public let isEmpty: Bool
  /// The newest entry. Unless ``isEmpty``, it records what was erased, when and why.
  public let head: Head
}

extension Journal {
  /// Erases the content of entities from the whole history: the content of all their events, and the bytes of images
  /// that no other entity names.
  ///
  /// The events themselves stay, with their dates and digests, so the chain of digests still verifies and earlier
  /// receipts still hold. A new entry records what was erased, when and why. After the call, the erased bytes are
  /// nowhere in the folder: not in the log, the layers and snapshots, the images or temporary files. Backups keep the
  /// erased content until their next run, the file system may retain removed files, and states that were returned
  /// earlier keep their content in memory.
  ///
  /// If no content is left to erase, nothing is written. Commits, readers and sequences continue; commits wait only for
  /// a moment at the end. Content that is committed to the entities meanwhile is erased too, except images that are
  /// added again. A second erasure or pruning waits for the first. From a task, call `erase` in ``read(_:)``. After a
  /// crash, either everything is erased or nothing.
  /// - Parameters:
  ///   - entities: the entities to erase, existing or deleted; with them, those that their deletion would delete.
  ///   - reason: the reason, which becomes the note of the new entry.
  ///   - author: who erases, which becomes the author of the new entry.
  ///   - words: whether to erase author, note and metadata too: of all entries that changed these entities, and of
  ///     reverts, undos and redos whose default notes quote such an entry. ``ErasureReport/mentions`` lists further
  ///     entries that may have the texts.
  ///   - progress: called with the progress; an error that it throws, cancelling the task, or closing the journal ends
  ///     the work, and nothing is erased.
  /// - Throws: ``JournalError``: `notFound` for an entity that never existed; `readOnly`; `wrongUse` inside the body of
  ///   a commit, for a shared journal, and for one in memory; `closed`; `conflict` if commits keep changing which
  ///   entities belong to the erased ones; `io` if the disk is full; `outcomeUnknown` if the erased content could not
  ///   be removed, or the journal takes no more commits: opening the journal again completes the erasure. After any
  ///   other code, nothing was erased.
  /// - Complexity: O(n) in the bytes of the entries, because the log is rewritten. The state is in memory until new
  ///   layers are written.
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
        // No entry is made, because it would wrongly seem to say when and why the content was erased.
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
  /// ``erase(_:reason:by:includingWords:progress:)`` does. ``JournalOptions/log`` of `options` receives the notices.
  /// - Throws: ``JournalError`` as `open` and as erasing in an open journal do.
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

  /// Finds the entities that belong to `entities`, directly or indirectly, and the images that only they name.
  private func erasureScope(
    of entities: Set<EntityKey>, through last: Head, _ observer: CopyObserver
  ) throws -> ErasureScope<State> {
    var found = entities
    while true {
      var scope = ErasureScope<State>(entities: found)
      /// The newest record of each entity, and the last record of each deleted entity that belonged to another one.
      var records: [EntityKey: EntityRecord] = [:]
      let upcast = upcast
      /// Keeps the newest record of an entity, and returns whether the entity is to be erased.
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
