import Dispatch
import Foundation
import Locks
import Testing

@Suite struct TimedSemaphoreTests {
  @Test func eachSignalEndsOneWait() {
    let semaphore = TimedSemaphore(value: 1)
    #expect(semaphore.wait(timeout: .now()) == .success)
    #expect(semaphore.wait(timeout: .now() + .milliseconds(20)) == .timedOut)
    for _ in 1...2 { semaphore.signal() }
    for _ in 1...2 { #expect(semaphore.wait(timeout: .distantFuture) == .success) }
    #expect(semaphore.wait(timeout: .now()) == .timedOut)
  }

  @Test func noSignalIsLostBetweenThreads() {
    let (there, back) = (TimedSemaphore(value: 0), TimedSemaphore(value: 0))
    DispatchQueue.concurrentPerform(iterations: 2) { side in
      for _ in 1...2_000 {
        if side == 0 {
          there.signal()
          #expect(back.wait(timeout: .now() + 60) == .success)
        } else {
          #expect(there.wait(timeout: .now() + 60) == .success)
          back.signal()
        }
      }
    }
  }

  #if os(Linux)
    /// If the clock was set back during a wait with a time limit, it lasted that much longer.
    @Test func noWaitEndsAtADate() throws {
      let semaphore = TimedSemaphore(value: 0)
      let thread = Lock("")
      let isDone = DispatchGroup()
      isDone.enter()
      Thread.detachNewThread {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        thread.withLock { $0 = link ?? "" }
        _ = semaphore.wait(timeout: .now() + 60)
        isDone.leave()
      }
      defer {
        semaphore.signal()
        isDone.wait()
      }
      // The number of the system call, and its arguments: the place, the operation, the value, the time limit.
      var call: [String] = []
      while call.count < 5 || call[4] == "0x0" {
        usleep(10_000)
        let path = "/proc/\(thread.withLock { $0 })/syscall"
        call = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: " ").map(
          String.init)
      }
      let futexClockRealtime = 256
      #expect(try #require(Int(call[2].dropFirst(2), radix: 16)) & futexClockRealtime == 0, "\(call)")
    }
  #endif
}
