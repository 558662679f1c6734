import Foundation

/// Decodes an entry's bytes as far as the caller needs them. Documentation/Format.md describes the bytes.
///
/// Marked safe although it has a pointer: the log lends the bytes to a closure, and no decoder outlives that closure.
@safe package struct EntryDecoder {
  package let revision: Revision
  private let bytes: UnsafeRawBufferPointer

  package init(_ bytes: UnsafeRawBufferPointer, revision: Revision) {
    unsafe self.bytes = bytes
    self.revision = revision
  }

  var copyOfBytes: [UInt8] { unsafe Array(bytes) }

  var byteCount: Int { unsafe bytes.count }

  func appendBytes(to copies: inout [UInt8]) { unsafe copies.append(contentsOf: bytes) }

  /// The entry's date; nothing after it is read.
  package func date() throws(JournalError) -> Timestamp {
    try reading { reader throws(CBORError) in try reader.readEntryDate() }
  }

  package func header() throws(JournalError) -> EntryHeader {
    try reading { reader throws(CBORError) in try reader.readHeader(at: revision).header }
  }

  /// The annotation, nil if it was erased.
  package func annotation() throws(JournalError) -> EntryAnnotation? {
    try reading { reader throws(CBORError) in
      _ = try reader.readHeader(at: revision)
      _ = try reader.readArrayHead()
      guard let content = try reader.readContent() else { return nil }
      return try EntryAnnotation(content)
    }
  }

  /// The checkpoint, nil if there is none or it was erased.
  package func checkpoint() throws(JournalError) -> Checkpoint? {
    try reading { reader throws(CBORError) in
      let outline = try reader.readHeader(at: revision)
      guard let checkpoint = outline.header.checkpointRevision else { return nil }
      _ = try reader.readPartCount(outline)
      for _ in 0...outline.eventCount { try reader.skipPart() }
      let part = reader.offset
      guard let content = try reader.readContent() else { return nil }
      guard let digest = unsafe ContentDigest(bytes: content.bytes) else {
        throw CBORError(.unexpectedItem, at: part)
      }
      return Checkpoint(revision: checkpoint, stateDigest: digest)
    }
  }

  /// The digest of the entry, computed from its bytes.
  package func digest(journal: JournalID) throws(JournalError) -> ContentDigest {
    try headerAndDigest(journal: journal).digest
  }

  /// The header and the digest, in one pass over the bytes.
  func headerAndDigest(
    journal: JournalID
  ) throws(JournalError) -> (header: EntryHeader, digest: ContentDigest) {
    try reading { reader throws(CBORError) in
      let outline = try reader.readHeader(at: revision)
      var seal = EntrySeal(journal: journal, revision: revision)
      unsafe seal.add(header: reader.passed(0..<reader.offset))
      for _ in 0..<(try reader.readPartCount(outline)) {
        switch try reader.readPart() {
        case .whole(let part): unsafe seal.add(part: part)
        case .erased(let digest): seal.add(erased: digest)
        }
      }
      try reader.expectEnd()
      return (outline.header, seal.finish())
    }
  }

  package func events() throws(JournalError) -> EventDecoder {
    try reading { reader throws(CBORError) in try EventDecoder(reader, decoder: self) }
  }

  func entry(journal: JournalID, _ upcast: EventUpcast) throws(JournalError) -> Entry {
    let (header, digest) = try headerAndDigest(journal: journal)
    let annotation = try annotation()
    return Entry(
      revision: revision, date: header.date.date, clockDate: header.clockDate.date,
      author: annotation?.author ?? "", note: annotation?.note ?? "", metadata: annotation?.metadata ?? [:],
      isAnnotationErased: annotation == nil, schemaVersion: header.schemaVersion,
      previousDigest: header.previousDigest, digest: digest,
      events: try allEvents(upcast))
  }

  package func allEvents(_ upcast: EventUpcast) throws(JournalError) -> [JournalEvent] {
    var decoder = try events()
    var events: [JournalEvent] = []
    events.reserveCapacity(decoder.remaining)
    while let event = try decoder.next(upcast) { events.append(event) }
    return events
  }

  package func reading<Result>(
    _ body: (inout CBORReader) throws(CBORError) -> Result
  ) throws(JournalError) -> Result {
    do throws(CBORError) {
      var reader = unsafe CBORReader(bytes)
      return try body(&reader)
    } catch {
      throw fault(error)
    }
  }

  fileprivate func fault(_ error: CBORError) -> JournalError {
    .unreadable(revision, error, at: error.offset)
  }
}

/// Iterates over the events of an entry: the list in the header, together with the list of payloads.
///
/// A decoder has no fields with reference counts, because a replay makes a decoder for each entry.
@safe package struct EventDecoder {
  private let decoder: EntryDecoder
  private let schemaVersion: Int
  private var heads: CBORReader
  private var payloads: CBORReader
  private(set) var remaining: Int
  /// How many parts follow the payloads.
  private var furtherPartCount: Int

  fileprivate init(_ reader: CBORReader, decoder: EntryDecoder) throws(CBORError) {
    self.decoder = decoder
    payloads = reader
    let outline = try payloads.readHeader(at: decoder.revision)
    schemaVersion = outline.header.schemaVersion
    remaining = outline.eventCount
    heads = outline.events
    furtherPartCount = try payloads.readPartCount(outline) - 1 - remaining
    try payloads.skipPart()
  }

  /// The next event with its checked payload, nil after the last.
  package mutating func next(_ upcast: EventUpcast) throws(JournalError) -> JournalEvent? {
    try nextUnchecked()?.checked(upcast)
  }

  /// The next event with its unchecked payload, nil after the last.
  mutating func nextUnchecked() throws(JournalError) -> UncheckedEvent? {
    do throws(CBORError) {
      guard remaining > 0 else {
        while furtherPartCount > 0 {
          try payloads.skipPart()
          furtherPartCount -= 1
        }
        try payloads.expectEnd()
        return nil
      }
      remaining -= 1
      let head = try heads.readEventHead()
      let start = payloads.offset
      let content = try payloads.readContent()
      return UncheckedEvent(
        revision: decoder.revision, schemaVersion: schemaVersion, operation: head.operation,
        entity: head.entity, previous: head.previous, payload: content.map { unsafe Array($0.bytes) },
        offset: start)
    } catch {
      throw decoder.fault(error)
    }
  }
}

/// An event whose payload was read but not checked, because the caller may not need it.
struct UncheckedEvent: Sendable {
  let revision: Revision
  fileprivate let schemaVersion: Int
  fileprivate let operation: JournalEvent.Operation
  let entity: EntityKey
  fileprivate let previous: Revision
  /// The payload; nil if it was erased.
  fileprivate let payload: [UInt8]?
  /// The offset of the payload in its entry.
  fileprivate let offset: Int

  /// The event, after checking that its payload fits its operation.
  func checked(_ upcast: EventUpcast) throws(JournalError) -> JournalEvent {
    let change: JournalEvent.Change
    do throws(CBORError) {
      switch (operation, payload) {
      case (.add, let payload?): change = .add(try EntityRecord(checking: payload))
      case (.update, let payload?): change = .update(try RecordChanges(checking: payload))
      case (.delete, let payload):
        guard payload?.isEmpty ?? true else { throw CBORError(.trailingBytes, at: 0) }
        change = .delete
      case (.add, nil), (.update, nil): change = .erased(operation)
      }
    } catch {
      throw JournalError.unreadable(revision, error, at: offset + error.offset)
    }
    return try upcast(
      JournalEvent(entity: entity, previous: previous, change: change), from: schemaVersion, at: revision)
  }
}

extension JournalError {
  fileprivate static func unreadable(
    _ revision: Revision, _ error: CBORError, at offset: Int
  ) -> JournalError {
    if error.code == .newerVersion || error.code == .unknownFeature {
      return JournalError(
        .newerFormat, "a newer version of this library wrote the entry; use that version", revision: revision,
        offset: offset, cause: error)
    }
    return JournalError(
      .damaged, "the entry's bytes are altered", revision: revision, offset: offset, cause: error)
  }
}
