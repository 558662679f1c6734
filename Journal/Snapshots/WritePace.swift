import Foundation
import Synchronization

/// Makes the writing of layers leave the drive to commits, by a pause after each piece.
///
/// A commit's flush waits for what the drive was given before it.
///
/// Safe to use from any thread.
final class WritePace: Sendable {
  /// The bytes that commits have written, and the system's uptime in milliseconds at the newest one.
  private let committedByteCount = Atomic<Int>(0)
  private let newestCommit = Atomic<Int>(.min / 2)

  /// Without a commit for so long, nobody waits for the drive.
  private static let idleMilliseconds = 50
  /// How many bytes layers may write for each byte of commits. An event is written into a layer about six times in all, so
  /// they keep up.
  private static let share = 8
  private static let stepCount = 8
  private static let stepSeconds = 0.0001

  /// Notes that a commit has written to the drive.
  func note(committed byteCount: Int, at milliseconds: Int = WritePace.now) {
    committedByteCount.add(byteCount, ordering: .relaxed)
    newestCommit.store(milliseconds, ordering: .relaxed)
  }

  /// How many bytes the drive is given at a time.
  var pieceByteCount: Int { isIdle(at: Self.now) ? 64 << 10 : 16 << 10 }

  /// Pauses after a piece, for about a millisecond at most, unless there are no commits or these write so much that
  /// layers must keep up.
  func pause(
    afterWriting byteCount: Int, at milliseconds: Int = WritePace.now, sleep: (Double) -> Void = Thread.sleep
  ) {
    if isIdle(at: milliseconds) { return }
    let start = committedByteCount.load(ordering: .relaxed)
    for _ in 0..<Self.stepCount {
      sleep(Self.stepSeconds)
      if (committedByteCount.load(ordering: .relaxed) - start) * Self.share >= byteCount { return }
    }
  }

  private func isIdle(at milliseconds: Int) -> Bool {
    milliseconds - newestCommit.load(ordering: .relaxed) > Self.idleMilliseconds
  }

  static var now: Int { Int(ProcessInfo.processInfo.systemUptime * 1_000) }
}
