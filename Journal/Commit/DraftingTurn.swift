import Foundation
import Synchronization

/// Lets one commit's body run at a time, and finds out when a body tries to commit itself.
final class DraftingTurn<Guarded: Sendable>: Sendable {
  private let guarded: Mutex<Guarded>
  /// The thread whose body is running, 0 when there is none.
  private let owner = Atomic<UInt>(0)

  init(_ guarded: Guarded) { self.guarded = Mutex(guarded) }

  /// Waits for the turn and runs `body` alone.
  /// - Throws: ``JournalError`` with code `wrongUse` inside another body of the same thread, which would
  ///   wait for itself; and what `body` throws.
  func take<Result>(_ body: (inout Guarded) throws -> Result) throws -> Result {
    let thread = currentThread()
    guard owner.load(ordering: .relaxed) != thread else {
      throw JournalError(
        .wrongUse, "a commit's body can't commit to the same journal; use the draft it was given")
    }
    // A body takes microseconds, and going to sleep takes more: when many wake at once, each would hand the
    // lock to the next asleep. So the one before is given a moment to end.
    for _ in 0..<500 {
      if owner.load(ordering: .relaxed) == 0 { break }
      sched_yield()
    }
    return try guarded.withLock { guarded in
      owner.store(thread, ordering: .relaxed)
      defer { owner.store(0, ordering: .relaxed) }
      return try body(&guarded)
    }
  }

  private func currentThread() -> UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
