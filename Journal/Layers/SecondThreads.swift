import Foundation
import Locks
import Synchronization

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
