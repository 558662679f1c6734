import Dispatch
import Locks
import Synchronization

/// The commits that one flush makes durable together, and the threads that wait for them.
///
/// One thread leads a batch: it waits for the previous batch, takes this one from the queue, writes it, and wakes the
/// waiting threads. Commits that arrive during a flush join the next batch (group commit). The ``CommitQueue`` has the
/// entries.
///
/// Safe to use from any thread.
final class CommitBatch: Sendable {
  /// Signaled when the previous batch is done.
  private let turn = DispatchSemaphore(value: 0)
  private let isTurnGiven = Atomic<Bool>(false)
  /// Entered until this batch is done. Any number of threads can wait for a dispatch group without a lock.
  private let done = DispatchGroup()
  private let outcome = Lock<Outcome>(Outcome())
  private let hasFailed = Atomic<Bool>(false)

  private struct Outcome {
    var failure: CommitFailure?
    var isDone = false
    var waiting: [CheckedContinuation<CommitFailure?, Never>] = []
  }

  /// Called when the first commit joins this batch, before any thread waits for the batch.
  func begin() { done.enter() }

  /// Lets the leader of this batch write. Called once.
  func giveTurn() {
    isTurnGiven.store(true, ordering: .relaxed)
    turn.signal()
  }

  /// Whether the leader of this batch may write: earlier batches were sent or written.
  var hasTurn: Bool { isTurnGiven.load(ordering: .relaxed) }

  /// Waits until this batch may be written. Called by the leader, once.
  /// - Returns: false if there is nothing to write, because an earlier batch failed and this one was withdrawn.
  func waitForTurn() -> Bool {
    turn.wait()
    return !hasFailed.load(ordering: .acquiring)
  }

  /// Called when the outcome of the batch is known.
  /// - Parameter failure: nil if the batch is durable.
  func finish(_ failure: CommitFailure?) {
    let waiting = outcome.withLock { outcome in
      outcome.failure = failure
      outcome.isDone = true
      return outcome.waiting
    }
    hasFailed.store(failure != nil, ordering: .releasing)
    done.leave()
    for continuation in waiting { continuation.resume(returning: failure) }
  }

  /// Blocks until the outcome of the batch is known.
  /// - Returns: why the batch failed; nil if it is durable.
  func wait() -> CommitFailure? {
    done.wait()
    // A batch nearly always succeeds, and then the many threads that wake at once need no lock.
    guard hasFailed.load(ordering: .acquiring) else { return nil }
    return outcome.withLock { $0.failure }
  }

  nonisolated(nonsending) func wait() async -> CommitFailure? {
    await withCheckedContinuation { continuation in
      let known: CommitFailure?? = outcome.withLock { outcome in
        if outcome.isDone { return .some(outcome.failure) }
        outcome.waiting.append(continuation)
        return nil
      }
      if let known { continuation.resume(returning: known) }
    }
  }
}
