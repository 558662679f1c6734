#if canImport(CryptoKit)
  import CryptoKit
#else
  import CSHA256
#endif

/// Computes the SHA-256 digest of bytes that are passed in pieces.
package struct SHA256Hash: ~Copyable {
  #if canImport(CryptoKit)
    private var hash = SHA256()
  #else
    private var hash = csha256()
  #endif

  package init() {
    #if !canImport(CryptoKit)
      unsafe csha256_start(&hash)
    #endif
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    #if canImport(CryptoKit)
      unsafe hash.update(bufferPointer: bytes)
    #else
      unsafe csha256_update(&hash, bytes.baseAddress, bytes.count)
    #endif
  }

  package mutating func update(_ byte: UInt8) {
    unsafe withUnsafeBytes(of: byte) { unsafe update($0) }
  }

  /// Hashes a number as eight bytes, the most significant first.
  package mutating func update(_ number: UInt64) {
    unsafe withUnsafeBytes(of: number.bigEndian) { unsafe update($0) }
  }

  package mutating func update(_ digest: ContentDigest) {
    unsafe digest.withUnsafeBytes { unsafe update($0) }
  }

  package mutating func update(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { unsafe update($0) }
  }

  package consuming func finish() -> ContentDigest {
    #if canImport(CryptoKit)
      return hash.finalize().withUnsafeBytes { unsafe ContentDigest(bytes: $0)! }
    #else
      var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
      unsafe withUnsafeMutableBytes(of: &words) { bytes in
        unsafe csha256_finish(&hash, bytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
      }
      return ContentDigest(
        words: (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian))
    #endif
  }

  package static func digest(_ bytes: UnsafeRawBufferPointer) -> ContentDigest {
    var hash = SHA256Hash()
    unsafe hash.update(bytes)
    return hash.finish()
  }

  package static func digest(_ bytes: [UInt8]) -> ContentDigest {
    unsafe bytes.withUnsafeBytes { unsafe digest($0) }
  }
}
