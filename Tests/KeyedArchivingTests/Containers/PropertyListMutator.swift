import Foundation
import TestSupport

/// Alters property lists as damage or an attacker does. Half of the changes know the format.
struct PropertyListMutator {
  private var random = SeededGenerator()

  /// The lists to begin with: some small ones, and those of the corpus.
  static func seeds() throws -> [[UInt8]] {
    var seeds = [
      RawPropertyList(
        [0xD2, 1, 2, 3, 4], [0x51, 0x61], [0x61, 0, 0x62], [0x13, 0, 0, 0, 0, 0, 0, 0, 9], [0x80, 1]),
      RawPropertyList([0xA3, 1, 2, 2], [0xA2, 2, 2], [0xC1, 3], [0x33, 0x41, 0, 0, 0, 0, 0, 0, 0]),
      RawPropertyList([0xAF, 0x10, 2, 1, 2], [0x4F, 0x11, 0, 2, 7, 8], [0x5F, 0x10, 3, 0x61, 0x62, 0xE9]),
    ].map(\.bytes)
    seeds.append(
      Array(
        """
        <?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a "b">]><plist><dict><key>a&amp;</key><array><integer>0x1f
        </integer><real>-1.5</real><date>2001-02-03T04:05:06Z</date><data>AQID</data><true/><!-- c --></array>
        <key>b</key><string><![CDATA[d]]>&#xe9;é</string></dict></plist>
        """.utf8))
    for file in try KeyedCorpus.files() where file.expectation != "-" {
      let bytes = try [UInt8](Data(contentsOf: file.url))
      // Most mutations of a large file change parts that do not affect a reader.
      if bytes.count < 8_192 { seeds.append(bytes) }
    }
    return seeds
  }

  /// One of the seeds, or parts of two, with a few changes.
  mutating func altered(_ seeds: [[UInt8]]) -> [UInt8] {
    var bytes = seeds.randomElement(using: &random)!
    if random.chance(1, in: 8) {
      let other = seeds.randomElement(using: &random)!
      bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
      bytes += other.suffix(Int.random(in: 0...other.count, using: &random))
    }
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      if random.chance(1, in: 2) { changeFormat(&bytes) } else { changeBytes(&bytes) }
    }
    return bytes
  }

  private mutating func changeBytes(_ bytes: inout [UInt8]) {
    guard let index = bytes.indices.randomElement(using: &random) else { return }
    let end = min(bytes.count, index + Int.random(in: 1...8, using: &random))
    // A binary list whose size has changed is refused for that reason alone, so this is tried less often.
    let staysInPlace = bytes.starts(with: Array("bplist".utf8)) && random.chance(7, in: 8)
    switch Int.random(in: 0..<(staysInPlace ? 3 : 7), using: &random) {
    case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes[index] = UInt8.random(in: .min ... .max, using: &random)
    case 2: bytes[index] &+= random.chance(1, in: 2) ? 1 : 0xFF
    case 3: bytes.removeSubrange(index..<end)
    case 4: bytes.insert(contentsOf: bytes[index..<end], at: index)
    case 5: bytes.insert(contentsOf: random.bytes(end - index), at: index)
    default: bytes.removeSubrange(index...)
    }
  }

  private mutating func changeFormat(_ bytes: inout [UInt8]) {
    guard bytes.starts(with: Array("bplist".utf8)), bytes.count > 48 else { return changeText(&bytes) }
    let trailer = bytes.count - 32
    let table = bytes[(trailer + 24)...].reduce(0) { ($0 << 8 | Int($1)) & 0xFF_FFFF }
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      // A number of the trailer.
      bytes[trailer + Int.random(in: 5..<32, using: &random)] = random.bytes(1)[0]
    case 1 where table < trailer:
      // An offset.
      bytes[Int.random(in: table..<trailer, using: &random)] = random.bytes(1)[0]
    case 2:
      // The kind of an object, or its length.
      let index = Int.random(in: 8..<trailer, using: &random)
      bytes[index] =
        UInt8.random(in: 0..<16, using: &random) << 4 | [0, 1, 2, 3, 0xF].randomElement(using: &random)!
    case 3 where trailer > 24:
      // A length as an integer of some width.
      let index = Int.random(in: 8..<trailer - 12, using: &random)
      bytes[index] |= 0x0F
      bytes[index + 1] = 0x10 | UInt8.random(in: 0..<5, using: &random)
    default:
      // A reference or an offset from another place.
      let target = Int.random(in: 8..<trailer, using: &random)
      bytes[target] = bytes[Int.random(in: 8..<trailer, using: &random)]
    }
  }

  private static let tokens = [
    "<dict>", "</dict>", "<array>", "</array>", "<key>", "</key>", "<string>", "</string>", "<integer>",
    "</integer>",
    "<real>nan</real>", "<date>", "<data>", "</data>", "<true/>", "<plist>", "</plist>", "<!--", "-->",
    "<![CDATA[",
    "]]>", "<?", "?>", "<!DOCTYPE", "[", "]", "&", ";", "&#x", "&amp;", "'", "\"", "<", ">", "/", "=", "é",
    "\0",
    "\u{FEFF}", "0x", "-", "99999999999999999999", "\r",
  ]

  private mutating func changeText(_ bytes: inout [UInt8]) {
    let index = Int.random(in: 0...bytes.count, using: &random)
    bytes.insert(contentsOf: Array(Self.tokens.randomElement(using: &random)!.utf8), at: index)
  }
}
