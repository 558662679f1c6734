/// A SHA-256 digest of 32 bytes. Digests are ordered by their bytes, and printed as 64 lowercase hexadecimal digits.
public struct ContentDigest: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The bytes, eight in each word, most significant first.
  let words: (UInt64, UInt64, UInt64, UInt64)

  /// 32 zero bytes.
  public static let zero = ContentDigest(words: (0, 0, 0, 0))

  init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

  /// The digest with these 32 bytes, nil if there are more or fewer.
  public init?(bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 32 else { return nil }
    func word(_ offset: Int) -> UInt64 {
      unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    words = (word(0), word(8), word(16), word(24))
  }

  /// The digest with these 32 bytes, nil if there are more or fewer.
  public init?(bytes: [UInt8]) {
    let digest = unsafe bytes.withUnsafeBytes { unsafe ContentDigest(bytes: $0) }
    guard let digest else { return nil }
    self = digest
  }

  /// The digest with these 64 hexadecimal digits; nil for any other text.
  public init?(hex: some StringProtocol) {
    let digits = Array(hex.utf8)
    // The initializer of `UInt64` would accept a sign.
    guard digits.count == 64, digits.allSatisfy({ $0 >= UInt8(ascii: "0") }) else { return nil }
    let words = stride(from: 0, to: 64, by: 16).compactMap { start in
      UInt64(String(decoding: digits[start..<start + 16], as: UTF8.self), radix: 16)
    }
    guard words.count == 4 else { return nil }
    self.words = (words[0], words[1], words[2], words[3])
  }

  /// The 32 bytes.
  public var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }

  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let (a, b, c, d) = words
    return unsafe Swift.withUnsafeBytes(of: (a.bigEndian, b.bigEndian, c.bigEndian, d.bigEndian)) {
      unsafe body($0)
    }
  }

  /// 64 lowercase hexadecimal digits, as `sha256sum` prints them.
  public var hex: String {
    [words.0, words.1, words.2, words.3].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }.joined()
  }

  /// The digits of ``hex``.
  public var description: String { hex }

  /// Whether two digests have equal bytes.
  public static func == (left: ContentDigest, right: ContentDigest) -> Bool { left.words == right.words }
  /// Compares the bytes lexicographically.
  public static func < (left: ContentDigest, right: ContentDigest) -> Bool { left.words < right.words }

  /// Hashes a part of the digest, whose bits are uniformly distributed.
  public func hash(into hasher: inout Hasher) {
    // 64 bits of a SHA-256 are enough.
    hasher.combine(words.0)
  }
}
