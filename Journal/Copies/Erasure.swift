/// What to erase from a journal: the payloads of entities, and the annotations of entries.
///
/// An erased part is replaced by its digest, so the digest of its entry and the whole chain do not change. The
/// checkpoints of all states that had an erased payload are erased too: they are digests of erased content, and no
/// replay makes those states any more.
package struct Erasure: Sendable {
  /// The entities of which all payloads are to be erased.
  package var entities: Set<EntityKey>
  /// The entries whose author, note and metadata are to be erased.
  package var annotations: Set<Revision>
  /// The first entry with an erased payload, or the head of the base if something in the base was erased.
  package var firstErased: Revision?

  package init(entities: Set<EntityKey>, annotations: Set<Revision>) {
    self.entities = entities
    self.annotations = annotations
  }
}

/// The metadata of entries that record erasures.
package enum ErasureMetadata {
  /// The names of the entities, separated by spaces.
  package static let erases = "journal.erases"
  /// The entries whose annotations were erased, separated by spaces.
  package static let annotations = "journal.erasesWords"
}

extension EntryDecoder {
  /// Whether the entry records an erasure. A commit can have the same metadata, but only with events: without events, it
  /// makes no entry.
  package func recordsErasure() throws(JournalError) -> Bool { try recordsErasure(try events()) }

  /// - Parameter events: all of the entry.
  func recordsErasure(_ events: EventDecoder) throws(JournalError) -> Bool {
    guard events.remaining == 0 else { return false }
    return try annotation()?.metadata[ErasureMetadata.erases] != nil
  }

  /// What the entry says was erased; nil if it records no erasure.
  package func recordedErasure<State: EventSourced>(in model: State.Type) throws(JournalError) -> Erasure? {
    guard try recordsErasure(), let metadata = try annotation()?.metadata else { return nil }
    func words(_ key: String) -> [String] { metadata[key]?.split(separator: " ").map(String.init) ?? [] }
    return Erasure(
      entities: Set(words(ErasureMetadata.erases).compactMap { try? State.entity(named: $0) }),
      annotations: Set(words(ErasureMetadata.annotations).compactMap { Revision($0) }))
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
    try decode { entry throws(JournalError) in try entry.recordedErasure(in: model) }
  }
}

extension Journal {
  /// The entry of the erasure that removed the newest content of an entity, with date, author and reason; nil if it was
  /// not erased. Later erasures that name the entity erased at most its words or what belongs to it.
  /// - Throws: ``JournalError`` if an entry can't be read.
  /// - Complexity: O(n) in the entries after the newest event of the entity.
  public func erasure(of entity: EntityKey) throws -> Entry? {
    let name = State.name(of: entity)
    return try settled {
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
}
