import Foundation

/// The processor time that `body` takes on this thread, to which other tests do not add.
package func processorTime(of body: () throws -> Void) rethrows -> Duration {
  let start = processorTimeOfThread()
  try body()
  return processorTimeOfThread() - start
}

/// How many times as long work of a large size takes as of a small one: the least of two measurements, because a busy
/// machine only adds to a ratio.
package func leastRatio(_ large: Int, to small: Int, of time: (Int) throws -> Double) rethrows -> Double {
  var best = Double.infinity
  for _ in 0..<2 { best = min(best, try time(large) / time(small)) }
  return best
}

/// The processor time that this thread has taken.
package func processorTimeOfThread() -> Duration { time(of: CLOCK_THREAD_CPUTIME_ID) }

/// The processor time that all threads of this process have taken.
package func processorTimeOfProcess() -> Duration { time(of: CLOCK_PROCESS_CPUTIME_ID) }

private func time(of clock: clockid_t) -> Duration {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
