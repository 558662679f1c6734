// Reads the items of an entry. EntryDecoder interprets them.

extension CBORError.Code {
  /// The entry has a newer version than this reader knows.
  static let newerVersion = CBORError.Code(rawValue: "newerVersion")
  /// The entry has a mandatory feature that this reader does not know.
  static let unknownFeature = CBORError.Code(rawValue: "unknownFeature")
}

/// A header, and the position of the list of its events.
@safe package struct EntryOutline {
  package var header: EntryHeader
  /// Positioned before the first event.
  package var events: CBORReader
  package var eventCount: Int
}

@safe package enum EntryPart {
  /// The salt and the content, or no bytes.
  case whole(UnsafeRawBufferPointer)
  /// The digest that replaces the part.
  case erased(ContentDigest)
}

/// The bytes of a part after its salt; none if the part is empty.
@safe struct PartContent {
  let bytes: UnsafeRawBufferPointer
}

package struct EventHead {
  package let operation: JournalEvent.Operation
  package let entity: EntityKey
  let previous: Revision
}

extension CBORReader {
  /// Reads the start of a header up to the date that orders entries.
  mutating func readEntryDate() throws(CBORError) -> Timestamp {
    _ = try readMapHead()
    try readVersion()
    let start = offset
    switch try readUnsigned() {
    case EntryKey.date: break
    case EntryKey.clockDate:
      _ = try readInteger()
      let start = offset
      guard try readUnsigned() == EntryKey.date else { throw CBORError(.unexpectedItem, at: start) }
    default: throw CBORError(.unexpectedItem, at: start)
    }
    return try readTimestamp()
  }

  private mutating func readVersion() throws(CBORError) {
    let start = offset
    guard try readUnsigned() == EntryKey.version else { throw CBORError(.unexpectedItem, at: start) }
    let version = try readUnsigned()
    guard version >= EntryCoding.version else { throw CBORError(.unsupported, at: start) }
    guard version == EntryCoding.version else { throw CBORError(.newerVersion, at: start) }
  }

  private mutating func readTimestamp() throws(CBORError) -> Timestamp {
    let start = offset
    let timestamp = Timestamp(microseconds: try readInteger())
    guard timestamp.hasFourDigitYear else { throw CBORError(.unsupported, at: start) }
    return timestamp
  }

  /// Reads the header of an entry, and moves to the list of parts.
  package mutating func readHeader(at revision: Revision) throws(CBORError) -> EntryOutline {
    let start = offset
    var remaining = try readMapHead() - 1
    guard remaining >= 0 else { throw CBORError(.unexpectedItem, at: start) }
    try readVersion()
    var (date, clockDate): (Timestamp?, Timestamp?)
    var (checkpoint, schemaVersion, previousDigest): (Revision?, Int?, ContentDigest?)
    var events: (reader: CBORReader, count: Int)?
    var last = EntryKey.version
    while remaining > 0 {
      remaining -= 1
      let keyOffset = offset
      let key = try readUnsigned()
      guard key > last else { throw CBORError(.notDeterministic, at: keyOffset) }
      last = key
      switch key {
      case EntryKey.clockDate: clockDate = try readTimestamp()
      case EntryKey.date: date = try readTimestamp()
      case EntryKey.checkpoint:
        checkpoint = try readCount()
        guard let checkpoint, checkpoint > 0, checkpoint < revision else {
          throw CBORError(.unexpectedItem, at: keyOffset)
        }
      case EntryKey.schemaVersion:
        schemaVersion = try readCount()
        guard schemaVersion != 0 else { throw CBORError(.unexpectedItem, at: keyOffset) }
      case EntryKey.previousDigest: previousDigest = try readDigest()
      case EntryKey.events:
        let count = try readArrayHead()
        events = (self, count)
        for _ in 0..<count { _ = try readEventHead() }
      default:
        guard key % 2 == 1 else { throw CBORError(.unknownFeature, at: keyOffset) }
        try skip()
      }
    }
    guard let date, let schemaVersion, let previousDigest, let events else {
      throw CBORError(.unexpectedItem, at: start)
    }
    return EntryOutline(
      header: EntryHeader(
        date: date, clockDate: clockDate ?? date, schemaVersion: schemaVersion,
        previousDigest: previousDigest,
        checkpointRevision: checkpoint),
      events: events.reader, eventCount: events.count)
  }

  package mutating func readEventHead() throws(CBORError) -> EventHead {
    let start = offset
    try expectArray(count: 4)
    guard let code = UInt8(exactly: try readCount()), let operation = JournalEvent.Operation(rawValue: code),
      let kind = UInt8(exactly: try readCount())
    else { throw CBORError(.unsupported, at: start) }
    let number = try readCount()
    let previous = try readCount()
    guard number > 0 else { throw CBORError(.unsupported, at: start) }
    return EventHead(
      operation: operation, entity: EntityKey(kind: EntityKind(rawValue: kind), number: number),
      previous: previous)
  }

  mutating func readDigest() throws(CBORError) -> ContentDigest {
    let start = offset
    guard let digest = unsafe ContentDigest(bytes: try readBytes()) else {
      throw CBORError(.unexpectedItem, at: start)
    }
    return digest
  }

  /// Reads the number of parts: at least the annotation, a payload for each event, and an announced checkpoint.
  package mutating func readPartCount(_ outline: EntryOutline) throws(CBORError) -> Int {
    let start = offset
    let count = try readArrayHead()
    let least = 1 + outline.eventCount + (outline.header.checkpointRevision == nil ? 0 : 1)
    guard count >= least else { throw CBORError(.unexpectedItem, at: start) }
    return count
  }

  @inline(__always)
  package mutating func readPart() throws(CBORError) -> EntryPart {
    let start = offset
    if try isTagged() {
      try expectTag(EntryCoding.erasedTag)
      return .erased(try readDigest())
    }
    let part = try unsafe readBytes()
    guard unsafe part.isEmpty || part.count > EntryCoding.saltByteCount else {
      throw CBORError(.truncated, at: start)
    }
    return unsafe .whole(part)
  }

  mutating func skipPart() throws(CBORError) { _ = try readPart() }

  /// Reads the content of the next part; nil if the part was erased.
  @inline(__always)
  mutating func readContent() throws(CBORError) -> PartContent? {
    switch try readPart() {
    case .erased: nil
    case .whole(let part):
      unsafe PartContent(
        bytes: part.isEmpty
          ? part : unsafe UnsafeRawBufferPointer(rebasing: part[EntryCoding.saltByteCount...]))
    }
  }
}

extension EntryAnnotation {
  init(_ content: PartContent) throws(CBORError) {
    self.init()
    if unsafe content.bytes.isEmpty { return }
    var reader = unsafe CBORReader(content.bytes)
    var last: UInt64?
    for _ in 0..<(try reader.readMapHead()) {
      let start = reader.offset
      let key = try reader.readUnsigned()
      if let last, key <= last { throw CBORError(.notDeterministic, at: start) }
      last = key
      switch key {
      case EntryKey.author: author = try reader.readText()
      case EntryKey.note: note = try reader.readText()
      case EntryKey.metadata: metadata = try reader.readTexts()
      default:
        guard key % 2 == 1 else { throw CBORError(.unknownFeature, at: start) }
        try reader.skip()
      }
    }
    try reader.expectEnd()
  }
}

extension CBORReader {
  fileprivate mutating func readTexts() throws(CBORError) -> [String: String] {
    var texts: [String: String] = [:]
    for _ in 0..<(try readMapHead()) {
      let key = try readText()
      texts[key] = try readText()
    }
    return texts
  }
}
