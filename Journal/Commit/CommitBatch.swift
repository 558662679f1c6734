import Dispatch
import Locks
import Synchronization

/// The commits that one flush makes durable together, and the threads that wait for them.
///
/// One thread leads it: it waits for the previous batch, closes this one, writes, and wakes the others. Commits that
/// arrive during a flush join the next batch: group commit. The entries to write are in the committer's queue.
///
/// Safe to use from any thread.
final class CommitBatch: Sendable {
  /// Signaled when the previous batch is done.
  private let turn = DispatchSemaphore(value: 0)
  private let isTurnGiven = Atomic<Bool>(false)
  /// Left when this batch is done. A group, because any number of threads can wait for it without a lock.
  private let done = DispatchGroup()
  private let outcome = Lock<Outcome>(Outcome())
  private let hasFailed = Atomic<Bool>(false)

  /// The commits that would have to run again if another node took the revisions of this batch.
  private let dependents = DispatchGroup()

  private struct Outcome {
    var error: JournalError?
    var isDone = false
    var resume: [CheckedContinuation<Void, any Error>] = []
  }

  /// Called when the first commit enters, before any waits.
  func begin() { done.enter() }

  /// Lets the leader of this batch write. Called once.
  func giveTurn() {
    isTurnGiven.store(true, ordering: .relaxed)
    turn.signal()
  }

  /// Whether no earlier batch is in progress any more.
  var hasTurn: Bool { isTurnGiven.load(ordering: .relaxed) }

  /// Called by the leader, once.
  /// - Returns: false if there is nothing to write any more, because the previous batch failed, and this one with it.
  func waitForTurn() -> Bool {
    turn.wait()
    return !hasFailed.load(ordering: .acquiring)
  }

  /// Called when the outcome of the batch is known.
  func finish(_ error: JournalError?) {
    let resume = outcome.withLock { outcome in
      outcome.error = error
      outcome.isDone = true
      return outcome.resume
    }
    hasFailed.store(error != nil, ordering: .releasing)
    done.leave()
    for continuation in resume { continuation.resume(with: Self.result(error)) }
  }

  /// Blocks until the batch is durable.
  /// - Throws: ``JournalError`` if that failed.
  func wait() throws(JournalError) {
    done.wait()
    // A batch nearly always succeeds, and then the many threads that wake at once need no lock.
    guard hasFailed.load(ordering: .acquiring) else { return }
    if let error = outcome.withLock({ $0.error }) { throw error }
  }

  /// Suspends until the batch is durable.
  nonisolated(nonsending) func wait() async throws {
    try await withCheckedThrowingContinuation { continuation in
      let now: Result<Void, any Error>? = outcome.withLock { outcome in
        if outcome.isDone { return Self.result(outcome.error) }
        outcome.resume.append(continuation)
        return nil
      }
      if let now { continuation.resume(with: now) }
    }
  }

  // MARK: Commits that may run again

  /// Called by a commit whose outcome depends on this batch.
  func join() { dependents.enter() }

  /// Called by each joined commit when it knows the outcome and, if it lost, has run again.
  func leave() { dependents.leave() }

  /// Waits until all joined commits have left.
  /// - Returns: false if the time ran out.
  @discardableResult
  func waitForDependents(until deadline: DispatchTime) -> Bool {
    dependents.wait(timeout: deadline) == .success
  }

  private static func result(_ error: JournalError?) -> Result<Void, any Error> {
    if let error { .failure(error) } else { .success(()) }
  }
}
