// Each function reads the object that a header describes. Functions that don't return an optional require a header of
// their own kind. A header was checked against the size of the bytes, so only a failed read or a large UID is an error.

extension PropertyList {
  /// An integer of any width. Integers of 1, 2 and 4 bytes are unsigned, all others signed.
  package func integer(_ header: ObjectHeader) throws(ArchiveError) -> Int128 {
    switch header.count {
    case 16:
      let high = try bytes.number(at: header.start, width: 8)
      let low = try bytes.number(at: header.start + 8, width: 8)
      return Int128(truncatingIfNeeded: UInt128(high) << 64 | UInt128(low))
    case 8:
      return Int128(Int64(bitPattern: try bytes.number(at: header.start, width: 8)))
    default:
      return Int128(try bytes.number(at: header.start, width: header.count))
    }
  }

  /// The integer, or nil if the object is not an integer or doesn't fit 64 bits.
  @inline(__always)
  package func int64(_ header: ObjectHeader) throws(ArchiveError) -> Int64? {
    guard header.kind == .integer else { return nil }
    if header.count == 16 { return Int64(exactly: try integer(header)) }
    return Int64(truncatingIfNeeded: try bytes.number(at: header.start, width: header.count))
  }

  /// A UID. UIDs above 2³² - 1 are refused, as in Apple's reader.
  @inline(__always)
  package func uid(_ header: ObjectHeader) throws(ArchiveError) -> UInt32 {
    guard let uid = UInt32(exactly: try bytes.number(at: header.start, width: header.count)) else {
      throw malformed("a UID is larger than 4294967295", header.offset)
    }
    return uid
  }

  /// Calls `body` with the bytes of data, or of a string as it is stored: ASCII, or UTF-16 with the higher byte first.
  package func withContent<Result>(
    of header: ObjectHeader, _ body: (UnsafeRawBufferPointer) throws(ArchiveError) -> Result
  ) throws(ArchiveError) -> Result {
    try unsafe bytes.withBytes(in: header.start..<header.start + header.byteCount, body)
  }
}
