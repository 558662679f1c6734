import Dispatch
import Foundation
import Locks

/// The seconds that a piece of work takes.
func timed(_ work: () throws -> Void) rethrows -> Double {
  try ContinuousClock().measure(work) / .seconds(1)
}

/// Runs `work` on separate threads at once, and returns the seconds from the moment all are ready until the last has
/// returned.
/// - Throws: the first error of a caller, after all have returned.
func timedThreads(_ callers: Int, _ work: @escaping @Sendable (_ caller: Int) throws -> Void) throws -> Double
{
  let ready = DispatchGroup()
  let done = DispatchGroup()
  let gate = DispatchSemaphore(value: 0)
  let failure = FirstFailure()
  for caller in 0..<callers {
    ready.enter()
    done.enter()
    Thread.detachNewThread {
      ready.leave()
      gate.wait()
      failure.catching { try work(caller) }
      done.leave()
    }
  }
  ready.wait()
  let seconds = timed {
    for _ in 0..<callers { gate.signal() }
    done.wait()
  }
  try failure.rethrow()
  return seconds
}

/// Runs `work` as tasks at once, and returns the seconds until the last has returned.
func timedTasks(
  _ callers: Int, _ work: @escaping @Sendable (_ caller: Int) async throws -> Void
) async throws -> Double {
  let clock = ContinuousClock()
  let start = clock.now
  try await withThrowingTaskGroup(of: Void.self) { group in
    for caller in 0..<callers {
      group.addTask { try await work(caller) }
    }
    try await group.waitForAll()
  }
  return start.duration(to: clock.now) / .seconds(1)
}

/// Keeps the first of the errors that several threads throw.
private final class FirstFailure: Sendable {
  private let error = Lock<(any Error)?>(nil)

  func catching(_ body: () throws -> Void) {
    do {
      try body()
    } catch let caught {
      error.withLock { $0 = $0 ?? caught }
    }
  }

  func rethrow() throws {
    if let error = error.withLock({ $0 }) { throw error }
  }
}
