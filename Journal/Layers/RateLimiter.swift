import Foundation
import Synchronization

/// Slows the writing of layers by a pause after each piece, because a commit's flush waits for all data that the drive
/// was given before it.
///
/// Safe to use from any thread.
final class RateLimiter: Sendable {
  /// The system's uptime in milliseconds at the newest commit.
  private let newestCommit = Atomic<Int>(.min / 2)

  /// If the newest commit is older than this, layers are written without pauses.
  private static let idleMilliseconds = 5
  /// Much shorter pauses use so much of a small machine's processor that commits wait for it.
  private static let pauseSeconds = 0.002

  func noteCommit(at milliseconds: Int = RateLimiter.now) {
    newestCommit.store(milliseconds, ordering: .relaxed)
  }

  /// How many bytes the drive is given at a time, and how many bytes of earlier pieces may still be unwritten.
  func piece(
    _ pressure: WritePressure, at milliseconds: Int = RateLimiter.now
  ) -> (byteCount: Int, unwrittenByteCount: Int) {
    if pressure == .high { return (256 << 10, 8 << 20) }
    return (isIdle(at: milliseconds) ? 64 << 10 : 16 << 10, 0)
  }

  /// Pauses after a piece, unless there are no commits or another layer waits.
  func pause(
    _ pressure: WritePressure, at milliseconds: Int = RateLimiter.now, sleep: (Double) -> Void = Thread.sleep
  ) {
    if pressure == .none, !isIdle(at: milliseconds) { sleep(Self.pauseSeconds) }
  }

  private func isIdle(at milliseconds: Int) -> Bool {
    milliseconds - newestCommit.load(ordering: .relaxed) > Self.idleMilliseconds
  }

  static var now: Int { Int(ProcessInfo.processInfo.systemUptime * 1_000) }
}

/// What waits for the layer that is being written.
enum WritePressure {
  case none
  /// Another layer waits.
  case some
  /// Another layer waits, and so many events that commits would soon wait too.
  case high
}
