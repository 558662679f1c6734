import Locks

/// The values of a cache. When an erasure is noticed they are forgotten, because they may have what was erased.
///
/// Safe to use from any thread.
final class KeptValues<Value: Sendable>: Sendable {
  private struct Contents: Sendable {
    var values: [Value] = []
    var erasureCount = 0
  }

  private let contents = Lock(Contents())

  /// Calls `body` with the values, which it may change.
  /// - Parameter erasureCount: that of the journal, from before anything was read that `body` adds.
  func withValues<Result>(
    asOf erasureCount: Int, _ body: (inout [Value]) -> Result
  ) -> Result {
    contents.withLock { contents in
      if contents.erasureCount < erasureCount { contents = Contents(erasureCount: erasureCount) }
      if contents.erasureCount == erasureCount { return body(&contents.values) }
      // An erasure was noticed in the meantime.
      var none: [Value] = []
      return body(&none)
    }
  }

  /// Adds a value as the newest one, and forgets the oldest one if there are more than that.
  func keep(_ value: Value, atMost count: Int, asOf erasureCount: Int) {
    // The forgotten value is freed outside the lock.
    _ = withValues(asOf: erasureCount) { values -> Value? in
      values.append(value)
      return values.count > count ? values.removeFirst() : nil
    }
  }
}
