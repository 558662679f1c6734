import Dispatch
import Locks

/// The calls that are in progress on an open log. Closing refuses further ones and waits until all have left.
///
/// Safe to use from many threads.
final class OpenCalls: Sendable {
  private let group = DispatchGroup()
  private let isClosed = Lock(false)

  /// False when the log is closed; else ``leave()`` must follow.
  func enter() -> Bool {
    isClosed.withLock { isClosed in
      if !isClosed { group.enter() }
      return !isClosed
    }
  }

  func leave() { group.leave() }

  /// Refuses all further calls.
  /// - Returns: false when that was so before.
  func close() -> Bool {
    isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
  }

  /// Returns when all have left.
  func wait() { group.wait() }
}
