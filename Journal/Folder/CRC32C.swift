import CCRC32C

/// CRC-32C (RFC 3720, appendix B.4), a checksum for where SHA-256 would be too slow.
struct CRC32C {
  private var remainder: UInt32 = ~0

  var value: UInt32 { ~remainder }

  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    unsafe Array(bytes).withUnsafeBytes { unsafe checksum($0) }
  }

  static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var checksum = CRC32C()
    unsafe checksum.update(bytes)
    return checksum.value
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    remainder = unsafe ccrc32c_update(remainder, bytes.baseAddress, bytes.count)
  }

  /// Updates the checksum without the processor's instruction for CRC-32C, for a test.
  mutating func updateWithTables(_ bytes: UnsafeRawBufferPointer) {
    remainder = unsafe ccrc32c_update_with_tables(remainder, bytes.baseAddress, bytes.count)
  }
}
