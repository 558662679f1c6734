import Foundation
import Locks
import Synchronization

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

  private static func lowerPriority() {
    #if os(Linux)
      // On Linux this affects only the calling thread.
      _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    #else
      _ = pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
    #endif
  }
}

/// The threads that read ahead: one less than the processors, because more would only take turns.
enum SecondThreads {
  private static let count = Atomic<Int>(0)

  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let isFree = count.add(1, ordering: .relaxed).newValue < ProcessInfo.processInfo.activeProcessorCount
    let isStarted = isFree && Threads.start { run(body) }
    if !isStarted { count.subtract(1, ordering: .relaxed) }
    return isStarted
  }

  private static func run(_ body: () -> Void) {
    body()
    count.subtract(1, ordering: .relaxed)
  }
}
