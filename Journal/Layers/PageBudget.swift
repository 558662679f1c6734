import Locks
import PropertyLists
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
  /// Counts the pages, and keeps more from being loaded than the limit.
  let quota: PageQuota
  /// How many bytes were used since the memory was last checked.
  private let uncheckedByteCount = Atomic<Int>(0)
  private let isChecking = Atomic<Bool>(false)
  private let known = Lock<[Known]>([])

  init(limit: Int?) {
    given = limit
    quota = PageQuota(
      limit: max(
        limit ?? Self.usualLimit(byteCount: 0, entityCount: 0, eventCount: 0), Self.leastByteCount))
  }

  func add(_ layer: Layer) {
    known.withLock { known in
      known.removeAll { $0.layer == nil }
      known.append(Known(layer: layer))
      guard given == nil else { return }
      let layers = known.compactMap(\.layer)
      let newest = layers.max { $0.top.revision < $1.top.revision }?.top
      quota.limit = Self.usualLimit(
        byteCount: layers.reduce(0) { $0 + ($1.footer?.byteCount ?? 0) },
        entityCount: newest?.entityCount ?? 0, eventCount: newest?.eventCount ?? 0)
    }
  }

  /// About as many bytes as the newest state takes in the layers, and 16 MiB for the past, but no more than
  /// 256 MiB. If the past had more, memory would grow with the history; the system caches the files anyway.
  static func usualLimit(byteCount: Int, entityCount: Int, eventCount: Int) -> Int {
    let share = Double(entityCount) / Double(max(entityCount, eventCount, 1))
    return Int(min(Double(byteCount) * share + Double(16 << 20), Double(256 << 20)))
  }

  /// Notes that pages were read, or used for the first time since others were freed. Each time that such pages have four
  /// times the size of the limit, an eighth of it is freed, unless that much is free: pages not used since the last time.
  func note(_ byteCount: Int) {
    let limit = quota.limit
    let count = uncheckedByteCount.add(byteCount, ordering: .relaxed).newValue
    // Not after each page, because all layers are asked, and giving memory back takes longer than reading.
    guard count / 4 > limit, !isChecking.exchange(true, ordering: .acquiring) else { return }
    defer { isChecking.store(false, ordering: .releasing) }
    uncheckedByteCount.store(0, ordering: .relaxed)
    var left = quota.byteCount - (limit - limit / 8)
    guard left > 0 else { return }
    let layers = known.withLock { known in known.compactMap(\.layer) }
    for layer in layers.sorted(by: { $0.pageByteCount > $1.pageByteCount }) where left > 0 {
      left -= layer.freeUnusedPages(atMost: left)
    }
  }
}
