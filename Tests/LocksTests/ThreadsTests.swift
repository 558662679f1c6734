import Dispatch
import Locks
import Testing

@Suite struct ThreadsTests {
  @Test func aStartedThreadRunsItsBodyOnce() {
    let done = DispatchSemaphore(value: 0)
    let count = Lock(0)
    for _ in 0..<50 {
      #expect(
        Threads.start {
          count.withLock { $0 += 1 }
          done.signal()
        })
    }
    for _ in 0..<50 { #expect(done.wait(timeout: .now() + 60) == .success) }
    #expect(count.withLock { $0 } == 50)
  }

  @Test func everyNumberIsVisitedOnceWhateverTheWidth() {
    for width in [0, 1, 3, 64] {
      let seen = Lock([Int](repeating: 0, count: 100))
      Threads.forEach(below: 100, width: width) { index in seen.withLock { $0[index] += 1 } }
      #expect(seen.withLock { $0 } == [Int](repeating: 1, count: 100))
    }
    Threads.forEach(below: 0, width: 4) { _ in Issue.record("there is nothing to visit") }
  }
}
