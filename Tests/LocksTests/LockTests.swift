import Dispatch
import Locks
import Testing

@Suite struct LockTests {
  @Test func noIncrementIsLostBetweenThreads() {
    let total = Lock(0)
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<10_000 { total.withLock { $0 += 1 } }
    }
    #expect(total.withLock { $0 } == 80_000)
  }

  @Test func anErrorIsRethrownAndReleasesTheLock() {
    struct Refusal: Error {}
    let names = Lock<[String]>([])
    #expect(throws: Refusal.self) {
      try names.withLock { names throws(Refusal) in
        names.append("Ana")
        throw Refusal()
      }
    }
    #expect(names.withLock { $0 } == ["Ana"])
  }

  @Test func aNoncopyableValueIsGuardedAndDestroyedWithTheLock() {
    struct Owned: ~Copyable {
      let count: Count
      deinit { count.add() }
    }
    let gone = Count()
    do {
      let lock = Lock<Owned?>(Owned(count: gone))
      #expect(lock.withLock { $0 != nil })
      #expect(gone.value == 0)
    }
    #expect(gone.value == 1)
  }

  private final class Count: Sendable {
    private let count = Lock(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
  }
}
