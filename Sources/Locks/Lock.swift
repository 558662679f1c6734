public import Foundation

/// A value that one thread at a time can access.
///
/// ```swift
/// let names = Lock<Set<String>>([])
/// names.withLock { $0.insert("Ana") }
/// ```
///
/// 1. The value is accessed only in the closures of the methods below, and leaves the lock only if it is sendable.
/// 2. The accesses of one caller happen before those of the next.
/// 3. The lock is not fair: a running thread can take a released lock before a waiting one. The standard library's
///    `Mutex` passes the lock to the thread that has waited longest. With `Mutex`, the threads of many commits took
///    turns at the pace of the scheduler.
/// 4. Taking the lock twice on one thread deadlocks.
/// 5. With glibc, a waiting thread first spins for about a microsecond, because most locks are held for less time than
///    a context switch takes. Spinning made commits of 64 tasks a fifth faster.
///
/// `Lock` is public, although no app sees this module, because only public code is specialized in other modules.
///
/// The lock is a POSIX mutex, which the thread sanitizer knows. The standard library's `Mutex` is in a library without
/// instrumentation, so on Linux the sanitizer reports every guarded access as a race.
///
/// Safe to use from any thread.
@safe
public struct Lock<Value: ~Copyable>: ~Copyable {
  // A mutex must not be moved, so it has its own memory.
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline let value: UnsafeMutablePointer<Value>

  /// - Parameter value: the guarded value, which must not be referenced elsewhere.
  @inlinable
  public init(_ value: consuming sending Value) {
    unsafe self.mutex = .allocate(capacity: 1)
    unsafe self.value = .allocate(capacity: 1)
    unsafe self.mutex.initialize(to: pthread_mutex_t())
    unsafe self.value.initialize(to: value)
    #if canImport(Glibc)
      var attributes = pthread_mutexattr_t()
      unsafe pthread_mutexattr_init(&attributes)
      unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
      let failure = unsafe pthread_mutex_init(mutex, &attributes)
    #else
      let failure = unsafe pthread_mutex_init(mutex, nil)
    #endif
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

  /// Waits for the lock and calls `body` with the value.
  ///
  /// While `body` runs, all other callers wait. `body` must not take the same lock.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws; the value stays as `body` left it.
  @inlinable @inline(__always)
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    // Inlined, because a generic call would look up types at run time, which takes longer than the lock.
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&value.pointee)
  }

  /// Calls `body` with the value if the lock is free. Never waits.
  /// - Returns: what `body` returns, or nil if the lock is taken; `body` is then not called.
  @inlinable @inline(__always)
  public borrowing func withLockIfFree<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    guard unsafe pthread_mutex_trylock(mutex) == 0 else { return nil }
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&value.pointee)
  }
}

// The value is accessed only with the mutex held.
extension Lock: @unchecked Sendable where Value: ~Copyable {}
