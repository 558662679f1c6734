import Dispatch
import Locks

/// A thread that runs jobs one after the other, at once or after a second. The first job starts the thread.
///
/// A Dispatch queue would wait forever for a thread that the system refuses, and Dispatch's timers end the process when
/// no descriptor is left. A `Worker` tells the caller that a job can't be run.
///
/// Safe to use from any thread.
final class Worker: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State: Sendable {
    var isRunning = false
    var isClosed = false
    var jobs: [Job] = []
    /// The delayed job, and when it is due; nil if there is none.
    var later: (job: Job, due: DispatchTime)?
  }

  private enum Step {
    case run(Job)
    case wait(until: DispatchTime)
    case end
  }

  private let state = Lock(State())
  private let change = TimedSemaphore(value: 0)

  /// Runs a job after all earlier jobs.
  /// - Returns: false if the system refuses the thread, so that the job will not run.
  func run(_ job: @escaping Job) -> Bool {
    handIn { $0.jobs.append(job) }
  }

  /// Runs a job after one second. Does nothing if a delayed job is waiting already.
  /// - Returns: false if the system refuses the thread, so that the job will not run.
  func runLater(_ job: @escaping Job) -> Bool {
    if state.withLock({ $0.later != nil }) { return true }
    return handIn { $0.later = (job, .now() + .seconds(1)) }
  }

  /// Ends the thread after its jobs. A delayed job does not run.
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
      // After a spurious wakeup, the loop checks the time again.
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
