/// When a journal writes its changes to a layer, and how layers are merged and lose checkpoints.
///
/// A layer is due after a fixed number of events or bytes. So opening replays about that many at most, however large
/// the journal is, and the memory is bounded. Additions count less, because replaying them takes less time. Layers of
/// about the same size are merged, as in a log-structured merge tree: each event is written once at each level of size,
/// and a lookup reads a few layers of each level.
public struct LayerPolicy: Hashable, Sendable {
  /// Whether layers are written and merged automatically.
  public var isAutomatic: Bool
  /// Whether layers keep past states, as far as ``logShare`` allows. If false, layers take the least space with which
  /// opening is still fast, and past states are replayed.
  public var keepsPast: Bool
  /// The space that layers may take, as a multiple of the log's size.
  ///
  /// The versions of an entity share unchanged values, so all past states usually fit. If not, fewer past states are
  /// kept, and the others are replayed from an earlier state. The newest state always has a layer, even if that layer
  /// alone exceeds the limit, for example because of declared indexes.
  public var logShare = 1.0
  /// The number of events after which a layer is written. Replaying that many updates reads the entities that they
  /// change from layers, which takes most of the time.
  package var eventCount = 512
  /// The number of additions that count as one event. Replaying an addition reads no entity.
  package var additionsPerEvent = 8
  /// The bytes of events, or of changed records, that make a layer due even after fewer events.
  package var byteCount = 16 << 20
  /// The most events in no layer's file; beyond it, commits wait. ``additionsPerEvent`` additions count as one.
  package var backlogCount = 65_536
  /// The most seconds that a commit waits for layers, so that a slow drive does not stop commits for longer.
  package var stallTimeout = 10
  /// The most bytes of changed records that are in no layer while as many layers as possible wait for their files.
  /// Beyond this limit, commits wait.
  package var backlogByteCount = 64 << 20
  /// The most bytes of events or records, and of merged layers, that closing writes.
  package var closingByteCount = 4 << 20
  /// With fewer layers than this, a layer is written before a merge if commits would soon wait: for imports.
  package var layerLimit = 24
  /// The number of layers of about the same size that are merged into one.
  package var fanout = 4
  /// A file of at most this many bytes is read as a whole when it is opened, in about a millisecond. States that it
  /// backs need no disk, even if the drive is removed.
  package var memoryByteCount = 1 << 20

  /// Keeps opening and time travel fast. Suits nearly all apps.
  public static let automatic = LayerPolicy(isAutomatic: true, keepsPast: true)
  /// Keeps opening fast and no past states: for phones with small disks.
  public static let small = LayerPolicy(isAutomatic: true, keepsPast: false)
  /// Writes layers and snapshots only on request, by ``Journal/takeSnapshot(asOf:)``: for an app that chooses the time.
  public static let manual = LayerPolicy(isAutomatic: false, keepsPast: true)

  /// The number of bytes below which saving space is not worthwhile.
  private static let smallByteCount = 1 << 20

  /// The most earlier states that a layer in memory keeps as checkpoints.
  var momentLimit: Int { backlogCount / max(eventCount, 1) }

  /// The most layers that wait in memory to be written. While so many wait, further changes collect for one layer.
  static let pendingLimit = 2

  /// Whether the events that are in no layer make a layer due.
  /// - Parameters:
  ///   - additionCount: the number of these events that add an entity.
  ///   - byteCount: the bytes of the events in the log, or of the records that they made, whichever is more.
  func isLayerDue(_ eventCount: Int, additionCount: Int, byteCount: Int) -> Bool {
    weight(eventCount, additionCount: additionCount) >= self.eventCount
      || byteCount >= self.byteCount && eventCount > 0
  }

  /// The weight of some events, by the time that replaying them takes.
  func weight(_ eventCount: Int, additionCount: Int) -> Int {
    eventCount - additionCount + additionCount / max(additionsPerEvent, 1)
  }

  /// The bytes that layers may take if the log takes `byteCount`.
  func share(ofLog byteCount: Double) -> Int {
    // An app may set any share, even an infinite one, and zero bytes times infinity is not a number.
    let share = byteCount * logShare
    return max(keepsPast && share > 0 ? Int(min(share, Double(Int.max / 2))) : 0, Self.smallByteCount)
  }

  typealias Size = (eventCount: Int, byteCount: Int)

  /// The layers to merge now, as a range of `sizes`; empty if none are due.
  /// - Parameters:
  ///   - sizes: the sizes of consecutive layers in files, oldest first.
  ///   - share: the most bytes that all layers may take.
  func run(_ sizes: [Size], share: Int) -> Range<Int> {
    let run = run(sizes)
    guard run.isEmpty, let first = sizes.first?.byteCount else { return run }
    // If the layers exceed their share, merge them all: versions of an entity share values only within one layer.
    let all = sizes.reduce(0) { $0 + $1.byteCount }
    return all > share && all - first > first / 4 ? 0..<sizes.count : run
  }

  /// The layers to merge now because they are of about the same size.
  ///
  /// If many layers of a size wait, for example because earlier sessions ended before their merges, only the oldest of
  /// them are merged. So merges that short sessions interrupt do not become larger and larger.
  func run(_ sizes: [Size]) -> Range<Int> {
    let levels = sizes.map(level)
    var start = levels.count
    for level in 0...(levels.max() ?? 0) {
      while start > 0, levels[start - 1] <= level { start -= 1 }
      let tier = levels.indices[start...].filter { levels[$0] == level }
      if tier.count >= fanout, let last = tier.prefix(2 * fanout).last { return start..<last + 1 }
      // Small layers between large ones, as after an entry with very many events, form no tier. Many are merged anyway.
      let many = 2 * fanout * (level + 1)
      if levels.count - start >= many { return start..<start + many }
    }
    return 0..<0
  }

  /// The level of a layer by size: 0 for a new layer, and one more for each factor of `fanout`.
  ///
  /// The larger of the sizes in events and in bytes counts. Otherwise a few large records would be rewritten often.
  private func level(_ layer: Size) -> Int {
    var level = 0
    var size = max(layer.eventCount / max(eventCount, 1), layer.byteCount / max(byteCount, 1))
    while size >= fanout {
      size /= fanout
      level += 1
    }
    return level
  }

  /// The index of the first choice of checkpoints with which the layer takes no more than its share; if there is none,
  /// the index of the last choice.
  /// - Parameters:
  ///   - byteCounts: the approximate bytes of the layer's past states with each choice.
  ///   - newestByteCount: the approximate bytes of the layer's newest state.
  ///   - share: the most bytes that the whole layer may take.
  func choice(_ byteCounts: [Int], newestByteCount: Int, share: Int) -> Int {
    let rest = max(share - newestByteCount, Self.smallByteCount)
    return byteCounts.firstIndex { $0 <= rest } ?? byteCounts.count - 1
  }
}
