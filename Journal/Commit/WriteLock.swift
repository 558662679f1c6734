import Foundation
import Locks
import Synchronization

/// Lets one commit's body run at a time, and finds out when a body tries to commit itself.
final class WriteLock<Guarded: Sendable>: Sendable {
  private let guarded: Lock<Guarded>
  /// The thread whose body is running, 0 when there is none.
  private let owner = Atomic<UInt>(0)

  init(_ guarded: Guarded) { self.guarded = Lock(guarded) }

  /// Waits for the turn and runs `body` alone.
  /// - Throws: ``JournalError`` with code `wrongUse` inside another body of the same thread, which would
  ///   wait for itself; and what `body` throws.
  func take<Result>(_ body: (inout Guarded) throws -> Result) throws -> Result {
    guard !isTakenByThisThread else {
      throw JournalError(
        .wrongUse, "a commit's body can't commit to the same journal; use the draft it was given")
    }
    return try guarded.withLock { guarded in
      owner.store(currentThread(), ordering: .relaxed)
      defer { owner.store(0, ordering: .relaxed) }
      return try body(&guarded)
    }
  }

  /// Whether the caller is inside of a body.
  var isTakenByThisThread: Bool { owner.load(ordering: .relaxed) == currentThread() }

  private func currentThread() -> UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
