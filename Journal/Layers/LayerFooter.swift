import CBOR

/// Facts about a layer or snapshot, the checksums of its file, and its checkpoints.
package struct LayerFooter: Sendable, Equatable {
  /// The size of the pages that have checksums; a page is checked when it is first touched.
  static let pageByteCount = 4 << 10

  package var byteCount: Int
  /// The CRC-32C of each page of the file.
  var pageChecksums: [UInt32]
  /// The digest of a whole state; nil for a layer.
  var stateDigest: ContentDigest?
  /// The digest of the newest entry that the file includes, which seals all entries before it.
  var entryDigest: ContentDigest
  var schema: String
  /// The number of times that the content was written: once, and once more for each merge.
  package var generation: Int
  /// The newest erasure in the log when the file was written; 0 if there was none. An erasure keeps all digests, so
  /// only this number tells whether an old file that was put back has content that was erased since.
  var newestErasure: Revision = 0
  /// The checkpoint after which the layer begins.
  var start: LayerCheckpoint
  /// The checkpoints in ascending order, at least one.
  var checkpoints: [LayerCheckpoint]

  package var top: LayerCheckpoint { checkpoints.last ?? start }

  /// Where a page is in the file; the last page may be shorter.
  func range(ofPage index: Int) -> Range<Int> {
    let start = index * Self.pageByteCount
    return start..<min(start + Self.pageByteCount, byteCount)
  }

  static func pageCount(of byteCount: Int) -> Int {
    byteCount / pageByteCount + (byteCount % pageByteCount == 0 ? 0 : 1)
  }
}

// Documentation/Format.md, "The footer of a layer".
extension LayerFooter {
  private static let version: UInt64 = 4
  private static let checksumByteCount = 4
  /// Keeps sums of counts from overflowing; no valid count comes near this limit.
  private static let countLimit = 1 << 56

  /// The bytes of the footer's file: an item of CBOR and its checksum.
  func encoded() -> [UInt8] {
    var writer = CBORWriter(reserving: 256 + 4 * pageChecksums.count + 64 * checkpoints.count)
    writer.appendArrayHead(count: 10)
    writer.append(unsigned: Self.version)
    writer.append(text: schema)
    writer.append(unsigned: UInt64(byteCount))
    unsafe entryDigest.withUnsafeBytes { unsafe writer.append(bytes: $0) }
    if let stateDigest {
      unsafe stateDigest.withUnsafeBytes { unsafe writer.append(bytes: $0) }
    } else {
      writer.appendBytesHead(count: 0)
    }
    writer.append(unsigned: UInt64(generation))
    writer.append(unsigned: UInt64(newestErasure))
    start.append(to: &writer)
    writer.appendArrayHead(count: checkpoints.count)
    for checkpoint in checkpoints { checkpoint.append(to: &writer) }
    writer.appendBytesHead(count: 4 * pageChecksums.count)
    for checksum in pageChecksums {
      unsafe withUnsafeBytes(of: checksum.bigEndian) { unsafe writer.append(encoded: $0) }
    }
    var bytes = writer.finish()
    bytes.append(bigEndian: CRC32C.checksum(bytes))
    return bytes
  }

  init(encoded bytes: [UInt8]) throws(CBORError) {
    let count = bytes.count - Self.checksumByteCount
    guard count > 0, bytes[count...].elementsEqual(Self.checksum(of: bytes[..<count])) else {
      throw CBORError(.unexpectedItem, at: 0)
    }
    // `withUnsafeBytes` does not preserve the type of the error.
    let content = Array(bytes[..<count])
    let result = unsafe content.withUnsafeBytes { bytes in
      Result { () throws(CBORError) in
        var reader = unsafe CBORReader(bytes)
        let footer = try LayerFooter(&reader)
        try reader.expectEnd()
        return footer
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
    try reader.expectArray(count: 10)
    guard try reader.readUnsigned() == Self.version else { throw CBORError(.unexpectedItem, at: 0) }
    schema = try reader.readText()
    byteCount = try Self.count(&reader)
    entryDigest = try reader.readDigest()
    let digest = try unsafe Array(reader.readBytes())
    stateDigest = ContentDigest(bytes: digest)
    guard digest.isEmpty || stateDigest != nil else { throw CBORError(.unexpectedItem, at: reader.offset) }
    generation = try Self.count(&reader)
    newestErasure = try Self.count(&reader)
    start = try Self.checkpoint(&reader)
    checkpoints = []
    for _ in 0..<(try reader.readArrayHead()) {
      let checkpoint = try Self.checkpoint(&reader)
      let before = checkpoints.last ?? start
      guard checkpoint.revision > before.revision, checkpoint.eventCount >= before.eventCount,
        checkpoint.tables.count == before.tables.count,
        zip(checkpoint.textCounts, before.textCounts).allSatisfy({ $0 >= $1 }),
        checkpoint.textCounts.count == before.textCounts.count
      else { throw CBORError(.unexpectedItem, at: reader.offset) }
      checkpoints.append(checkpoint)
    }
    let offset = reader.offset
    pageChecksums = unsafe Self.numbers(try reader.readBytes())
    // One checksum for each page, so that lookups stay within bounds.
    guard pageChecksums.count == LayerFooter.pageCount(of: byteCount), !checkpoints.isEmpty else {
      throw CBORError(.unexpectedItem, at: offset)
    }
  }

  private static func checkpoint(_ reader: inout CBORReader) throws(CBORError) -> LayerCheckpoint {
    try reader.expectArray(count: 4)
    var checkpoint = LayerCheckpoint(
      revision: try count(&reader), eventCount: try count(&reader), tables: [], textCounts: [])
    for _ in 0..<(try reader.readArrayHead()) {
      try reader.expectArray(count: 4)
      checkpoint.tables.append(
        EntityTotals(
          highest: try count(&reader), count: try count(&reader), deletionCount: try count(&reader),
          erasedCount: try count(&reader)))
    }
    for _ in 0..<(try reader.readArrayHead()) { checkpoint.textCounts.append(try count(&reader)) }
    return checkpoint
  }

  private static func count(_ reader: inout CBORReader) throws(CBORError) -> Int {
    let count = try reader.readCount()
    guard count < countLimit else { throw CBORError(.unexpectedItem, at: reader.offset) }
    return count
  }

  private static func numbers(_ bytes: UnsafeRawBufferPointer) -> [UInt32] {
    (0..<bytes.count / 4).map { index in
      unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
    }
  }
}

extension LayerCheckpoint {
  fileprivate func append(to writer: inout CBORWriter) {
    writer.appendArrayHead(count: 4)
    writer.append(unsigned: UInt64(revision))
    writer.append(unsigned: UInt64(eventCount))
    writer.appendArrayHead(count: tables.count)
    for totals in tables {
      writer.appendArrayHead(count: 4)
      writer.append(unsigned: UInt64(totals.highest))
      writer.append(unsigned: UInt64(totals.count))
      writer.append(unsigned: UInt64(totals.deletionCount))
      writer.append(unsigned: UInt64(totals.erasedCount))
    }
    writer.appendArrayHead(count: textCounts.count)
    for count in textCounts { writer.append(unsigned: UInt64(count)) }
  }
}
