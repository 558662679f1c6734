import Foundation
import Locks
import LogbookModel
import TestSupport
import Testing

/// What a journal promises, tested with everything that can happen to a process, a disk and a folder.
///
/// All tests run one after the other, as each takes all cores. By default they take a few minutes;
/// `JOURNAL_BATTERY=long` makes them take what the time before a release allows. Random choices come from a
/// seed that is printed and can be given back in `JOURNAL_TEST_SEED`.
@Suite(.serialized) struct Battery {
  static let isLong = TestLength.isLong

  static func size(_ usual: Int, long: Int) -> Int { TestLength.size(usual, long: long) }
}

/// Calls `body` with a new folder in memory, where there is one: the crash tests make and open thousands of
/// journals, and what the drive does with them is no part of those tests.
func withFolderInMemory<Result>(_ body: (String) throws -> Result) throws -> Result {
  let memory = "/dev/shm"
  guard FileManager.default.isWritableFile(atPath: memory) else {
    return try withTemporaryFolder { try body($0.path) }
  }
  let path = "\(memory)/journal-test-\(UUID().uuidString)"
  try FileManager.default.createDirectory(
    atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  defer { try? FileManager.default.removeItem(atPath: path) }
  return try body(path)
}

/// Runs the cases of a test on all cores, each with its index, and ends the process with the name of a case
/// that hangs: a test that hangs says nothing.
func forEachConcurrently<Case: Sendable>(
  _ cases: [Case], named name: @Sendable @escaping (Case) -> String, _ body: @Sendable (Int, Case) -> Void
) {
  let running = Lock<[Int: Date]>([:])
  let watch = DispatchSource.makeTimerSource(queue: .global())
  watch.setEventHandler {
    for (index, start) in running.withLock({ $0 }) where start.timeIntervalSinceNow < -300 {
      fatalError("a case hangs: \(name(cases[index]))")
    }
  }
  watch.schedule(deadline: .now() + 10, repeating: 10)
  watch.resume()
  defer { watch.cancel() }
  DispatchQueue.concurrentPerform(iterations: cases.count) { index in
    running.withLock { $0[index] = Date() }
    body(index, cases[index])
    running.withLock { _ = $0.removeValue(forKey: index) }
  }
}

/// The problems that the cases of a test found, a few of which are told in full.
final class Findings: Sendable {
  private let problems = Lock<[String]>([])

  var all: [String] { problems.withLock { $0 } }

  func note(_ problem: String) { problems.withLock { $0.append(problem) } }

  /// Makes a failed test of what was found.
  func report(sourceLocation: SourceLocation = #_sourceLocation) {
    let all = all
    for problem in all.prefix(8) { Issue.record("\(problem)", sourceLocation: sourceLocation) }
    if all.count > 8 { Issue.record("and \(all.count - 8) more", sourceLocation: sourceLocation) }
  }
}
