import Foundation

/// A generator that returns the same numbers for the same seed. To repeat a failed test, set `JOURNAL_TEST_SEED` to the
/// seed that it printed.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  package let seed: UInt64
  private var state: UInt64

  /// Starts from the seed that is given in the environment, or from a new one, and prints it.
  package init(_ test: String = #function) {
    let given = ProcessInfo.processInfo.environment["JOURNAL_TEST_SEED"].flatMap { UInt64($0) }
    self.init(seed: given ?? UInt64.random(in: 0...UInt64.max))
    print("\(test): JOURNAL_TEST_SEED=\(seed)")
  }

  /// Starts from a seed, and prints nothing.
  package init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  package mutating func next() -> UInt64 {
    // SplitMix64.
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True with a chance of `one` in `all`.
  package mutating func chance(_ one: Int, in all: Int) -> Bool {
    Int.random(in: 0..<all, using: &self) < one
  }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    // A word at a time: the crash tests need millions.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count { unsafe withUnsafeBytes(of: next()) { unsafe bytes.append(contentsOf: $0) } }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}
