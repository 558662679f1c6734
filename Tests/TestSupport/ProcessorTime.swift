import Foundation

/// The processor time that `body` takes on this thread, to which other tests do not add.
package func processorTime(of body: () throws -> Void) rethrows -> Duration {
  let start = processorTimeOfThread()
  try body()
  return processorTimeOfThread() - start
}

/// The processor time that this thread has taken.
package func processorTimeOfThread() -> Duration {
  var time = timespec()
  unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
