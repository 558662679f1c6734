import Dispatch
import Locks

/// The calls that are in progress on an open log. Closing refuses further ones and waits until all have left.
///
/// Safe to use from any thread.
package final class OpenCalls: Sendable {
  private let group = DispatchGroup()
  private let closed = Lock(false)

  package init() {}

  package var isClosed: Bool { closed.withLock { $0 } }

  /// False when the log is closed; else ``leave()`` must follow.
  package func enter() -> Bool {
    closed.withLock { isClosed in
      if !isClosed { group.enter() }
      return !isClosed
    }
  }

  package func leave() { group.leave() }

  /// Refuses all further calls.
  /// - Returns: false when that was so before.
  package func close() -> Bool {
    closed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
  }

  /// Returns when all have left.
  package func wait() { group.wait() }
}
