import CatalogModel
import Foundation

/// A small, fast generator with a seed, so that a run can be repeated with the same data.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  // SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

/// Items as an app would have them: five attributes, some 200 bytes.
enum SampleData {
  static let kind = "sample"
  /// How many attributes an item has.
  static let attributeCount = 5

  /// The attributes of one item, made of random letters and numbers so that they hardly compress.
  static func attributes(_ random: inout SeededGenerator) -> [String: FieldValue] {
    [
      "name": .string(text(18, &random)),
      "note": .string(text(96, &random)),
      "count": .integer(Int64.random(in: 0...1_000_000, using: &random)),
      "price": .double(Double.random(in: 0...1000, using: &random)),
      "seen": .date(Date(timeIntervalSinceReferenceDate: .random(in: 6e8...9e8, using: &random))),
    ]
  }

  /// The attributes of many items.
  static func attributes(count: Int, seed: UInt64) -> [[String: FieldValue]] {
    var random = SeededGenerator(seed: seed)
    return (0..<count).map { _ in attributes(&random) }
  }

  /// Bytes that no file system can compress.
  static func bytes(count: Int, seed: UInt64) -> Data {
    var random = SeededGenerator(seed: seed)
    var bytes = Data(capacity: count + 8)
    while bytes.count < count {
      var word = random.next()
      for _ in 0..<8 {
        bytes.append(UInt8(truncatingIfNeeded: word))
        word >>= 8
      }
    }
    return bytes.prefix(count)
  }

  private static let letters = Array("abcdefghijklmnopqrstuvwxyz      ".utf8)

  private static func text(_ count: Int, _ random: inout SeededGenerator) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      var word = random.next()
      for _ in 0..<min(12, count - bytes.count) {
        bytes.append(letters[Int(word & 31)])
        word >>= 5
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
