import Files
public import Foundation
public import Journaling

extension Journal {
  /// Creates a journal whose first entry adds all entities of a past or present state, without the earlier history.
  /// Entities keep their numbers. If an image refers to an erased entity, or an entity to an erased category, the
  /// reference is removed. An erased item to which a rule's reference leads is an erased item in the copy.
  ///
  /// If the entity with the highest number of a kind was deleted, it is an erased entity in the copy. So no new entity
  /// gets the number of a deleted one, which an attribute may still name.
  ///
  /// The metadata of the entry, under `journal.copyOf`, names the journal, the revision and the digest of the copied
  /// state. `progress` is called as in ``copy(to:through:progress:)``, but counts entities instead of entries.
  /// - Throws: as ``copy(to:through:progress:)``.
  public func copyState(
    to url: URL, asOf selector: RevisionSelector = .head(), by author: String = "", note: String = "",
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws {
    try copying(progress) { observer in
      let version = try version(asOf: selector)
      try Task.checkCancellation()
      guard let everything = version.state.differences(from: State()) else {
        throw JournalError(.wrongUse, "the model has no parts, so its states can't be copied")
      }
      try chain.faults.check()
      try checkIsOutside(try JournalFolder.path(of: url))
      let added = Self.additions(of: everything, in: version.state)
      let format = JournalFormat(schema: upcast.schema)
      try JournalFolder.create(at: url, format: format, options: copyOptions) { place in
        try JournalCopy.fill(place) { copy in
          try bringImages(of: added, to: try place.folder.root.folder("images"), observer)
          let origin = [Self.copyOf: "\(id) \(version.head.revision) \(version.head.digest.hex)"]
          try copy.append(
            EntryAnnotation(author: author, note: note, metadata: origin), nil, upcast.schema, events: added)
          try copy.prove { _ in }
          try observer(CopyProgress(phase: .proving, done: added.count, all: added.count))
        }
      }
    }
  }

  /// The key of the metadata about the state that a copy began with.
  private static var copyOf: String { "journal.copyOf" }

  /// The events that make a state's entities. References of every state to erased entities are removed, as if these had
  /// been deleted. An erased entity to which the state's own rules lead is an erased addition in the copy, and so is the
  /// highest number of a kind whose entity is gone.
  private static func additions(of everything: [EntityDifference], in state: State) -> [JournalEvent] {
    var records: [EntityKey: EntityRecord] = [:]
    for difference in everything where State.isCopied(difference.entity.kind) {
      records[difference.entity] = difference.new
    }
    var open = Array(records.keys)
    while let entity = open.popLast() {
      guard let record = records[entity],
        let lost = State.references(in: record, of: entity.kind).first(where: { records[$0] == nil })
      else { continue }
      let changed = State.record(record, of: entity.kind, without: lost)
      records[entity] = changed.flatMap { changed in
        State.references(in: changed, of: entity.kind).contains(lost) ? nil : changed
      }
      open += records[entity] == nil ? state.referrers(to: entity) : [entity]
    }
    let highest = (state.parts?.tables ?? []).enumerated().map { kind, table in
      EntityKey(kind: EntityKind(rawValue: UInt8(kind)), number: table.highest)
    }
    let referred = records.flatMap { state.references(in: $1, of: $0.kind) }
    let missing = Set(highest + referred).filter {
      $0.number > 0 && records[$0] == nil && State.isCopied($0.kind)
    }
    let events =
      records.map { JournalEvent(entity: $0, previous: 0, change: .add($1)) }
      + missing.map { JournalEvent(entity: $0, previous: 0, change: .erased(.add)) }
    return events.sorted { $0.entity < $1.entity }
  }

  private func bringImages(
    of added: [JournalEvent], to images: Files.Folder<JournalError>, _ observer: CopyObserver
  ) throws {
    var copying = BlobCopying(
      from: try folder.openImages(), at: folder.images, to: images, sharesFiles: false,
      fetchingFrom: blobs.shared)
    for (index, event) in added.enumerated() {
      guard case .add(let record) = event.change else { continue }
      let blobs = State.blobs(in: record, of: event.entity.kind)
      for blob in blobs {
        if let error = try copying.take(blob) {
          throw folder.explaining(error).naming([State.name(of: event.entity)])
        }
      }
      guard !blobs.isEmpty || index % 1000 == 0 else { continue }
      try Task.checkCancellation()
      try observer(CopyProgress(phase: .copying, done: index, all: added.count))
    }
    try copying.flush()
  }
}
