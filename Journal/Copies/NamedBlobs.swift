/// Finds the blobs that entries name, read in order.
///
/// An update names what the record has after it, so records are kept of entities that were touched. Memory is bounded
/// by calling ``trim()`` now and then: when there are too many, they are dropped and asked for again.
struct NamedBlobs<State: EventSourced> {
  private static var byteLimit: Int { 32 << 20 }

  let upcast: EventUpcast
  /// The record that an entity had after its event of a revision.
  let recordAfter: (EntityKey, Revision) throws(JournalError) -> EntityRecord?
  private var records: [EntityKey: EntityRecord?] = [:]
  private var byteCount = 0

  init(
    _ upcast: EventUpcast, recordAfter: @escaping (EntityKey, Revision) throws(JournalError) -> EntityRecord?
  ) {
    self.upcast = upcast
    self.recordAfter = recordAfter
  }

  /// Drops records when there are too many. `recordAfter` is then asked about all entries so far.
  mutating func trim() {
    guard byteCount > Self.byteLimit else { return }
    records.removeAll()
    byteCount = 0
  }

  /// The blobs that the records of an entry's entities name after it.
  mutating func blobs(in entry: SealedEntry) throws(JournalError) -> [Blob] {
    try entry.decode { entry throws(JournalError) in try blobs(in: entry) }
  }

  /// The blobs that the records of an entry's entities name after it.
  mutating func blobs(in entry: EntryDecoder) throws(JournalError) -> [Blob] {
    var blobs: [Blob] = []
    var events = try entry.events(upcast)
    while let event = try events.next() {
      let record = try record(after: event)
      byteCount += 64 + (record?.bytes.count ?? 0)
      records[event.entity] = .some(record)
      if let record { blobs += State.blobs(in: record, of: event.entity.kind) }
    }
    return blobs
  }

  private func record(after event: JournalEvent) throws(JournalError) -> EntityRecord? {
    switch event.change {
    case .add(let record): return record
    case .delete, .erased: return nil
    case .update(let changes):
      let before =
        if let known = records[event.entity] { known } else { try recordAfter(event.entity, event.previous) }
      return before?.applying(changes)
    }
  }
}

extension NamedBlobs {
  /// Asks a log for what is not known, going back from event to event, and at the end its base.
  init(_ upcast: EventUpcast, in log: any EntryLog, _ base: HistoryBase?) {
    self.init(upcast) { entity, revision throws(JournalError) in
      var changes: [RecordChanges] = []
      var revision = revision
      while revision > 0 {
        if let base, revision <= base.head.revision {
          guard case .there(let row) = try base.contents().row(of: entity, upcast) else { return nil }
          return changes.reversed().reduce(row.record) { $0.applying($1) }
        }
        let event = try log.read(revision) { entry throws(JournalError) -> JournalEvent? in
          var events = try entry.events(upcast)
          while let event = try events.next() { if event.entity == entity { return event } }
          return nil
        }
        switch event?.change {
        case .add(let record): return changes.reversed().reduce(record) { $0.applying($1) }
        case .update(let update): changes.append(update)
        case .delete, .erased, nil: return nil
        }
        revision = event?.previous ?? 0
      }
      return nil
    }
  }
}

extension Journal {
  /// What finds the blobs that this journal's entries name.
  var namedBlobs: NamedBlobs<State> {
    NamedBlobs(upcast) { entity, revision throws(JournalError) in
      try self.row(of: entity, after: revision)?.record
    }
  }
}
