import Foundation
import TestSupport

/// Alters bytes as damage or an attacker does.
struct Mutator {
  /// Bytes with a meaning in the formats: ends of ranges, and heads of CBOR items of all widths.
  private static let telling: [UInt8] = [
    0, 1, 0x17, 0x18, 0x19, 0x1A, 0x1B, 0x20, 0x3B, 0x40, 0x5B, 0x5F, 0x60, 0x7B, 0x7F, 0x80, 0x9B, 0x9F,
    0xA0, 0xBB, 0xBF, 0xC0, 0xD9, 0xF4, 0xF6, 0xF7, 0xF9, 0xFA, 0xFB, 0xFF,
  ]

  var random: SeededGenerator

  init() { random = SeededGenerator() }
  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// Bytes that differ from these in a few places.
  mutating func mutate(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &random) { change(&bytes) }
    return bytes
  }

  /// The same for a text. Bytes that are no longer valid UTF-8 are replaced.
  mutating func mutate(_ text: String) -> String { String(decoding: mutate(Array(text.utf8)), as: UTF8.self) }

  private mutating func change(_ bytes: inout [UInt8]) {
    guard let index = bytes.indices.randomElement(using: &random) else {
      bytes = random.bytes(Int.random(in: 0..<9, using: &random))
      return
    }
    let end = min(bytes.count, index + Int.random(in: 1...8, using: &random))
    switch Int.random(in: 0..<9, using: &random) {
    case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes[index] = UInt8.random(in: .min ... .max, using: &random)
    case 2: bytes[index] = Self.telling.randomElement(using: &random)!
    case 3: bytes[index] &+= Bool.random(using: &random) ? 1 : 0xFF
    case 4: bytes.removeSubrange(index..<end)
    case 5: bytes.insert(contentsOf: bytes[index..<end], at: index)
    case 6: bytes.insert(contentsOf: random.bytes(end - index), at: index)
    case 7: bytes.removeSubrange(index...)
    default:
      // A head that announces more bytes than there are.
      bytes.insert(
        contentsOf: [[0x5B, 0x7B, 0x9B, 0xBB].randomElement(using: &random)!] + random.bytes(8), at: index)
    }
  }
}
