import Locks

/// A cache of the most recently used values, for the next page of a long answer or another view of a state. The first
/// value that is kept after an erasure replaces all others, because they may have erased content.
///
/// Safe to use from any thread.
final class RecentValues<Key: Equatable & Sendable, Value: Sendable>: Sendable {
  private struct Contents: Sendable {
    /// The most recently used value is last.
    var values: [(key: Key, value: Value)] = []
    var erasureCount = 0
  }

  private let limit: Int
  private let contents = Lock(Contents())

  init(atMost limit: Int) { self.limit = limit }

  /// The cached value of a key or, if there is none, the value that `make` computes.
  /// - Parameter erasureCount: the journal's `erasureCount` before anything that `make` uses was read.
  func value(of key: Key, asOf erasureCount: Int, _ make: () throws -> Value) rethrows -> Value {
    if let known = known(key, asOf: erasureCount) { return known }
    let value = try make()
    keep(value, of: key, asOf: erasureCount)
    return value
  }

  func known(_ key: Key, asOf erasureCount: Int) -> Value? {
    contents.withLock { contents in
      guard contents.erasureCount == erasureCount,
        let index = contents.values.lastIndex(where: { $0.key == key })
      else { return nil }
      contents.values.append(contents.values.remove(at: index))
      return contents.values.last?.value
    }
  }

  func keep(_ value: Value, of key: Key, asOf erasureCount: Int) {
    // Forgotten values are freed outside the lock.
    _ = contents.withLock { contents -> [(key: Key, value: Value)] in
      // The value was computed before an erasure, so it is not kept.
      if contents.erasureCount > erasureCount { return [] }
      var forgotten: [(key: Key, value: Value)] = []
      if contents.erasureCount < erasureCount {
        swap(&forgotten, &contents.values)
        contents.erasureCount = erasureCount
      }
      // Another request may have computed the value at the same time.
      if let index = contents.values.firstIndex(where: { $0.key == key }) {
        forgotten.append(contents.values.remove(at: index))
      }
      contents.values.append((key, value))
      if contents.values.count > limit { forgotten.append(contents.values.removeFirst()) }
      return forgotten
    }
  }
}
