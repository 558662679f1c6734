/// Finds the blobs that entries name. The entries must be passed in order.
///
/// After an update, an entity names all blobs of its whole record, so the records of changed entities are cached. Call
/// ``trim()`` regularly to bound the memory.
package struct NamedBlobs<State: EventSourced> {
  private static var byteLimit: Int { 32 << 20 }

  let upcast: EventUpcast
  /// Reads the record of an entity after its event at a revision.
  let recordAfter: (EntityKey, Revision) throws(JournalError) -> EntityRecord?
  private var records: [EntityKey: CachedRecord] = [:]
  private var byteCount = 0
  private var useCount = 0

  private struct CachedRecord {
    let record: EntityRecord?
    /// The number of uses of all records before the last use of this one.
    let use: Int

    var byteCount: Int { 64 + (record?.bytes.count ?? 0) }
  }

  init(
    _ upcast: EventUpcast, recordAfter: @escaping (EntityKey, Revision) throws(JournalError) -> EntityRecord?
  ) {
    self.upcast = upcast
    self.recordAfter = recordAfter
  }

  /// Drops the least recently used records if they take too many bytes. `recordAfter` can read them again.
  package mutating func trim() {
    guard byteCount > Self.byteLimit else { return }
    // Keeps half of the bytes, so that trimming is rare.
    for (entity, cached) in records.sorted(by: { $0.value.use < $1.value.use })
    where byteCount > Self.byteLimit / 2 {
      records[entity] = nil
      byteCount -= cached.byteCount
    }
  }

  package mutating func blobs(in entry: SealedEntry) throws(JournalError) -> [Blob] {
    try entry.decode { entry throws(JournalError) in try blobs(in: entry) }
  }

  /// The blobs that the entities changed by an entry name after the entry.
  mutating func blobs(in entry: EntryDecoder) throws(JournalError) -> [Blob] {
    var blobs: [Blob] = []
    try forEach(in: entry) { blobs += $1 }
    return blobs
  }

  /// Calls `body` with the entities of an entry, and the blobs in their records after it.
  package mutating func forEach(
    in entry: SealedEntry, _ body: (EntityKey, [Blob]) -> Void
  ) throws(JournalError) {
    try entry.decode { entry throws(JournalError) in try forEach(in: entry, body) }
  }

  private mutating func forEach(
    in entry: EntryDecoder, _ body: (EntityKey, [Blob]) -> Void
  ) throws(JournalError) {
    var events = try entry.events()
    while let event = try events.next(upcast) {
      let record = try record(after: event)
      let cached = CachedRecord(record: record, use: useCount)
      useCount += 1
      byteCount += cached.byteCount
      byteCount -= records.updateValue(cached, forKey: event.entity)?.byteCount ?? 0
      if let record { body(event.entity, State.blobs(in: record, of: event.entity.kind)) }
    }
  }

  private func record(after event: JournalEvent) throws(JournalError) -> EntityRecord? {
    switch event.change {
    case .add(let record): return record
    case .delete, .erased: return nil
    case .update(let changes):
      let before =
        if let cached = records[event.entity] {
          cached.record
        } else {
          try recordAfter(event.entity, event.previous)
        }
      return before?.applying(changes)
    }
  }
}

extension NamedBlobs {
  /// Makes a finder that reads uncached records from a log, by following the events back, if necessary to the base.
  package init(in log: any EntryLog, _ base: HistoryBase?) throws(JournalError) {
    let upcast = try EventUpcast(State.self)
    self.init(upcast) { entity, revision throws(JournalError) in
      var changes = RecordChanges()
      var revision = revision
      while revision > 0 {
        if let base, revision <= base.head.revision {
          guard case .there(let row) = try base.contents().row(of: entity, upcast) else { return nil }
          return row.record.applying(changes)
        }
        let event = try log.read(revision) { entry throws(JournalError) -> JournalEvent? in
          var events = try entry.events()
          while let event = try events.next(upcast) { if event.entity == entity { return event } }
          return nil
        }
        switch event?.change {
        case .add(let record): return record.applying(changes)
        case .update(let update): changes = update.followed(by: changes)
        case .delete, .erased, nil: return nil
        }
        let previous = event?.previous ?? 0
        guard previous < revision else {
          throw JournalError(
            .damaged, "an event names a previous revision that is not before its entry", revision: revision)
        }
        revision = previous
      }
      return nil
    }
  }
}

extension Journal {
  package var namedBlobs: NamedBlobs<State> {
    NamedBlobs(upcast) { entity, revision throws(JournalError) in
      try self.row(of: entity, after: revision)?.record
    }
  }
}
