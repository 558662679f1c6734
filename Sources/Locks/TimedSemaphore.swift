package import Dispatch

#if canImport(Darwin)
  package typealias TimedSemaphore = DispatchSemaphore
#else
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A semaphore for waits with a time limit, with the methods of `DispatchSemaphore`.
  ///
  /// On Linux, Dispatch's semaphore waits until a date: if the clock is set back by an hour, the wait takes an hour
  /// longer. This semaphore uses the monotonic clock.
  ///
  /// Safe to use from any thread.
  @safe
  package final class TimedSemaphore: Sendable {
    @unsafe private struct State {
      var mutex = unsafe pthread_mutex_t()
      var change = pthread_cond_t()
      var count: Int
    }

    // Safe to share: the count is accessed only with the mutex held, and the address is valid until `deinit`.
    private nonisolated(unsafe) let state: UnsafeMutablePointer<State>

    package init(value: Int) {
      unsafe state = .allocate(capacity: 1)
      unsafe state.initialize(to: State(count: value))
      var attributes = pthread_condattr_t()
      unsafe pthread_condattr_init(&attributes)
      unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      let failures = unsafe (
        pthread_mutex_init(&state.pointee.mutex, nil), pthread_cond_init(&state.pointee.change, &attributes)
      )
      precondition(failures == (0, 0), "the system has no memory for a semaphore")
    }

    deinit {
      unsafe pthread_cond_destroy(&state.pointee.change)
      unsafe pthread_mutex_destroy(&state.pointee.mutex)
      unsafe state.deallocate()
    }

    package func signal() {
      unsafe pthread_mutex_lock(&state.pointee.mutex)
      unsafe state.pointee.count += 1
      unsafe pthread_cond_signal(&state.pointee.change)
      unsafe pthread_mutex_unlock(&state.pointee.mutex)
    }

    package func wait(timeout deadline: DispatchTime) -> DispatchTimeoutResult {
      let nanoseconds = deadline.uptimeNanoseconds
      var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
      unsafe pthread_mutex_lock(&state.pointee.mutex)
      defer { unsafe pthread_mutex_unlock(&state.pointee.mutex) }
      while unsafe state.pointee.count == 0 {
        let failure = unsafe pthread_cond_timedwait(&state.pointee.change, &state.pointee.mutex, &time)
        if failure != 0 { return .timedOut }
      }
      unsafe state.pointee.count -= 1
      return .success
    }
  }
#endif
