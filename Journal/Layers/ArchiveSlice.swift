import PropertyLists

/// The bytes of an `NSData` in a layer. Each access is checked.
struct ArchiveSlice: Sendable {
  private let bytes: ArchiveBytes
  private let start: Int
  let count: Int

  init(_ reader: LayerReader, _ header: ObjectHeader) throws(ArchiveError) {
    guard header.kind == .data else { throw LayerReader.foreign(at: header.offset) }
    bytes = reader.list.bytes
    start = header.start
    count = header.count
  }

  /// Bytes in memory.
  init(_ bytes: [UInt8]) {
    self.bytes = ArchiveBytes(bytes)
    start = 0
    count = bytes.count
  }

  /// The error for contents that no layer has.
  var foreign: ArchiveError { LayerReader.foreign(at: start) }

  @inline(__always)
  func withBytes<Result>(
    at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws(ArchiveError) -> Result
  ) throws(ArchiveError) -> Result {
    guard offset >= 0, count >= 0, offset <= self.count - count else { throw foreign }
    return try unsafe bytes.withBytes(in: start + offset..<start + offset + count, body)
  }

  /// The partition point of rows of equal size: the number of the first row whose distance is not negative.
  func firstRow(
    of count: Int, at offset: Int, byteCount: Int, distance: (UnsafeRawBufferPointer) -> Double
  ) throws(ArchiveError) -> Int {
    try unsafe bytes.firstRow(of: count, at: start + offset, byteCount: byteCount, distance: distance)
  }

  /// Reads the first byte, which says how many bytes each number has: 4 or 8.
  func width() throws(ArchiveError) -> Int {
    let width = try unsafe withBytes(at: 0, count: 1) { unsafe Int($0[0]) }
    guard width == 4 || width == 8 else { throw foreign }
    return width
  }
}

extension UnsafeRawBufferPointer {
  /// The number of 4 or 8 bytes at an offset, most significant byte first.
  @inline(__always)
  func bigEndian(at offset: Int, width: Int) -> UInt64 {
    width == 4
      ? unsafe UInt64(UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      : unsafe UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
