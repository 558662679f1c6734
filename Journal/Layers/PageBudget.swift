import Locks
import Synchronization

/// Bounds the memory of the pages of all layers that the states of a journal read.
///
/// Safe to use from any thread.
final class PageBudget: Sendable {
  private struct Known: Sendable {
    weak let layer: Layer?
  }

  /// With less, an app that sets a tiny limit would read the same pages again and again.
  private static let leastByteCount = 256 << 10

  /// What the caller has set; nil for the usual limit.
  private let given: Int?
  private let limit: Atomic<Int>
  /// How many bytes were used since the memory was last checked.
  private let uncheckedByteCount = Atomic<Int>(0)
  private let isChecking = Atomic<Bool>(false)
  private let known = Lock<[Known]>([])

  /// - Parameter limit: how many bytes of pages may be in memory; nil for the usual limit.
  init(limit: Int?) {
    given = limit
    self.limit = Atomic(limit ?? Self.usualLimit(byteCount: 0, entityCount: 0, eventCount: 0))
  }

  func add(_ layer: Layer) {
    known.withLock { known in
      known.removeAll { $0.layer == nil }
      known.append(Known(layer: layer))
      guard given == nil else { return }
      let layers = known.compactMap(\.layer)
      let newest = layers.max { $0.top.revision < $1.top.revision }?.top
      let usual = Self.usualLimit(
        byteCount: layers.reduce(0) { $0 + ($1.footer?.byteCount ?? 0) },
        entityCount: newest?.entityCount ?? 0, eventCount: newest?.eventCount ?? 0)
      limit.store(usual, ordering: .relaxed)
    }
  }

  /// About as many bytes as the newest state takes in the layers, and 16 MiB for the past, but no more than 256 MiB.
  ///
  /// If the past had more, memory would grow with the history. The system has pages in its cache.
  static func usualLimit(byteCount: Int, entityCount: Int, eventCount: Int) -> Int {
    let share = Double(entityCount) / Double(max(entityCount, eventCount, 1))
    return Int(min(Double(byteCount) * share + Double(16 << 20), Double(256 << 20)))
  }

  /// Notes that pages were read, or used for the first time since others were freed. Each time that such pages have an
  /// eighth of the limit, and all together exceed it, those that were not used since the last time are freed.
  func note(_ byteCount: Int) {
    let limit = limit.load(ordering: .relaxed)
    let count = uncheckedByteCount.add(byteCount, ordering: .relaxed).newValue
    // Not after each page, because all layers are asked. So the limit is exceeded by an eighth, or by 256 KiB.
    guard count > max(limit / 8, Self.leastByteCount), !isChecking.exchange(true, ordering: .acquiring) else {
      return
    }
    defer { isChecking.store(false, ordering: .releasing) }
    uncheckedByteCount.store(0, ordering: .relaxed)
    var layers = known.withLock { known in known.compactMap(\.layer) }.map {
      ($0, byteCount: $0.pageByteCount)
    }
    layers.sort { $0.byteCount > $1.byteCount }
    var total = layers.reduce(0) { $0 + $1.byteCount }
    for (layer, _) in layers where total > limit { total -= layer.freeUnusedPages(atMost: total - limit) }
  }
}
