import CCRC32C

/// CRC-32C (RFC 3720, appendix B.4), where SHA-256 would be too slow.
struct CRC32C {
  private var remainder: UInt32 = ~0

  /// The checksum of all bytes so far.
  var value: UInt32 { ~remainder }

  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var remainder: UInt32 = ~0
    for byte in bytes { remainder = next(remainder, byte) }
    return ~remainder
  }

  /// The same for bytes in one place.
  static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var checksum = CRC32C()
    unsafe checksum.update(bytes)
    return checksum.value
  }

  /// Adds bytes, with the processor's instruction if it has one, otherwise eight at a time with tables.
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    if Self.hasInstruction {
      remainder = unsafe ccrc32c_update(remainder, bytes.baseAddress, bytes.count)
    } else {
      unsafe updateWithTables(bytes)
    }
  }

  private static let hasInstruction = ccrc32c_is_available()

  /// Not private, so that it can be tested on processors with the instruction.
  mutating func updateWithTables(_ bytes: UnsafeRawBufferPointer) {
    let wholeWords = bytes.count & ~7
    unsafe Self.slices.withUnsafeBufferPointer { slices in
      for offset in stride(from: 0, to: wholeWords, by: 8) {
        let word = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let mixed = word ^ UInt64(remainder)
        remainder = 0
        for index in 0..<8 {
          // Slice 7 is for the byte that is furthest from the end.
          let byte = Int(truncatingIfNeeded: mixed &>> (8 &* UInt64(index))) & 0xFF
          unsafe remainder ^= slices[(7 &- index) &* 256 &+ byte]
        }
      }
    }
    for offset in wholeWords..<bytes.count { remainder = unsafe Self.next(remainder, bytes[offset]) }
  }

  private static func next(_ remainder: UInt32, _ byte: UInt8) -> UInt32 {
    slices[Int(UInt8(truncatingIfNeeded: remainder) ^ byte)] ^ (remainder >> 8)
  }

  /// Eight tables of 256: table *k* has the remainder of a byte followed by *k* zero bytes.
  private static let slices: [UInt32] = {
    var slices: [UInt32] = []
    for byte in 0..<UInt32(256) {
      var remainder = byte
      for _ in 0..<8 { remainder = remainder & 1 == 1 ? (remainder >> 1) ^ 0x82F6_3B78 : remainder >> 1 }
      slices.append(remainder)
    }
    for index in 256..<8 * 256 {
      let before = slices[index - 256]
      slices.append(slices[Int(before & 0xFF)] ^ (before >> 8))
    }
    return slices
  }()
}
