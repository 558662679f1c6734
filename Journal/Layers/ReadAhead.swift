import Foundation
import Locks

/// Transforms the parts of a sequence on the caller's thread and on a second one, and returns the results in order.
///
/// For long iterations in which transforming takes most of the time. Used by one thread. The second thread ends when
/// this object is released.
final class ReadAhead<Part: Sendable, Output: Sendable> {
  private let work: Work<Part, Output>

  /// - Parameters:
  ///   - next: returns the next part, nil at the end. Called by one thread at a time.
  ///   - transform: called by both threads.
  /// - Returns: nil if no second thread is free.
  init?(_ next: sending @escaping () -> Part?, _ transform: @escaping @Sendable (Part) -> Output) {
    let work = Work(next, transform)
    let isStarted = SecondThreads.start { work.run() }
    guard isStarted else { return nil }
    self.work = work
  }

  deinit { work.end() }

  /// The next result, nil at the end. The caller should release the previous result first.
  func next() -> Output? { work.next() }
}

private final class Work<Part: Sendable, Output: Sendable>: Sendable {
  private struct Result {
    let output: Output
    let isOfSecondThread: Bool
  }

  private struct State {
    let next: () -> Part?
    /// How many parts were taken from the sequence, and how many results were returned.
    var takenCount = 0
    var returnedCount = 0
    /// The results that are not returned yet, by their positions.
    var results: [Int: Result] = [:]
    var current: Result?
    /// Results of the second thread that the caller no longer needs. That thread releases them itself: memory that one
    /// thread allocates and another frees makes both wait for a lock of the allocator.
    var used: [Result] = []
    var isAtEnd = false
  }

  private enum Step: Sendable {
    case transform(Part, position: Int)
    case finish(Output?)
    case wait
  }

  private let state: Lock<State>
  private let transform: @Sendable (Part) -> Output
  private let change = NSCondition()

  /// The most parts that are taken and not returned yet.
  private static var window: Int { 4 }

  init(_ next: sending @escaping () -> Part?, _ transform: @escaping @Sendable (Part) -> Output) {
    state = Lock(State(next: next))
    self.transform = transform
  }

  func run() {
    while case .transform(let part, let position) = step({ $0.isAtEnd ? .finish(nil) : nil }) {
      let result = Result(output: transform(part), isOfSecondThread: true)
      let used = state.withLock { state in
        state.results[position] = result
        defer { state.used = [] }
        return state.used
      }
      signal()
      _ = consume used
    }
  }

  func next() -> Output? {
    while true {
      let step = step { state in
        if let current = state.current.take(), current.isOfSecondThread { state.used.append(current) }
        if let result = state.results.removeValue(forKey: state.returnedCount) {
          state.returnedCount += 1
          state.current = result
          return .finish(result.output)
        }
        return state.isAtEnd && state.returnedCount == state.takenCount ? .finish(nil) : nil
      }
      switch step {
      case .transform(let part, let position):
        let result = Result(output: transform(part), isOfSecondThread: false)
        state.withLock { $0.results[position] = result }
      case .finish(let result):
        signal()
        return result
      case .wait: break
      }
    }
  }

  func end() {
    state.withLock { $0.isAtEnd = true }
    signal()
  }

  /// The next step of a thread: what `first` returns, or the next part. Waits while there is neither.
  private func step(_ first: (inout State) -> Step?) -> Step {
    change.lock()
    defer { change.unlock() }
    while true {
      let step = state.withLock { state -> Step in
        if let step = first(&state) { return step }
        if state.isAtEnd || state.takenCount - state.returnedCount >= Self.window { return .wait }
        guard let part = state.next() else {
          state.isAtEnd = true
          return first(&state) ?? .wait
        }
        state.takenCount += 1
        return .transform(part, position: state.takenCount - 1)
      }
      if case .wait = step { change.wait() } else { return step }
    }
  }

  private func signal() {
    change.lock()
    change.broadcast()
    change.unlock()
  }
}
