package import Foundation

/// A value that one thread at a time may touch.
///
/// ```swift
/// let names = Lock<Set<String>>([])
/// names.withLock { $0.insert("Ana") }
/// ```
///
/// 1. The value is reached through ``withLock(_:)`` only, and what it is leaves the lock only if it can be sent.
/// 2. What one caller did happens before what the next one does.
/// 3. It is not fair: who runs when the lock is let go may take it, so nobody has to be woken first. With the
///    standard library's `Mutex`, which hands itself to the thread that waits longest, commits of many threads
///    took turns at the pace of the scheduler.
/// 4. Taking it twice on one thread never returns.
///
/// A POSIX mutex, because the thread sanitizer sees those. The standard library's `Mutex` works inside a
/// library that isn't instrumented, so on Linux the sanitizer reports all that one guards as races.
///
/// Safe to use from any thread.
@safe
package struct Lock<Value: ~Copyable>: ~Copyable {
  // Both stay where they are until `deinit`: a mutex must not be moved.
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline let value: UnsafeMutablePointer<Value>

  /// - Parameter value: what is to be guarded; nobody else may hold on to it.
  @inlinable
  package init(_ value: consuming sending Value) {
    unsafe self.mutex = .allocate(capacity: 1)
    unsafe self.value = .allocate(capacity: 1)
    unsafe self.mutex.initialize(to: pthread_mutex_t())
    unsafe self.value.initialize(to: value)
    let failure = unsafe pthread_mutex_init(mutex, nil)
    precondition(failure == 0, "the system has no memory for a lock")
  }

  @inlinable
  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deinitialize(count: 1)
    unsafe mutex.deallocate()
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
  }

  /// Waits until nobody else has the value, and lends it to `body`.
  ///
  /// What `body` does keeps all others waiting; it must not take the same lock.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws; the value stays as `body` left it.
  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&value.pointee)
  }

  /// The same without waiting.
  /// - Returns: what `body` returns, or nil if somebody else has the value; `body` is then not called.
  @inlinable
  package borrowing func withLockIfFree<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    guard unsafe pthread_mutex_trylock(mutex) == 0 else { return nil }
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&value.pointee)
  }
}

// The value is only reached with the mutex held.
extension Lock: @unchecked Sendable where Value: ~Copyable {}
