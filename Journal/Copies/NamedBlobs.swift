/// Finds the blobs that entries name, read in order.
///
/// An update names what the record has after it, so records are kept of entities that were touched. Memory is bounded:
/// when there are too many, they are dropped and asked for again.
struct NamedBlobs<State: EventSourced> {
  private static var byteLimit: Int { 32 << 20 }

  let upcast: EventUpcast
  /// The record that an entity had after its event of a revision.
  let recordAfter: (Entity, Revision) throws(JournalError) -> Record?
  private var records: [Entity: Record?] = [:]
  private var byteCount = 0

  init(
    _ upcast: EventUpcast, recordAfter: @escaping (Entity, Revision) throws(JournalError) -> Record?
  ) {
    self.upcast = upcast
    self.recordAfter = recordAfter
  }

  /// The blobs that the records of an entry's entities name after it.
  mutating func blobs(in entry: EntryDecoder) throws(JournalError) -> [Blob] {
    if byteCount > Self.byteLimit {
      records.removeAll()
      byteCount = 0
    }
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

  private func record(after event: Event) throws(JournalError) -> Record? {
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

extension Journal {
  /// What finds the blobs that this journal's entries name.
  var namedBlobs: NamedBlobs<State> {
    NamedBlobs(upcast) { entity, revision throws(JournalError) in
      try self.row(of: entity, after: revision)?.record
    }
  }
}
