import Dispatch
import Foundation

/// Starts threads, and reports if the system refuses one.
///
/// Dispatch and Foundation hide that the system can refuse a thread: a queue waits for one, and `Thread` returns as if
/// it had started, so a wait for the work may never end. Work that a caller waits for therefore runs on a thread that
/// was started here or, if the system refuses one, on the caller's thread.
package enum Threads {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread that runs `body` and ends.
  /// - Returns: false if the system refuses a thread; `body` then never runs.
  package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    // The new thread owns this reference. If the system refuses the thread, the reference is released below.
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

  /// Calls `body` with each number below `count`, on up to `width` threads including the caller's. If the system
  /// refuses threads, fewer are used.
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
