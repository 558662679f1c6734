package import Dispatch
import Locks

/// The newest revision of an open log, and the threads and tasks that wait for a newer one.
///
/// Safe to use from any thread.
package final class NewestRevision: Sendable {
  private struct State: Sendable {
    var revision: Revision
    var isClosed = false
    var nextKey = 0
    /// Closures that wake the waiting threads and tasks.
    var waiting: [Int: @Sendable () -> Void] = [:]

    mutating func key() -> Int {
      nextKey += 1
      return nextKey
    }
  }

  private let state: Lock<State>

  package init(_ revision: Revision) { state = Lock(State(revision: revision)) }

  package var revision: Revision { state.withLock { $0.revision } }

  /// Raises the newest revision; an older one changes nothing.
  package func raise(to revision: Revision) { wakeAll { $0.revision = max($0.revision, revision) } }

  /// Ends all waits, now and later.
  package func close() { wakeAll { $0.isClosed = true } }

  /// Makes all waiting threads call `goesOn` again.
  package func wake() { wakeAll { _ in } }

  private func wakeAll(_ change: (inout State) -> Void) {
    let waiting = state.withLock { state in
      change(&state)
      defer { state.waiting = [:] }
      return state.waiting
    }
    for wake in waiting.values { wake() }
  }

  /// Waits until the newest revision is above `revision` or the time has passed, and returns it; nil after ``close()``,
  /// or if `goesOn` returns false.
  /// - Parameter goesOn: whether to continue waiting. Called with a lock held, and again after each ``wake()``.
  package func wait(
    after revision: Revision, atMost time: Duration, while goesOn: () -> Bool = { true }
  ) -> Revision? {
    let deadline = DispatchTime.now() + time.timeInterval
    let isWoken = TimedSemaphore(value: 0)
    while true {
      let isOver = DispatchTime.now() >= deadline
      let (found, key) = state.withLock { state -> (Revision?, Int?) in
        if state.isClosed || !goesOn() { return (nil, nil) }
        if state.revision > revision || isOver { return (state.revision, nil) }
        let key = state.key()
        state.waiting[key] = { isWoken.signal() }
        return (nil, key)
      }
      guard let key else { return found }
      if isWoken.wait(timeout: deadline) == .timedOut { state.withLock { $0.waiting[key] = nil } }
    }
  }

  /// Suspends the task until the newest revision is above `revision`. Returns false if there is none after ``close()``,
  /// or if the task was cancelled.
  func wait(after revision: Revision) async -> Bool {
    let key = state.withLock { $0.key() }
    while !Task.isCancelled {
      let (newest, isClosed) = state.withLock { ($0.revision, $0.isClosed) }
      if newest > revision { return true }
      if isClosed { return false }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isOver = state.withLock { state in
            if state.isClosed || state.revision > revision || Task.isCancelled { return true }
            state.waiting[key] = { continuation.resume() }
            return false
          }
          if isOver { continuation.resume() }
        }
      } onCancel: {
        state.withLock { $0.waiting.removeValue(forKey: key) }?()
      }
    }
    return false
  }
}

extension Duration {
  /// This duration for Dispatch, which counts nanoseconds in 64 bits. A timeout beyond 292 years never ends.
  package var timeInterval: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    let (nanoseconds, overflows) = Int(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflows
      ? (seconds < 0 ? .nanoseconds(0) : .never)
      : .nanoseconds(nanoseconds + Int(attoseconds / 1_000_000_000))
  }
}
