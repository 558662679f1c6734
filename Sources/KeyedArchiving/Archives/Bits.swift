/// A set of numbers below a bound, one bit each.
struct Bits {
  private var words: [UInt64]

  init(count: Int) { words = Array(repeating: 0, count: (count + 63) / 64) }

  func contains(_ number: Int) -> Bool { words[number >> 6] & 1 << UInt64(number & 63) != 0 }

  /// Adds a number, and returns whether it was new.
  @discardableResult
  mutating func insert(_ number: Int) -> Bool {
    defer { words[number >> 6] |= 1 << UInt64(number & 63) }
    return !contains(number)
  }

  mutating func remove(_ number: Int) { words[number >> 6] &= ~(1 << UInt64(number & 63)) }
}
