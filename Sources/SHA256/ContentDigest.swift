/// A SHA-256 of 32 bytes. Ordered by its bytes, printed as 64 lowercase hexadecimal digits.
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

  /// The digest with these 64 hexadecimal digits, nil for anything else.
  public init?(hex: some StringProtocol) {
    let digits = Array(hex.utf8)
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    self.init(bytes: bytes)
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// The 32 bytes.
  public var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }

  /// Calls `body` with the 32 bytes.
  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let (a, b, c, d) = words
    return unsafe Swift.withUnsafeBytes(of: (a.bigEndian, b.bigEndian, c.bigEndian, d.bigEndian)) {
      unsafe body($0)
    }
  }

  /// 64 lowercase hexadecimal digits, as `sha256sum` prints them.
  public var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(64)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The same as ``hex``.
  public var description: String { hex }

  /// Whether all bytes are equal.
  public static func == (left: ContentDigest, right: ContentDigest) -> Bool { left.words == right.words }
  /// Compares the bytes lexicographically.
  public static func < (left: ContentDigest, right: ContentDigest) -> Bool { left.words < right.words }

  /// Hashes a part of the digest, whose bits are uniformly distributed.
  public func hash(into hasher: inout Hasher) {
    // 64 bits of a SHA-256 are enough.
    hasher.combine(words.0)
  }
}
