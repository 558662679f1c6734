/// How many bytes the pages of all layers take together that the states of a journal read.
enum PageBudget {
  /// With less, an app that sets a tiny limit would read the same pages again and again.
  private static let leastByteCount = 256 << 10

  /// - Parameters:
  ///   - given: what the app has set; nil for the usual limit.
  ///   - layers: all that can be used, in the order of their ends.
  static func limit(_ given: Int?, _ layers: [Layer]) -> Int {
    let usual = usualLimit(
      byteCount: layers.reduce(0) { $0 + ($1.footer?.byteCount ?? 0) },
      entityCount: layers.last?.top.entityCount ?? 0, eventCount: layers.last?.top.eventCount ?? 0)
    return max(given ?? usual, leastByteCount)
  }

  /// About as many bytes as the newest state takes in the layers, and 16 MiB for the past, but no more than
  /// 256 MiB. If the past had more, memory would grow with the history; the system caches the files anyway.
  static func usualLimit(byteCount: Int, entityCount: Int, eventCount: Int) -> Int {
    let share = Double(entityCount) / Double(max(entityCount, eventCount, 1))
    return Int(min(Double(byteCount) * share + Double(16 << 20), Double(256 << 20)))
  }
}
