import Foundation

/// The length of tests that have no natural end: some seconds, or with `JOURNAL_BATTERY=long` as much as the time
/// before a release allows.
package enum TestLength {
  package static let isLong = ProcessInfo.processInfo.environment["JOURNAL_BATTERY"] == "long"

  /// Picks the size of a test.
  package static func size(_ usual: Int, long: Int) -> Int { isLong ? long : usual }
}

/// The cases that a fuzz test tries: a few seconds' worth, or a hundred times as many.
package func cases(_ count: Int) -> Range<Int> { 0..<TestLength.size(count, long: count * 100) }
