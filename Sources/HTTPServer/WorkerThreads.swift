import Dispatch
import Locks

/// Threads that each work for an object, and whose end a caller can wait for.
///
/// When ``wait()`` returns, no thread has a reference to its worker. So the thread that releases a worker afterwards
/// also frees its contents, such as an open journal.
///
/// Safe to use from any thread.
package final class WorkerThreads: Sendable {
  private let running = DispatchGroup()

  package init() {}

  /// Starts a thread that calls `body` with the worker, and ends.
  /// - Parameter body: must not capture the worker, or anything that refers to it.
  /// - Returns: false if the system refuses a thread; `body` then never runs.
  package func start<Worker: AnyObject & Sendable>(
    for worker: Worker, _ body: @escaping @Sendable (Worker) -> Void
  ) -> Bool {
    running.enter()
    let isStarted = Threads.start { [weak worker, running] in
      if let worker { body(worker) }
      running.leave()
    }
    if !isStarted { running.leave() }
    return isStarted
  }

  /// Waits until all threads have ended. Must not be called by one of these threads.
  package func wait() { running.wait() }
}
