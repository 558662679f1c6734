import Locks

/// The newest durable version, with the threads and tasks that wait for a newer one.
///
/// Reading holds a lock only to copy a few references, so it never waits for a commit.
final class Published<State: EventSourced>: Sendable {
  private let newest: Lock<Version<State>>
  /// For waiting threads.
  private let revision: NewestRevision
  private let waiting = Lock(Waiting())

  private struct Waiting: Sendable {
    var isEnded = false
    var isClosed = false
    var failure: JournalError?
    var nextKey = 0
    var continuations: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  init(_ version: Version<State>) {
    newest = Lock(version)
    revision = NewestRevision(version.revision)
  }

  var version: Version<State> { newest.withLock { $0 } }

  func publish(_ version: Version<State>) {
    // The old version is released outside of the lock, because freeing its nodes can take a while.
    let old = newest.withLock { newest in
      let old = newest
      newest = version
      return old
    }
    _ = old
    revision.raise(to: version.revision)
    resumeAll { _ in }
  }

  /// Ends all waits, now and later: the journal was closed.
  func close() {
    revision.close()
    resumeAll { ($0.isEnded, $0.isClosed) = (true, true) }
  }

  /// Ends all waits, now and later: what other processes commit can't be read any more. What was published before can.
  func end(because failure: JournalError) {
    resumeAll { ($0.isEnded, $0.failure) = (true, failure) }
    // After the failure is set, which waiting threads ask for then.
    revision.close()
  }

  var isClosed: Bool { waiting.withLock { $0.isClosed } }

  /// Why waits have ended before the journal was closed.
  var failure: JournalError? { waiting.withLock { $0.failure } }

  private func resumeAll(_ change: (inout Waiting) -> Void) {
    let continuations = waiting.withLock { waiting in
      change(&waiting)
      defer { waiting.continuations = [:] }
      return waiting.continuations
    }
    for continuation in continuations.values { continuation.resume() }
  }

  /// Waits on the caller's thread for a version newer than `revision`.
  /// - Parameter goesOn: whether to go on waiting; ``wakeThreads()`` has it called again.
  /// - Returns: the newest revision, which is not newer if the time ran out; nil if waits have ended, or it is not to wait
  ///   any more.
  func wait(
    after revision: Revision, atMost time: Duration, while goesOn: () -> Bool = { true }
  ) -> Revision? {
    self.revision.wait(after: revision, atMost: time, while: goesOn)
  }

  /// Has all waiting threads ask again whether to go on waiting.
  func wakeThreads() { revision.wake() }

  /// Suspends until there is a version newer than `revision`; returns false if there is none and waits have ended, or if
  /// the task was cancelled.
  func wait(after revision: Revision) async -> Bool {
    let key = waiting.withLock { waiting in
      waiting.nextKey += 1
      return waiting.nextKey
    }
    while !Task.isCancelled {
      if version.revision > revision { return true }
      if waiting.withLock({ $0.isEnded }) { return false }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          // A version is published before waiting tasks are resumed. So either this task sees the version, or the
          // publisher sees this task.
          let goesOn = waiting.withLock { waiting in
            if waiting.isEnded || version.revision > revision || Task.isCancelled { return true }
            waiting.continuations[key] = continuation
            return false
          }
          if goesOn { continuation.resume() }
        }
      } onCancel: {
        waiting.withLock { $0.continuations.removeValue(forKey: key) }?.resume()
      }
    }
    return false
  }
}
