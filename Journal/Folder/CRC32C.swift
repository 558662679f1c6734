/// The checksum of small things that SHA-256 would be too slow for (CRC-32C, RFC 3720 appendix B.4).
enum CRC32C {
  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var remainder: UInt32 = ~0
    for byte in bytes {
      remainder = table[Int(UInt8(truncatingIfNeeded: remainder) ^ byte)] ^ (remainder >> 8)
    }
    return ~remainder
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? (value >> 1) ^ 0x82F6_3B78 : value >> 1 }
  }
}
