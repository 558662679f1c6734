import Foundation

/// The processor time that `body` takes on this thread, to which other tests do not add. Its ratio for two sizes is right
/// even on a busy machine, where the longer work is interrupted more often.
package func processorTime(of body: () throws -> Void) rethrows -> Duration {
  let start = threadTime()
  try body()
  return threadTime() - start
}

private func threadTime() -> Duration {
  var time = timespec()
  unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
}
