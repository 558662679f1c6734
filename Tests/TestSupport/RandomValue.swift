package import CBOR
import Foundation

extension FieldValue {
  /// A value of any kind, with unusual ones more frequent than they would be by chance.
  package static func random(depth: Int = 0, using generator: inout SeededGenerator) -> Value {
    switch Int.random(in: 0..<(depth < 4 ? 12 : 9), using: &generator) {
    case 0: .null
    case 1: .bool(.random(using: &generator))
    case 2: .integer(Int64(bitPattern: generator.next()) >> Int64.random(in: 0..<64, using: &generator))
    case 3: .unsigned(generator.next() | 1 << 63)
    case 4: .double(randomDouble(using: &generator))
    case 5:
      .data(
        Data(
          (0..<Int.random(in: 0..<9, using: &generator)).map { _ in
            UInt8(truncatingIfNeeded: generator.next())
          }))
    case 6: .date(randomDate(using: &generator))
    case 7, 8: .string(randomString(using: &generator))
    case 9:
      .array(
        (0..<Int.random(in: 0..<5, using: &generator)).map { _ in random(depth: depth + 1, using: &generator)
        })
    default: .dictionary(randomDictionary(depth: depth, using: &generator))
    }
  }

  private static func randomDictionary(depth: Int, using generator: inout SeededGenerator) -> [String: Value]
  {
    var members: [String: Value] = [:]
    for _ in 0..<Int.random(in: 0..<4, using: &generator) {
      let reserved = ["$date", "$data", "$double", "$$date", "$$$double", "$dates", "$", "$$"].randomElement(
        using: &generator)!
      let key = Bool.random(using: &generator) ? reserved : randomString(using: &generator)
      members[key] = random(depth: depth + 1, using: &generator)
    }
    return members
  }

  /// No NaN, as it is not equal to itself.
  private static func randomDouble(using generator: inout SeededGenerator) -> Double {
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      [.infinity, -.infinity, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude].randomElement(
        using: &generator)!
    case 1: Double(Int.random(in: -1_000...1_000, using: &generator)) / 100
    default: { $0.isNaN ? 0.1 : $0 }(Double(bitPattern: generator.next()))
    }
  }

  /// In most cases a date at a whole microsecond, otherwise one that is so far away that it is written in seconds.
  private static func randomDate(using generator: inout SeededGenerator) -> Date {
    guard Int.random(in: 0..<4, using: &generator) > 0 else {
      return Date(
        timeIntervalSinceReferenceDate: [1e300, -1e300, .infinity, 1e12, -6.5e10].randomElement(
          using: &generator)!)
    }
    return Timestamp(
      microseconds: .random(in: -7_000_000_000_000_000...7_000_000_000_000_000, using: &generator)
    ).date
  }

  private static func randomString(using generator: inout SeededGenerator) -> String {
    let pool: [Unicode.Scalar] = [
      "a", "Z", "\"", "\\", "/", "\u{0}", "\u{1F}", "\n", "\t", "\u{7F}", "é", "ß", "€", "\u{2028}",
      "\u{FFFD}", "\u{FFFF}", "😀", "\u{10FFFF}",
    ]
    var text = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0..<20, using: &generator) {
      text.append(pool.randomElement(using: &generator)!)
    }
    return String(text)
  }
}
