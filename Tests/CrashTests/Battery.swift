import Foundation
import Locks
import LogbookModel
import TestSupport
import Testing

/// Tests what a journal promises against everything that can happen to a process, a disk and a folder.
///
/// The tests run one after the other, because each takes all cores. By default they take a few minutes. With
/// `JOURNAL_BATTERY=long`, they take hours, which is meant for the time before a release. Random choices come from a
/// printed seed, which can be set in `JOURNAL_TEST_SEED`.
@Suite(.serialized) struct Battery {
  static let isLong = TestLength.isLong

  static func size(_ usual: Int, long: Int) -> Int { TestLength.size(usual, long: long) }
}

/// Calls `body` with a new folder, in memory if possible. The crash tests make and open thousands of journals, and
/// what the drive does with them is not part of those tests.
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

/// Runs the cases of a test on all cores, each with its index. If a case hangs, it ends the process with the name of
/// the case, because a hanging test would report nothing.
func forEachConcurrently<Case: Sendable>(
  _ cases: [Case], named name: @Sendable @escaping (Case) -> String, _ body: @Sendable (Int, Case) -> Void
) {
  let running = Lock<[Int: Date]>([:])
  let watch = DispatchSource.makeTimerSource(queue: .global())
  watch.setEventHandler {
    for (index, start) in running.withLock({ $0 }) where start.timeIntervalSinceNow < -3600 {
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

/// The problems that the cases of a test found, of which only a few are reported in full.
final class Findings: Sendable {
  private let problems = Lock<[String]>([])

  var all: [String] { problems.withLock { $0 } }

  func note(_ problem: String) { problems.withLock { $0.append(problem) } }

  /// Records the problems as issues, which fail the test.
  func report(sourceLocation: SourceLocation = #_sourceLocation) {
    let all = all
    for problem in all.prefix(8) { Issue.record("\(problem)", sourceLocation: sourceLocation) }
    if all.count > 8 { Issue.record("and \(all.count - 8) more", sourceLocation: sourceLocation) }
  }
}
