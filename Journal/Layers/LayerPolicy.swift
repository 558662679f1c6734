/// When a journal writes its changes to a layer, and how layers are merged and thinned.
///
/// A layer is due after a fixed number of events or of bytes, so opening replays at most about that many, however large
/// the journal is, and the memory is bounded. Additions count less, because replaying them takes less time. Layers of
/// about the same size are merged, as in a log-structured merge tree: each event is written once for each size, and a
/// lookup reads a few layers of each.
public struct LayerPolicy: Hashable, Sendable {
  /// Whether layers are written, merged and thinned automatically.
  public var isAutomatic: Bool
  /// Whether past states are kept in layers, as far as ``logShare`` allows. Otherwise a journal takes the least space
  /// that still opens fast, and past states are replayed.
  public var keepsPast: Bool
  /// The space that layers may take, as a multiple of the log's size.
  ///
  /// The versions of an entity share the values that did not change, so all past states mostly fit. If they don't, fewer
  /// are kept, and the others are replayed from an earlier one. The newest state always has a layer, even if it alone takes
  /// more, for example because of declared indexes.
  public var logShare = 1.0
  /// The number of events after which a layer is written. Replaying that many updates reads the entities that they
  /// change from layers, which takes most of the time.
  package var eventCount = 512
  /// How many additions count as one event. Replaying them reads no entity.
  package var additionsPerEvent = 8
  /// How many bytes of events, or of changed records, make a layer due even after fewer events.
  package var byteCount = 16 << 20
  /// The most events that are in no file of a layer; beyond that, commits stall. Additions count less.
  package var backlogCount = 65_536
  /// How many seconds a commit waits at most. A slow drive must not stop commits for longer.
  package var stallTimeout = 10
  /// How many bytes of changed records may be added to those of layers that wait for their files; beyond that, commits
  /// wait.
  package var backlogByteCount = 64 << 20
  /// The most bytes of events or records, and of merged layers, that closing writes.
  package var closingByteCount = 4 << 20
  /// While commits would soon wait and there are fewer layers than this, merges wait instead, so an import hardly waits for
  /// them.
  package var layerLimit = 24
  /// How many layers of a size are merged into one.
  package var fanout = 4
  /// A file of up to this many bytes is read whole when it is opened, in about a millisecond. Its states no longer need
  /// the disk, even if the drive is removed.
  package var memoryByteCount = 1 << 20

  /// Keeps opening and time travel fast. Suits nearly all apps.
  public static let automatic = LayerPolicy(isAutomatic: true, keepsPast: true)
  /// Keeps opening fast and no past states: for phones with small disks.
  public static let small = LayerPolicy(isAutomatic: true, keepsPast: false)
  /// Writes layers and snapshots only on request, by ``Journal/takeSnapshot(asOf:)``: for an app that decides itself when
  /// there is time.
  public static let manual = LayerPolicy(isAutomatic: false, keepsPast: true)

  /// Below this many bytes, saving space is not worthwhile.
  private static let smallByteCount = 1 << 20

  /// How many earlier states a layer in memory keeps as checkpoints at most.
  var momentLimit: Int { backlogCount / max(eventCount, 1) }

  /// How many layers can wait in memory to be written; later changes go into one layer when there is room.
  static let pendingLimit = 2

  /// Whether events that are in no layer make one due.
  /// - Parameters:
  ///   - additionCount: how many of them add an entity.
  ///   - byteCount: how many bytes they have in the log, or the records that they made, if those are more.
  func isLayerDue(_ eventCount: Int, additionCount: Int, byteCount: Int) -> Bool {
    weight(eventCount, additionCount: additionCount) >= self.eventCount
      || byteCount >= self.byteCount && eventCount > 0
  }

  /// What some events count, by the time that replaying them takes.
  func weight(_ eventCount: Int, additionCount: Int) -> Int {
    eventCount - additionCount + additionCount / max(additionsPerEvent, 1)
  }

  /// The bytes that layers may take if the log takes `byteCount`.
  func share(ofLog byteCount: Double) -> Int {
    // An app may set any share, also an infinite one, and zero bytes times that is no number.
    let share = byteCount * logShare
    return max(keepsPast && share > 0 ? Int(min(share, Double(Int.max / 2))) : 0, Self.smallByteCount)
  }

  typealias Size = (eventCount: Int, byteCount: Int)

  /// The layers to merge now, of consecutive layers in files, oldest first; empty for none.
  /// - Parameters:
  ///   - sizes: those of the layers.
  ///   - share: how many bytes all layers may take.
  func run(_ sizes: [Size], share: Int) -> Range<Int> {
    let run = run(sizes)
    guard run.isEmpty, let first = sizes.first?.byteCount else { return run }
    // A merge saves space: versions of an entity share values only within one layer.
    let all = sizes.reduce(0) { $0 + $1.byteCount }
    return all > share && all - first > first / 4 ? 0..<sizes.count : run
  }

  /// The layers to merge now because they are of about the same size.
  ///
  /// If there are many, for example because earlier sessions ended before their merges, these are the oldest of them. So
  /// a merge that a short session interrupts is no larger than the one before.
  func run(_ sizes: [Size]) -> Range<Int> {
    let levels = sizes.map(level)
    var start = levels.count
    for level in 0...(levels.max() ?? 0) {
      while start > 0, levels[start - 1] <= level { start -= 1 }
      let tier = levels.indices[start...].filter { levels[$0] == level }
      if tier.count >= fanout, let last = tier.prefix(2 * fanout).last { return start..<last + 1 }
      // Small ones between large ones, as after an entry of very many events, do not form a tier.
      let many = 2 * fanout * (level + 1)
      if levels.count - start >= many { return start..<start + many }
    }
    return 0..<0
  }

  /// 0 for a new layer, and one more for each time that it could have been merged.
  ///
  /// The larger of its sizes counts. Otherwise a few large records would be rewritten until they are many events.
  private func level(_ layer: Size) -> Int {
    var level = 0
    var size = max(layer.eventCount / max(eventCount, 1), layer.byteCount / max(byteCount, 1))
    while size >= fanout {
      size /= fanout
      level += 1
    }
    return level
  }

  /// The index of the first choice of checkpoints whose layer takes no more than its share; otherwise that of
  /// the last choice.
  /// - Parameters:
  ///   - byteCounts: about how many bytes the layer's past states take with each choice.
  ///   - newestByteCount: about how many bytes its newest state takes.
  ///   - share: how many bytes all of it may take.
  func choice(_ byteCounts: [Int], newestByteCount: Int, share: Int) -> Int {
    let rest = max(share - newestByteCount, Self.smallByteCount)
    return byteCounts.firstIndex { $0 <= rest } ?? byteCounts.count - 1
  }
}
