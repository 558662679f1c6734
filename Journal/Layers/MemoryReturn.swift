import Files
import Locks

/// Returns freed memory to the system, at most every five seconds, because that takes 5 to 20 ms.
struct MemoryReturn: ~Copyable, Sendable {
  private let newest = Lock(ContinuousClock.now)

  /// - Parameter isMuch: whether much memory was freed just now, so that it is returned at once.
  func run(isMuch: Bool = false) {
    let now = ContinuousClock.now
    let isDue = newest.withLock { newest in
      let isDue = isMuch || now - newest >= .seconds(5)
      if isDue { newest = now }
      return isDue
    }
    if isDue { System.returnFreedMemory() }
  }
}
