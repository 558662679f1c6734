import Foundation
import Synchronization

/// Makes the writing of layers leave the drive to commits, by a pause after each piece.
///
/// A commit's flush waits for what the drive was given before it.
///
/// Safe to use from any thread.
final class WritePace: Sendable {
  /// The bytes that commits have written, and the part of them for which layers were written.
  private let committedByteCount = Atomic<Int>(0)
  private let settledByteCount = Atomic<Int>(0)
  /// The bytes of the newest commits that were flushed together, and of those during the newest pause.
  private let newestByteCount = Atomic<Int>(0)
  private let pauseByteCount = Atomic<Int>(0)
  /// The system's uptime in milliseconds at the newest commit.
  private let newestCommit = Atomic<Int>(.min / 2)

  /// If the newest commit is older than this, there are no commits to make room for.
  private static let idleMilliseconds = 5
  /// How many bytes layers may write for each byte of commits. They write five in all, so they keep up.
  private static let share = 6
  /// The longest pause. Shorter steps take so much of a small machine that commits wait for that.
  private static let stepCount = 2
  private static let stepSeconds = 0.001

  /// Notes that a commit has written to the drive.
  func note(committed byteCount: Int, at milliseconds: Int = WritePace.now) {
    committedByteCount.add(byteCount, ordering: .relaxed)
    newestByteCount.store(byteCount, ordering: .relaxed)
    newestCommit.store(milliseconds, ordering: .relaxed)
  }

  /// How many bytes the drive is given at a time.
  var pieceByteCount: Int { isIdle(at: Self.now) ? 64 << 10 : 32 << 10 }

  /// Pauses after a piece, for two milliseconds at most, unless there are no commits or these write so much that layers
  /// must keep up.
  func pause(
    afterWriting byteCount: Int, at milliseconds: Int = WritePace.now, sleep: (Double) -> Void = Thread.sleep
  ) {
    if isIdle(at: milliseconds) { return }
    let committed = committedByteCount.load(ordering: .relaxed)
    // Of what commits wrote before, a flush or a pause counts. Otherwise a layer would be written without pauses
    // because of all the commits since the layer before.
    let counted = max(newestByteCount.load(ordering: .relaxed), pauseByteCount.load(ordering: .relaxed))
    settledByteCount.store(
      max(settledByteCount.load(ordering: .relaxed), committed - counted), ordering: .relaxed)
    if settle(byteCount) { return }
    defer {
      pauseByteCount.store(committedByteCount.load(ordering: .relaxed) - committed, ordering: .relaxed)
    }
    for _ in 0..<Self.stepCount {
      sleep(Self.stepSeconds)
      if settle(byteCount) { return }
    }
    settledByteCount.store(committedByteCount.load(ordering: .relaxed), ordering: .relaxed)
  }

  /// Whether commits have written enough for a piece of a layer. Layers are written by one thread at a time.
  private func settle(_ byteCount: Int) -> Bool {
    let part = byteCount / Self.share
    let settled = settledByteCount.load(ordering: .relaxed)
    guard committedByteCount.load(ordering: .relaxed) - settled >= part else { return false }
    settledByteCount.store(settled + part, ordering: .relaxed)
    return true
  }

  private func isIdle(at milliseconds: Int) -> Bool {
    milliseconds - newestCommit.load(ordering: .relaxed) > Self.idleMilliseconds
  }

  static var now: Int { Int(ProcessInfo.processInfo.systemUptime * 1_000) }
}
