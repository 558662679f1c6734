import Foundation

/// The format of an entry, as Documentation/Format.md describes it: two CBOR items, a header that names
/// the events, and a list of parts: the annotation, the payload of each event, and the checkpoint.
package enum EntryCoding {
  /// The version of the format, which every entry begins with.
  static let version: UInt64 = 2
  /// Random bytes before the content of each part, so that the digest of an erased part reveals nothing about the
  /// content.
  static let saltByteCount = 16
  /// Tags the digest of an erased part.
  package static let erasedTag: UInt64 = 2002
  /// The most bytes of an entry; a log may accept less.
  package static let byteLimit = 1 << 30

  /// Encodes and seals an entry.
  /// - Parameters:
  ///   - stateDigest: the digest of the state at the revision of the checkpoint in the header.
  ///   - salts: the source of the salts.
  ///   - logLimit: the most bytes of an entry that the log accepts.
  /// - Complexity: O(n) in the number of bytes.
  static func seal(
    _ header: EntryHeader, _ annotation: EntryAnnotation, events: [JournalEvent],
    stateDigest: ContentDigest? = nil,
    revision: Revision, journal: JournalID, salts: inout RandomBytes, logLimit: Int
  ) throws(JournalError) -> SealedEntry {
    let payloadByteCount = events.reduce(0) { $0 + $1.payload.count }
    // Besides its payload, an event takes at most 44 bytes: its line in the header, a head and a salt. An erased
    // addition takes 59, but an entry has at most one for each kind. The size of the annotation was checked before.
    let byteCount = payloadByteCount + 44 * events.count
    let limit = min(byteLimit, logLimit)
    guard byteCount < limit else { throw tooLarge(byteCount, limit) }
    // Room for the header and the largest checkpoint.
    let capacity = 256 + annotation.byteCountLimit + byteCount
    var digest = ContentDigest.zero
    let bytes = CBORWriter.bytes(reserving: capacity) { writer in
      writer.append(header, events)
      var seal = EntrySeal(journal: journal, revision: revision)
      unsafe writer.withBytes { unsafe seal.add(header: $0) }
      writer.appendArrayHead(count: 1 + events.count + (stateDigest == nil ? 0 : 1))
      append(part: annotation.encoded(), to: &writer, &seal, &salts)
      for event in events {
        if case .erased(.add) = event.change {
          appendErased(to: &writer, &seal, &salts)
        } else {
          append(part: event.payload, to: &writer, &seal, &salts)
        }
      }
      if let stateDigest { append(part: stateDigest.bytes, to: &writer, &seal, &salts) }
      digest = seal.finish()
    }
    guard bytes.count <= logLimit else { throw tooLarge(bytes.count, limit) }
    return SealedEntry(revision: revision, bytes: bytes, digest: digest)
  }

  /// Appends a part as if its content had been erased. Its digest is random, because there never was a content.
  private static func appendErased(
    to writer: inout CBORWriter, _ seal: inout EntrySeal, _ salts: inout RandomBytes
  ) {
    writer.append(tag: erasedTag)
    var digest = ContentDigest.zero
    unsafe salts.take(digest.bytes.count) { digest = unsafe ContentDigest(bytes: $0) ?? digest }
    unsafe digest.withUnsafeBytes { unsafe writer.append(bytes: $0) }
    seal.add(erased: digest)
  }

  private static func tooLarge(_ byteCount: Int, _ limit: Int) -> JournalError {
    JournalError(
      .tooLarge, "an entry of \(byteCount) bytes is too large; commit it in parts of up to \(limit)")
  }

  /// Appends a part: a salt and the content, or no bytes if there is no content.
  @inline(__always)
  private static func append(
    part content: [UInt8], to writer: inout CBORWriter, _ seal: inout EntrySeal, _ salts: inout RandomBytes
  ) {
    guard !content.isEmpty else {
      writer.appendBytesHead(count: 0)
      unsafe seal.add(part: UnsafeRawBufferPointer(start: nil, count: 0))
      return
    }
    writer.appendBytesHead(count: saltByteCount + content.count)
    let start = writer.count
    unsafe salts.take(saltByteCount) { unsafe writer.append(encoded: $0) }
    writer.append(encoded: content)
    unsafe writer.withBytes {
      unsafe seal.add(part: UnsafeRawBufferPointer(rebasing: $0[start...]))
    }
  }
}

extension CBORWriter {
  fileprivate mutating func append(_ header: EntryHeader, _ events: [JournalEvent]) {
    let hasClockDate = header.clockDate != header.date
    appendMapHead(count: 5 + (hasClockDate ? 1 : 0) + (header.checkpointRevision == nil ? 0 : 1))
    append(unsigned: EntryKey.version)
    append(unsigned: EntryCoding.version)
    if hasClockDate {
      append(unsigned: EntryKey.clockDate)
      append(integer: header.clockDate.microseconds)
    }
    append(unsigned: EntryKey.date)
    append(integer: header.date.microseconds)
    if let revision = header.checkpointRevision {
      append(unsigned: EntryKey.checkpoint)
      append(unsigned: UInt64(revision))
    }
    append(unsigned: EntryKey.schemaVersion)
    append(unsigned: UInt64(header.schemaVersion))
    append(unsigned: EntryKey.previousDigest)
    unsafe header.previousDigest.withUnsafeBytes { unsafe append(bytes: $0) }
    append(unsigned: EntryKey.events)
    appendArrayHead(count: events.count)
    for event in events {
      appendArrayHead(count: 4)
      append(unsigned: UInt64(event.operation.rawValue))
      append(unsigned: UInt64(event.entity.kind.rawValue))
      append(unsigned: UInt64(event.entity.number))
      append(unsigned: UInt64(event.previous))
    }
  }
}

extension EntryAnnotation {
  /// An upper bound of the encoded size.
  fileprivate var byteCountLimit: Int {
    metadata.reduce(40 + author.utf8.count + note.utf8.count) {
      $0 + 18 + $1.key.utf8.count + $1.value.utf8.count
    }
  }

  /// The annotation in CBOR; no bytes if it is empty.
  fileprivate func encoded() -> [UInt8] {
    if isEmpty { return [] }
    var writer = CBORWriter(reserving: byteCountLimit)
    writer.appendMapHead(count: [author.isEmpty, note.isEmpty, metadata.isEmpty].count { !$0 })
    if !author.isEmpty {
      writer.append(unsigned: EntryKey.author)
      writer.append(text: author)
    }
    if !note.isEmpty {
      writer.append(unsigned: EntryKey.note)
      writer.append(text: note)
    }
    if !metadata.isEmpty {
      writer.append(unsigned: EntryKey.metadata)
      writer.append(.dictionary(metadata.mapValues { .string($0) }))
    }
    return writer.finish()
  }
}

extension JournalEvent {
  /// The payload of the event: a record, changes, or nothing.
  var payload: [UInt8] {
    switch change {
    case .add(let record): record.bytes
    case .update(let changes): changes.bytes
    case .delete, .erased: []
    }
  }
}
