import Foundation

/// The length of tests that have no natural end: some seconds, or with `JOURNAL_BATTERY=long` as much as the time
/// before a release allows.
package enum TestLength {
  package static let isLong = ProcessInfo.processInfo.environment["JOURNAL_BATTERY"] == "long"

  /// Whether the tests run under a sanitizer, which `.ci/run` says. Tests are disabled then that would take longer than all
  /// others together, without using threads in another way: damage in many places, large journals, values on one thread.
  package static let isUnderSanitizer = ProcessInfo.processInfo.environment["JOURNAL_SANITIZER"] != nil

  /// Picks the size of a test.
  package static func size(_ usual: Int, long: Int) -> Int { isLong ? long : usual }
}

/// The cases that a fuzz test tries: a few seconds' worth, or a hundred times as many.
package func cases(_ count: Int) -> Range<Int> { 0..<TestLength.size(count, long: count * 100) }
