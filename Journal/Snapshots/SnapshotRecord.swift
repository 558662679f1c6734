import CBOR
import Files

/// What is known of a snapshot, and what its file is checked against: a small file next to it.
struct SnapshotRecord: Sendable, Equatable {
  let revision: Revision
  /// What the record says; nil when it can't be read, which costs the snapshot and nothing else.
  let facts: SnapshotFacts?
  /// Why the record can't be read, and where it is.
  private let reason: String
  private let path: String?

  init(revision: Revision, facts: SnapshotFacts) {
    self.revision = revision
    self.facts = facts
    reason = ""
    path = nil
  }

  private init(unreadable revision: Revision, because reason: String, path: String) {
    self.revision = revision
    facts = nil
    self.reason = reason
    self.path = path
  }

  /// Reads the file of a record.
  /// - Throws: ``JournalError`` when it is not there or can't be read at the moment. One that is damaged is a
  ///   record without facts.
  init(of revision: Revision, in folder: Folder) throws(JournalError) {
    let name = JournalFolder.snapshotRecordName(revision)
    let path = folder.path(of: name)
    let bytes: [UInt8]
    do throws(JournalError) {
      bytes = try folder.file(name, .reading).contents(limit: Self.byteLimit)
    } catch {
      guard error.code == .damaged else { throw error }
      self.init(unreadable: revision, because: error.message, path: path)
      return
    }
    do throws(CBORError) {
      self.init(revision: revision, facts: try SnapshotFacts(encoded: bytes))
    } catch {
      self.init(unreadable: revision, because: "\(error)", path: path)
    }
  }

  /// No record is larger: this is enough for a snapshot of 256 GiB.
  private static let byteLimit = 64 << 20

  /// What is wrong with the record itself, nil when nothing is.
  var problem: JournalError? {
    guard facts == nil else { return nil }
    return JournalError(
      .damaged, "what is known of the snapshot can't be read: \(reason)", revision: revision, path: path)
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
  /// Whether the journal took it automatically, and may drop it.
  var isAutomatic: Bool
}

// Documentation/Format.md, "What is known of a snapshot".
extension SnapshotFacts {
  private static let version: UInt64 = 1
  private static let checksumByteCount = 4

  /// The bytes of a record's file: an item of CBOR and its checksum.
  func encoded() -> [UInt8] {
    var writer = CBORWriter(reserving: 128 + 4 * pageChecksums.count)
    writer.appendArrayHead(count: 9)
    writer.append(unsigned: Self.version)
    writer.append(text: schema)
    writer.append(unsigned: UInt64(byteCount))
    unsafe stateDigest.withUnsafeBytes { unsafe writer.append(bytes: $0) }
    unsafe entryDigest.withUnsafeBytes { unsafe writer.append(bytes: $0) }
    writer.append(unsigned: UInt64(entityCount))
    writer.append(unsigned: UInt64(eventCount))
    writer.append(bool: isAutomatic)
    writer.appendBytesHead(count: 4 * pageChecksums.count)
    for checksum in pageChecksums {
      unsafe withUnsafeBytes(of: checksum.bigEndian) { unsafe writer.append(encoded: $0) }
    }
    var bytes = writer.finish()
    bytes.append(bigEndian: CRC32C.checksum(bytes))
    return bytes
  }

  /// Reads the bytes of a record's file.
  fileprivate init(encoded bytes: [UInt8]) throws(CBORError) {
    let count = bytes.count - Self.checksumByteCount
    guard count > 0, bytes[count...].elementsEqual(Self.checksum(of: bytes[..<count])) else {
      throw CBORError(.unexpectedItem, at: 0)
    }
    // `withUnsafeBytes` does not pass the type of the error on.
    let content = Array(bytes[..<count])
    let result = unsafe content.withUnsafeBytes { bytes in
      Result { () throws(CBORError) in
        var reader = unsafe CBORReader(bytes)
        let facts = try SnapshotFacts(&reader)
        try reader.expectEnd()
        return facts
      }
    }
    self = try result.get()
  }

  private static func checksum(of bytes: ArraySlice<UInt8>) -> [UInt8] {
    var checksum: [UInt8] = []
    checksum.append(bigEndian: unsafe bytes.withUnsafeBytes { unsafe CRC32C.checksum($0) })
    return checksum
  }

  private init(_ reader: inout CBORReader) throws(CBORError) {
    try reader.expectArray(count: 9)
    guard try reader.readUnsigned() == Self.version else { throw CBORError(.unexpectedItem, at: 0) }
    let schema = try reader.readText()
    let byteCount = try reader.readCount()
    let stateDigest = try reader.readDigest()
    let entryDigest = try reader.readDigest()
    let entityCount = try reader.readCount()
    let eventCount = try reader.readCount()
    let isAutomatic = try reader.readBool()
    let start = reader.offset
    // Counts are added to; none that is true comes near.
    guard max(byteCount, entityCount, eventCount) < 1 << 56 else {
      throw CBORError(.unexpectedItem, at: start)
    }
    let checksums = unsafe Self.numbers(try reader.readBytes())
    // One checksum for each page, so that none is ever looked for behind the end.
    guard checksums.count == SnapshotFacts.pageCount(of: byteCount) else {
      throw CBORError(.unexpectedItem, at: start)
    }
    self.init(
      byteCount: byteCount, pageChecksums: checksums, stateDigest: stateDigest, entryDigest: entryDigest,
      schema: schema, entityCount: entityCount, eventCount: eventCount, isAutomatic: isAutomatic)
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
