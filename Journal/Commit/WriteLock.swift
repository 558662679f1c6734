import Foundation
import Locks
import Synchronization

/// The write lock: runs one body at a time, and detects a commit inside a body.
///
/// A thread that has to wait blocks; a task suspends. A released lock is not handed to the next waiter: any running
/// thread or task may take it. Handing it over would cost a context switch for each body.
final class WriteLock<Guarded: Sendable>: Sendable {
  private let guarded: Lock<Guarded>
  /// The thread whose body is running; 0 if no body is running.
  private let owner = Atomic<UInt>(0)
  /// Tasks that found the lock taken.
  private let waiting = Lock(WaitingTasks())
  private let waitingCount = Atomic<Int>(0)

  init(_ guarded: Guarded) { self.guarded = Lock(guarded) }

  /// Waits for the lock and runs `body`.
  /// - Throws: ``JournalError`` with code `wrongUse` inside a body, which would deadlock; and what `body` throws.
  @inline(__always)
  func take<Result>(_ body: (inout Guarded) throws -> Result) throws -> Result {
    try checkIsNotInside()
    defer { wakeNext() }
    return try guarded.withLock { guarded in
      owner.store(currentThread(), ordering: .relaxed)
      defer { owner.store(0, ordering: .relaxed) }
      return try body(&guarded)
    }
  }

  /// Waits for the lock and runs `body`, for tasks: suspends during the wait.
  nonisolated(nonsending) func takeSuspending<Result>(_ body: (inout Guarded) throws -> Result) async throws
    -> Result
  {
    try checkIsNotInside()
    while true {
      let result = try takeIfFree(body)
      if let result { return result }
      await withCheckedContinuation { continuation in
        waiting.withLock { $0.append(continuation) }
        waitingCount.add(1, ordering: .sequentiallyConsistent)
        // The lock may have been released before this task was in the list.
        if guarded.withLockIfFree({ _ in true }) == true { wakeNext() }
      }
    }
  }

  /// Runs `body` if the lock is free; otherwise returns nil.
  @inline(__always)
  func takeIfFree<Result>(_ body: (inout Guarded) throws -> Result) throws -> Result? {
    var wasFree = false
    defer { if wasFree { wakeNext() } }
    return try guarded.withLockIfFree { guarded in
      wasFree = true
      owner.store(currentThread(), ordering: .relaxed)
      defer { owner.store(0, ordering: .relaxed) }
      return try body(&guarded)
    }
  }

  /// Wakes the task that has waited longest, which then tries to take the lock. Called without the lock.
  private func wakeNext() {
    guard waitingCount.load(ordering: .sequentiallyConsistent) > 0 else { return }
    guard let next = waiting.withLock({ $0.popFirst() }) else { return }
    waitingCount.subtract(1, ordering: .sequentiallyConsistent)
    next.resume()
  }

  private func checkIsNotInside() throws(JournalError) {
    if isTakenByThisThread {
      throw JournalError(
        .wrongUse, "a commit's body can't commit to the same journal; use the draft it was given")
    }
  }

  /// Whether the caller is inside a body.
  var isTakenByThisThread: Bool { owner.load(ordering: .relaxed) == currentThread() }

  private func currentThread() -> UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}

/// Tasks that wait, first come, first served. Each is appended and taken in O(1), amortized.
private struct WaitingTasks: Sendable {
  typealias Element = CheckedContinuation<Void, Never>

  /// The tasks that arrived last, in the order of arrival.
  private var newer: [Element] = []
  /// The tasks that arrived before `newer`, in reverse order: the next task to wake is the last element.
  private var older: [Element] = []

  mutating func append(_ task: Element) { newer.append(task) }

  mutating func popFirst() -> Element? {
    if older.isEmpty {
      swap(&older, &newer)
      older.reverse()
    }
    return older.popLast()
  }
}
