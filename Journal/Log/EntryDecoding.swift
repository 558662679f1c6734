import Foundation

/// Reads an entry's bytes as far as the caller needs them. Documentation/Format.md describes them.
///
/// Marked safe although it holds a pointer: the log lends the bytes to a closure, and a decoder does not
/// outlive that.
@safe struct EntryDecoder {
  let revision: Revision
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer, revision: Revision) {
    unsafe self.bytes = bytes
    self.revision = revision
  }

  /// The entry's date; nothing behind it is read.
  func date() throws(JournalError) -> Timestamp {
    do throws(CBORError) {
      var reader = unsafe CBORReader(bytes)
      return try reader.readEntryDate()
    } catch {
      throw damaged(error)
    }
  }

  /// What the entry says of itself.
  func header() throws(JournalError) -> EntryHeader {
    do throws(CBORError) {
      var reader = unsafe CBORReader(bytes)
      let date = try reader.readEntryDate()
      let author = try reader.readText()
      let note = try reader.readText()
      var metadata: [String: String] = [:]
      for _ in 0..<(try reader.readMapHead()) {
        let key = try reader.readText()
        metadata[key] = try reader.readText()
      }
      return EntryHeader(
        date: date, author: author, note: note, metadata: metadata, previousDigest: try reader.readDigest())
    } catch {
      throw damaged(error)
    }
  }

  /// The digest of the entry, computed from its bytes.
  func digest(journal: JournalID) throws(JournalError) -> Digest {
    do throws(CBORError) {
      var reader = unsafe CBORReader(bytes)
      try reader.skipToDigest()
      let previousDigest = try reader.readDigest()
      let count = try reader.readArrayHead()
      for _ in 0..<count { _ = try reader.readEventHead() }
      var seal = unsafe EntrySeal(
        journal: journal, revision: revision, previousDigest: previousDigest,
        headerDigest: EntrySeal.headerDigest(reader.passed(0..<reader.offset)))
      try reader.expectArray(count: count)
      for _ in 0..<count { unsafe seal.add(payload: try reader.readBytes()) }
      try reader.expectEnd()
      return seal.finish()
    } catch {
      throw damaged(error)
    }
  }

  /// The events, one after the other.
  func events() throws(JournalError) -> EventDecoder {
    do throws(CBORError) {
      return try unsafe EventDecoder(bytes, decoder: self)
    } catch {
      throw damaged(error)
    }
  }

  /// The whole entry with its digest.
  func entry(journal: JournalID) throws(JournalError) -> Entry {
    let header = try header()
    var decoder = try events()
    var events: [Event] = []
    events.reserveCapacity(decoder.remaining)
    while let event = try decoder.next() { events.append(event) }
    return Entry(
      revision: revision, date: header.date.date, author: header.author,
      note: header.note, metadata: header.metadata, previousDigest: header.previousDigest,
      digest: try digest(journal: journal), events: events)
  }

  func damaged(_ error: CBORError) -> JournalError { .damaged(revision, error, at: error.offset) }
}

/// Walks the events of an entry: the list that names them, and the list of their payloads, side by side.
@safe struct EventDecoder {
  private let decoder: EntryDecoder
  private var heads: CBORReader
  private var payloads: CBORReader
  /// How many events are still to come.
  private(set) var remaining: Int

  init(_ bytes: UnsafeRawBufferPointer, decoder: EntryDecoder) throws(CBORError) {
    self.decoder = decoder
    heads = unsafe CBORReader(bytes)
    try heads.skipToDigest()
    _ = try unsafe heads.readBytes()
    remaining = try heads.readArrayHead()
    payloads = heads
    for _ in 0..<remaining { _ = try payloads.readEventHead() }
    try payloads.expectArray(count: remaining)
  }

  /// The next event with its checked payload, nil after the last.
  mutating func next() throws(JournalError) -> Event? { try nextUnchecked()?.checked() }

  /// The next event with its payload as it is, nil after the last.
  mutating func nextUnchecked() throws(JournalError) -> UncheckedEvent? {
    do throws(CBORError) {
      guard remaining > 0 else {
        try payloads.expectEnd()
        return nil
      }
      remaining -= 1
      let head = try heads.readEventHead()
      let start = payloads.offset
      let salted = try unsafe payloads.readBytes()
      guard salted.count >= EntryCoding.saltByteCount else { throw CBORError(.truncated, at: start) }
      let payload = unsafe UnsafeRawBufferPointer(rebasing: salted[EntryCoding.saltByteCount...])
      return UncheckedEvent(
        revision: decoder.revision, operation: head.operation, entity: head.entity, previous: head.previous,
        payload: unsafe Array(payload), offset: start)
    } catch {
      throw decoder.damaged(error)
    }
  }
}

/// An event whose payload has been read and not looked at, so that somebody else can.
struct UncheckedEvent: Sendable {
  let revision: Revision
  fileprivate let operation: Event.Operation
  let entity: Entity
  fileprivate let previous: Revision
  fileprivate let payload: [UInt8]
  /// Where the payload stands in its entry.
  fileprivate let offset: Int

  /// The event, after checking that its payload is what its operation says.
  func checked() throws(JournalError) -> Event {
    let change: Event.Change
    do throws(CBORError) {
      switch operation {
      case .add: change = .add(try Record(checking: payload))
      case .update: change = .update(try RecordChanges(checking: payload))
      case .delete:
        guard payload.isEmpty else { throw CBORError(.trailingBytes, at: 0) }
        change = .delete
      }
    } catch {
      throw JournalError.damaged(revision, error, at: offset + error.offset)
    }
    return Event(entity: entity, previous: previous, change: change)
  }
}

extension JournalError {
  fileprivate static func damaged(_ revision: Revision, _ error: CBORError, at offset: Int) -> JournalError {
    JournalError(.damaged, "the entry's bytes are altered", revision: revision, offset: offset, cause: error)
  }
}

extension CBORReader {
  fileprivate struct EventHead {
    let operation: Event.Operation
    let entity: Entity
    let previous: Revision
  }

  /// The head of an entry up to its date.
  fileprivate mutating func readEntryDate() throws(CBORError) -> Timestamp {
    try expectArray(count: 7)
    let start = offset
    guard try readUnsigned() == UInt64(EntryCoding.version) else { throw CBORError(.unsupported, at: start) }
    return Timestamp(microseconds: try readInteger())
  }

  /// Passes everything up to the digest that stands before the list of events.
  fileprivate mutating func skipToDigest() throws(CBORError) {
    _ = try readEntryDate()
    try skipText()
    try skipText()
    for _ in 0..<(try readMapHead()) {
      try skipText()
      try skipText()
    }
  }

  mutating func readDigest() throws(CBORError) -> Digest {
    let start = offset
    guard let digest = unsafe Digest(bytes: try readBytes()) else {
      throw CBORError(.unexpectedItem, at: start)
    }
    return digest
  }

  fileprivate mutating func readEventHead() throws(CBORError) -> EventHead {
    let start = offset
    try expectArray(count: 4)
    guard let code = UInt8(exactly: try readCount()), let operation = Event.Operation(rawValue: code),
      let kind = UInt8(exactly: try readCount())
    else { throw CBORError(.unsupported, at: start) }
    let number = try readCount()
    let previous = try readCount()
    guard number > 0 else { throw CBORError(.unsupported, at: start) }
    return EventHead(
      operation: operation, entity: Entity(kind: EntityKind(rawValue: kind), number: number),
      previous: previous)
  }
}
