import Dispatch
import Foundation

/// Threads of your own, which either exist or are known not to.
///
/// Dispatch and Foundation hide that the system can refuse a thread: a queue waits until it can have one, and
/// `Thread` returns as if it had started. Whoever then waits for the work waits for ever. So whatever somebody
/// waits for runs on a thread that was started here, or, when there is none to be had, on the caller's own.
package enum Threads {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread that runs `body` and ends.
  /// - Returns: false when the system has no thread to give; `body` is then never run.
  package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    // The new thread takes over this reference; without one, it is given back below.
    let context = unsafe Unmanaged.passRetained(Body(body))
    #if canImport(Darwin)
      var thread: pthread_t?
      let failure = unsafe pthread_create(
        &thread, nil,
        { context in
          unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
      guard failure == 0, let thread = unsafe thread else {
        unsafe context.release()
        return false
      }
      unsafe pthread_detach(thread)
    #else
      var thread = pthread_t()
      let failure = unsafe pthread_create(
        &thread, nil,
        { context in
          if let context = unsafe context {
            unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
          }
          return nil
        }, context.toOpaque())
      guard failure == 0 else {
        unsafe context.release()
        return false
      }
      pthread_detach(thread)
    #endif
    return true
  }

  /// Runs `body` for each number below `count`, as many at a time as `width` says and threads can be had: the
  /// caller's is always one of them.
  package static func forEach(below count: Int, width: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let next = Lock(0)
    let work: @Sendable () -> Void = {
      while true {
        let index = next.withLock { next in
          defer { next += 1 }
          return next
        }
        if index >= count { return }
        body(index)
      }
    }
    let others = DispatchGroup()
    for _ in 1..<max(1, min(width, count)) {
      others.enter()
      let isStarted = start {
        work()
        others.leave()
      }
      if !isStarted {
        others.leave()
        break
      }
    }
    work()
    others.wait()
  }
}
