import Dispatch
import Foundation
import Locks

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Runs work on a separate thread of low priority. The thread ends with the work, because a thread of a pool would keep
/// its low priority.
enum BackgroundThread {
  /// - Returns: whether the system had a thread. If not, `body` never runs.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    Threads.start {
      lowerPriority()
      body()
    }
  }

  /// Runs work in the same way and waits for it. If the system has no such thread, the caller's thread runs it.
  static func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws(JournalError) -> Value
  ) throws(JournalError) -> Value {
    let result = Lock<Result<Value, JournalError>?>(nil)
    let done = DispatchSemaphore(value: 0)
    let isStarted = start {
      let outcome = Result(catching: body)
      result.withLock { $0 = outcome }
      done.signal()
    }
    guard isStarted else { return try body() }
    done.wait()
    guard let outcome = result.withLock({ $0 }) else { preconditionFailure("the work has ended") }
    return try outcome.get()
  }

  private static func lowerPriority() {
    #if os(Linux)
      // On Linux this affects only the calling thread.
      _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    #else
      _ = pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
    #endif
  }
}
