import Foundation

/// An entry as it is written: its bytes in the log, and the digest that seals it.
struct SealedEntry: Sendable {
  let revision: Revision
  let bytes: [UInt8]
  let digest: Digest
}

/// What an entry says of itself, apart from its events.
struct EntryHeader: Sendable {
  var date: Timestamp
  var author: String
  var note: String
  var metadata: [String: String]
  var previousDigest: Digest
}

/// The format of an entry, as Documentation/Format.md describes it: two CBOR items, a header that names
/// the events, and a list with the salt and the payload of each.
enum EntryCoding {
  /// The version that stands first in every entry, and in its digest.
  static let version: UInt8 = 1
  /// Random bytes before each payload, so that the digest of an erased one gives nothing away.
  static let saltByteCount = 16
  /// How large an entry may be: LevelDB counts the bytes of a batch in 32 bits.
  static let byteLimit = 1 << 30

  /// Encodes and seals an entry.
  /// - Parameter salts: where the salts come from.
  /// - Complexity: O(n) in the number of bytes.
  static func seal(
    _ header: EntryHeader, events: [Event], revision: Revision, journal: JournalID, salts: inout RandomBytes
  ) throws(JournalError) -> SealedEntry {
    let payloadByteCount = events.reduce(0) { $0 + $1.payload.count }
    // Of an event, its head and its salt besides its payload; what the header has is bounded before.
    let byteCount = payloadByteCount + 44 * events.count
    guard byteCount < byteLimit else {
      throw JournalError(
        .tooLarge,
        "an entry of \(byteCount) bytes is too large; commit it in parts of up to \(byteLimit)")
    }
    var writer = CBORWriter(reserving: 160 + header.note.utf8.count + byteCount)
    writer.appendArrayHead(count: 7)
    writer.append(unsigned: UInt64(version))
    writer.append(integer: header.date.microseconds)
    writer.append(text: header.author)
    writer.append(text: header.note)
    writer.append(metadata: header.metadata)
    unsafe header.previousDigest.withUnsafeBytes { unsafe writer.append(bytes: $0) }
    writer.appendArrayHead(count: events.count)
    for event in events {
      writer.appendArrayHead(count: 4)
      writer.append(unsigned: UInt64(event.operation.rawValue))
      writer.append(unsigned: UInt64(event.entity.kind.rawValue))
      writer.append(unsigned: UInt64(event.entity.number))
      writer.append(unsigned: UInt64(event.previous))
    }
    var seal = EntrySeal(
      journal: journal, revision: revision, previousDigest: header.previousDigest,
      headerDigest: unsafe writer.bytes.withUnsafeBytes { unsafe EntrySeal.headerDigest($0) })

    writer.appendArrayHead(count: events.count)
    for event in events {
      let payload = event.payload
      writer.appendBytesHead(count: saltByteCount + payload.count)
      let start = writer.bytes.count
      unsafe salts.take(saltByteCount) { unsafe writer.append(encoded: $0) }
      writer.append(encoded: payload)
      unsafe writer.bytes.withUnsafeBytes {
        unsafe seal.add(payload: UnsafeRawBufferPointer(rebasing: $0[start...]))
      }
    }
    return SealedEntry(revision: revision, bytes: writer.finish(), digest: seal.finish())
  }
}

extension CBORWriter {
  fileprivate mutating func append(metadata: [String: String]) {
    if metadata.isEmpty {
      appendMapHead(count: 0)
    } else {
      append(.dictionary(metadata.mapValues { .string($0) }))
    }
  }
}

extension Event {
  /// The bytes that the event carries: a record, changes, or none.
  fileprivate var payload: [UInt8] {
    switch change {
    case .add(let record): record.bytes
    case .update(let changes): changes.bytes
    case .delete: []
    }
  }
}

/// The digest of an entry in the making:
/// SHA-256(0x02 ‖ version ‖ journal id ‖ revision ‖ previous digest ‖ header digest ‖ payload digests).
struct EntrySeal: ~Copyable {
  private enum Tag {
    static let payload: UInt8 = 0
    static let header: UInt8 = 1
    static let entry: UInt8 = 2
  }

  private var hash = SHA256Hash()

  /// The digest of the first of the two items of an entry.
  static func headerDigest(_ header: UnsafeRawBufferPointer) -> Digest {
    var hash = SHA256Hash()
    hash.update(Tag.header)
    unsafe hash.update(header)
    return hash.finish()
  }

  init(journal: JournalID, revision: Revision, previousDigest: Digest, headerDigest: Digest) {
    hash.update(Tag.entry)
    hash.update(EntryCoding.version)
    hash.update(journal.bytes)
    hash.update(UInt64(revision))
    hash.update(previousDigest)
    hash.update(headerDigest)
  }

  /// Adds the digest of one event's salt and payload.
  mutating func add(payload: UnsafeRawBufferPointer) {
    var payloadHash = SHA256Hash()
    payloadHash.update(Tag.payload)
    unsafe payloadHash.update(payload)
    hash.update(payloadHash.finish())
  }

  consuming func finish() -> Digest { hash.finish() }
}
