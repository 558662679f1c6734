import Dispatch
import Locks

/// A thread that runs jobs one after the other, now or in a second. It is started when the first job comes, and
/// ends with ``close()``.
///
/// A queue of Dispatch's would wait without end for a thread that the system refuses, and its timers end the
/// process when no descriptor is left. Here the caller is told when a job can't be run.
///
/// Safe to use from any thread.
final class Worker: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State: Sendable {
    var isRunning = false
    var isClosed = false
    var jobs: [Job] = []
    /// What is to be done later, and when.
    var later: (job: Job, due: DispatchTime)?
  }

  private enum Step {
    case run(Job)
    case wait(until: DispatchTime)
    case end
  }

  private let state = Lock(State())
  private let change = DispatchSemaphore(value: 0)

  /// Has a job run after those that were handed in before.
  /// - Returns: false when there is no thread for it.
  func run(_ job: @escaping Job) -> Bool {
    handIn { $0.jobs.append(job) }
  }

  /// Has a job run in a second; nothing happens when there is one that waits already.
  /// - Returns: false when there is no thread for it.
  func runLater(_ job: @escaping Job) -> Bool {
    if state.withLock({ $0.later != nil }) { return true }
    return handIn { $0.later = (job, .now() + .seconds(1)) }
  }

  /// Lets the thread end after the jobs that it has. What was to be done later is not done.
  func close() {
    state.withLock { state in
      state.later = nil
      state.isClosed = true
    }
    change.signal()
  }

  private func handIn(_ note: (inout State) -> Void) -> Bool {
    let isTaken = state.withLock { state in
      if !state.isRunning {
        guard !state.isClosed, Threads.start({ self.work() }) else { return false }
        state.isRunning = true
      }
      note(&state)
      return true
    }
    if isTaken { change.signal() }
    return isTaken
  }

  private func work() {
    while true {
      switch state.withLock({ Self.next(&$0) }) {
      case .run(let job): job()
      // Awake without need, it looks again.
      case .wait(let time): _ = change.wait(timeout: time)
      case .end: return
      }
    }
  }

  private static func next(_ state: inout State) -> Step {
    if !state.jobs.isEmpty { return .run(state.jobs.removeFirst()) }
    if let later = state.later {
      guard later.due <= .now() else { return .wait(until: later.due) }
      state.later = nil
      return .run(later.job)
    }
    guard state.isClosed else { return .wait(until: .distantFuture) }
    state.isRunning = false
    return .end
  }
}
