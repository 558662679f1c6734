/// The number of entries that a long replay applies at once: few enough that readers see progress, and that large
/// records do not fill the memory.
struct ReplayStep: Sendable {
  /// The most entries of a step.
  static let limit = 1000
  /// After this many bytes, a step ends.
  static let byteCount = 16 << 20
  /// The most entries of the first step of another replay.
  private static let firstLimit = 8

  /// The most entries of the next step; one at first, because an entry may be very large.
  private(set) var entryCount = 1

  /// Limits the next step, because the entries of another replay may change larger records.
  mutating func beginAgain() { entryCount = min(entryCount, Self.firstLimit) }

  /// Adapts the next step to the number of bytes that the last step added to memory.
  mutating func adapt(toByteCount byteCount: Int) {
    entryCount = byteCount > Self.byteCount ? max(entryCount / 2, 1) : min(entryCount * 2, Self.limit)
  }
}
