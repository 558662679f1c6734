import CBOR

/// What the log knows of a snapshot, and what the file of it is held against.
///
/// A revision can have had several: one that was dropped and taken again, or written anew for another schema.
/// Each has its own record, and the newest one of a revision counts.
struct SnapshotRecord: Sendable, Equatable {
  /// What a record says.
  enum Content: Sendable, Equatable {
    case taken(SnapshotFacts)
    /// The file was removed on purpose: that it is not there is no finding.
    case dropped
  }

  let revision: Revision
  /// How many records of that revision came before.
  let number: UInt32
  let content: Content

  var facts: SnapshotFacts? {
    if case .taken(let facts) = content { facts } else { nil }
  }
}

/// What is known of the file of a snapshot and of the state in it.
struct SnapshotFacts: Sendable, Equatable {
  /// How the file is divided for checksums; a page is checked when it is first touched.
  static let pageByteCount = 16 << 10

  var byteCount: Int
  /// The CRC-32C of each page of the file.
  var pageChecksums: [UInt32]
  var stateDigest: Digest
  /// The digest of the entry that the state is as of.
  var entryDigest: Digest
  /// The name of the model and its version.
  var schema: String
  /// How many entities are there.
  var entityCount: Int
  /// How many events the entries up to here have; tells what a replay between two snapshots costs.
  var eventCount: Int
  /// Whether the journal took it of its own accord, and may drop it so.
  var isAutomatic: Bool
}

// Documentation/Format.md, "What is known of a snapshot".
extension SnapshotRecord {
  private static let version: UInt64 = 1

  /// The record as the log keeps it.
  func encoded() -> [UInt8] {
    guard let facts else {
      var writer = CBORWriter(reserving: 2)
      writer.appendArrayHead(count: 1)
      writer.append(unsigned: Self.version)
      return writer.finish()
    }
    var writer = CBORWriter(reserving: 128 + 4 * facts.pageChecksums.count)
    writer.appendArrayHead(count: 9)
    writer.append(unsigned: Self.version)
    writer.append(text: facts.schema)
    writer.append(unsigned: UInt64(facts.byteCount))
    unsafe facts.stateDigest.withUnsafeBytes { unsafe writer.append(bytes: $0) }
    unsafe facts.entryDigest.withUnsafeBytes { unsafe writer.append(bytes: $0) }
    writer.append(unsigned: UInt64(facts.entityCount))
    writer.append(unsigned: UInt64(facts.eventCount))
    writer.append(bool: facts.isAutomatic)
    writer.appendBytesHead(count: 4 * facts.pageChecksums.count)
    for checksum in facts.pageChecksums {
      unsafe withUnsafeBytes(of: checksum.bigEndian) { unsafe writer.append(encoded: $0) }
    }
    return writer.finish()
  }

  /// Reads a record.
  /// - Throws: ``JournalError`` with code `damaged` when it is none that this version knows.
  init(_ bytes: UnsafeRawBufferPointer, revision: Revision, number: UInt32) throws(JournalError) {
    self.revision = revision
    self.number = number
    do throws(CBORError) {
      var reader = unsafe CBORReader(bytes)
      content = try Self.readContent(&reader)
      try reader.expectEnd()
    } catch {
      throw JournalError(
        .damaged, "what the log knows of the snapshot can't be read", revision: revision, cause: error)
    }
  }

  private static func readContent(_ reader: inout CBORReader) throws(CBORError) -> Content {
    let count = try reader.readArrayHead()
    guard try reader.readUnsigned() == version, count == 1 || count == 9 else {
      throw CBORError(.unexpectedItem, at: 0)
    }
    if count == 1 { return .dropped }
    let schema = try reader.readText()
    let byteCount = try reader.readCount()
    let stateDigest = try reader.readDigest()
    let entryDigest = try reader.readDigest()
    let entityCount = try reader.readCount()
    let eventCount = try reader.readCount()
    let isAutomatic = try reader.readBool()
    let start = reader.offset
    let checksums = unsafe Self.numbers(try reader.readBytes())
    // One checksum for each page, so that none is ever looked for behind the end.
    guard checksums.count == SnapshotFacts.pageCount(of: byteCount) else {
      throw CBORError(.unexpectedItem, at: start)
    }
    return .taken(
      SnapshotFacts(
        byteCount: byteCount, pageChecksums: checksums, stateDigest: stateDigest, entryDigest: entryDigest,
        schema: schema, entityCount: entityCount, eventCount: eventCount, isAutomatic: isAutomatic))
  }

  private static func numbers(_ bytes: UnsafeRawBufferPointer) -> [UInt32] {
    (0..<bytes.count / 4).map { index in
      unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
    }
  }
}

extension SnapshotFacts {
  /// How many pages a file of that size has; the last may be shorter.
  static func pageCount(of byteCount: Int) -> Int {
    byteCount / pageByteCount + (byteCount % pageByteCount == 0 ? 0 : 1)
  }
}
