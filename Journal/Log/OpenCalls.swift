import Dispatch
import Locks

/// The calls that are in progress on an open log. Closing refuses further calls and waits until all have returned.
///
/// Safe to use from any thread.
package final class OpenCalls: Sendable {
  private let group = DispatchGroup()
  private let closed = Lock(false)

  package init() {}

  package var isClosed: Bool { closed.withLock { $0 } }

  /// Begins a call. Returns false if the log is closed; otherwise ``leave()`` must follow.
  package func enter() -> Bool {
    closed.withLock { isClosed in
      if !isClosed { group.enter() }
      return !isClosed
    }
  }

  package func leave() { group.leave() }

  /// Refuses all further calls.
  /// - Returns: false if the log was closed already.
  package func close() -> Bool {
    closed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
  }

  package var isIdle: Bool { group.wait(timeout: .now()) == .success }

  /// Waits until all calls have left.
  package func wait() { group.wait() }
}
