public import Foundation

extension Journal {
  /// Makes another journal of this one's entries up to a point in time: the same history, sealed the same, with the
  /// images that it names. What the copy reads is checked on the way.
  /// - Parameters:
  ///   - url: the folder to make; its parent must exist.
  ///   - selector: the last entry that the copy has.
  /// - Throws: ``JournalError`` with code `alreadyExists` when something is there, or `damaged`; then there is no copy.
  /// - Complexity: O(n) in the bytes of the entries and their images.
  public func copy(to url: URL, through selector: RevisionSelector = .head()) throws {
    let last = try revision(at: selector)
    try JournalFolder.create(at: url, format.schema, id: id, options: JournalOptions()) { place in
      if last > 0 { try copyEntries(1...last, to: place) }
    }
  }

  /// Makes another journal of the state at a point in time, as one entry and without the history before it. Entities
  /// keep their numbers.
  /// - Throws: as ``copy(to:through:)``.
  public func copyState(
    to url: URL, asOf selector: RevisionSelector = .head(), by author: String = "", note: String = ""
  ) throws {
    let state = try state(asOf: selector)
    guard let everything = state.differences(from: State()) else {
      throw JournalError(.wrongUse, "the model does not say what its states are made of")
    }
    let copy = try Journal.create(at: url)
    for difference in everything {
      guard let record = difference.new else { continue }
      for blob in State.blobs(in: record, of: difference.entity.kind) {
        _ = try copy.blobs.add(try blobs.data(of: blob))
      }
    }
    try copy.commit(by: author, note: note) { draft in
      for difference in everything where State.isRestored(difference.entity.kind) {
        if let record = difference.new { try draft.add(difference.entity, record) }
      }
    }
    try copy.close()
  }

  private func copyEntries(_ range: ClosedRange<Revision>, to place: LogPlace) throws {
    let target = try place.options.logStorage.open(.write, in: place)
    do {
      try target.beginWriting()
      let images = BlobStore(place.folder, try place.folder.openImages(), isReadOnly: false)
      defer { images.close() }
      var copying = EntryCopying<State>(source: blobs, target: images, format: format, upcast: upcast)
      try log.readAll(range) { entry throws(JournalError) in
        try copying.add(entry)
        if copying.isFull { try target.store(copying.take()) }
      }
      try target.store(copying.take())
      try images.flush()
    } catch {
      try? target.close()
      throw error
    }
    try target.close()
  }
}

/// Collects entries for another log, and gives the blobs that they name to another store.
private struct EntryCopying<State: EventSourced> {
  private static var batchByteCount: Int { 4 << 20 }

  let source: BlobStore
  let target: BlobStore
  let format: JournalFormat
  /// Of the newest entry.
  private(set) var digest: Digest
  private var state = State()
  private var copied: Set<Blob> = []
  private var entries: [SealedEntry] = []
  private var byteCount = 0

  private let upcast: EventUpcast

  init(source: BlobStore, target: BlobStore, format: JournalFormat, upcast: EventUpcast) {
    self.upcast = upcast
    self.source = source
    self.target = target
    self.format = format
    // What entry 1 follows.
    digest = format.digest
  }

  var isFull: Bool { byteCount >= Self.batchByteCount }

  mutating func take() -> [SealedEntry] {
    defer {
      entries = []
      byteCount = 0
    }
    return entries
  }

  mutating func add(_ entry: EntryDecoder) throws(JournalError) {
    guard try entry.header().previousDigest == digest else {
      throw JournalError(
        .damaged, "the entry does not follow from the one before it", revision: entry.revision)
    }
    var events = try entry.events(upcast)
    while let event = try events.next() {
      try state.apply(event, at: entry.revision)
      if let record = state.record(of: event.entity) {
        for blob in State.blobs(in: record, of: event.entity.kind) where copied.insert(blob).inserted {
          do {
            _ = try target.add(try source.data(of: blob))
          } catch {
            throw error as? JournalError ?? JournalError(.io, "an image can't be copied", cause: error)
          }
        }
      }
    }
    digest = try entry.digest(journal: format.id)
    let bytes = entry.copyOfBytes
    entries.append(SealedEntry(revision: entry.revision, bytes: bytes, digest: digest))
    byteCount += bytes.count
  }
}
