/// The limit for all pages that the states of a journal keep in memory, summed over all layers.
enum PageBudget {
  /// The lowest limit: below it, the same pages would be read again and again.
  private static let leastByteCount = 256 << 10

  /// - Parameters:
  ///   - given: what the app has set; nil for the usual limit.
  ///   - layers: all usable layers, in the order of their ends.
  static func limit(_ given: Int?, _ layers: [Layer]) -> Int {
    let usual = usualLimit(
      byteCount: layers.reduce(0) { $0 + ($1.footer?.byteCount ?? 0) },
      entityCount: layers.last?.top.entityCount ?? 0, eventCount: layers.last?.top.eventCount ?? 0)
    return max(given ?? usual, leastByteCount)
  }

  /// About as many bytes as the newest state takes in the layers, and 4 MiB for the past, but no more than 256 MiB.
  /// With more for the past, memory would grow with the history, and past states would be read faster in its first
  /// minutes only. The system caches the files anyway.
  static func usualLimit(byteCount: Int, entityCount: Int, eventCount: Int) -> Int {
    let share = Double(entityCount) / Double(max(entityCount, eventCount, 1))
    return Int(min(Double(byteCount) * share + Double(4 << 20), Double(256 << 20)))
  }
}
