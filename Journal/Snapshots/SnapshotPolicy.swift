/// When a journal writes what has changed to a layer of its snapshots, and how layers are merged and thinned.
///
/// A layer is due after a fixed number of events, so opening replays about that many at most, however large the
/// journal is. Layers of about the same size are merged, as the runs of a log-structured merge tree are: each event is
/// written once for each size, and a lookup asks a few layers of each.
public struct SnapshotPolicy: Hashable, Sendable {
  /// Whether layers are written, merged and thinned without being asked for.
  public var isAutomatic: Bool
  /// Whether states of the past are kept in layers, as long as all together take no more than the log does. Without
  /// them a journal takes the least room that opens fast, and a state of the past is replayed.
  public var keepsPast: Bool
  /// How many times the bytes of the log all layers together may take for the sake of past states.
  ///
  /// A layer has its entities whole, so where many are updated in turn, a few attributes each time, its past takes
  /// several times what the log does. Then fewer revisions can be kept, and a past state is replayed from the one
  /// before it: 1 keeps disks small, and 4 or more makes states of the past of such a journal fast too.
  public var pastShare = 1.0
  /// A layer is written when so many events have happened since the last one. Replaying so many updates reads the
  /// entities that they change, at 20 to 40 µs each.
  package var eventCount = 512
  /// How many events can be accepted that no file of a layer has; then commits wait for one.
  package var backlogCount = 65_536
  /// So many layers of a size are merged into one.
  package var fanout = 4
  /// A file of up to so many bytes is read whole when it is opened, in about a millisecond. States that it backs need
  /// no disk any more: a drive that is taken away leaves them as they are.
  package var memoryByteCount = 1 << 20

  /// Keeps opening and time travel fast: what suits nearly all.
  public static let automatic = SnapshotPolicy(isAutomatic: true, keepsPast: true)
  /// Keeps opening fast and nothing of the past: for a phone, where the disk is small.
  public static let small = SnapshotPolicy(isAutomatic: true, keepsPast: false)
  /// Writes nothing but the snapshots that are asked for: for an app that decides itself when there is time.
  public static let manual = SnapshotPolicy(isAutomatic: false, keepsPast: true)

  /// Of less than so many bytes none are worth saving.
  private static let smallByteCount = 1 << 20

  /// So many layers can be in memory, to be written; what happens meanwhile goes into one when there is room.
  static let pendingLimit = 2

  /// Which layers to merge now, of those in files that follow one another, the oldest first; empty for none.
  /// - Parameters:
  ///   - sizes: how many events each of them is about, and its bytes.
  ///   - share: how many bytes all of them may take.
  func run(_ sizes: [(eventCount: Int, byteCount: Int)], share: Int) -> Range<Int> {
    let run = run(sizes.map(\.eventCount))
    guard run.isEmpty, let first = sizes.first?.byteCount else { return run }
    // What came after the first layer has replaced much of it by now, perhaps.
    let all = sizes.reduce(0) { $0 + $1.byteCount }
    guard all > (keepsPast ? max(share, Self.smallByteCount) : Self.smallByteCount) else { return run }
    return all - first > first / 2 ? 0..<sizes.count : run
  }

  /// - Parameter eventCounts: how many events each of them is about.
  func run(_ eventCounts: [Int]) -> Range<Int> {
    let levels = eventCounts.map(level)
    var start = levels.count
    for level in 0...(levels.max() ?? 0) {
      while start > 0, levels[start - 1] <= level { start -= 1 }
      let suffix = levels[start...]
      if suffix.count(where: { $0 == level }) >= fanout, let last = suffix.lastIndex(of: level) {
        return start..<last + 1
      }
      // Small ones between large ones, as after an entry of very many events, are no tier of their own.
      if suffix.count >= 2 * fanout * (level + 1) { return start..<levels.count }
    }
    return 0..<0
  }

  /// 0 for a layer as it is first written, and one more for each time that it could have been merged.
  private func level(_ eventCount: Int) -> Int {
    var level = 0
    var size = eventCount / max(self.eventCount, 1)
    while size >= fanout {
      size /= fanout
      level += 1
    }
    return level
  }

  /// Which checkpoints a merged layer keeps: all, or every second, fourth, …, so that it takes no more than its share
  /// of the disk, or none but the last.
  /// - Parameters:
  ///   - versionCount: how many versions of entities stay with each of these choices, the first of which keeps all.
  ///   - byteCount: of the layers that are merged.
  ///   - share: of the log.
  func choice(versionCounts: [Int], byteCount: Int, share: Int) -> Int {
    guard keepsPast else { return versionCounts.count - 1 }
    let all = max(versionCounts.first ?? 1, 1)
    // In wide numbers, for a file may claim any count.
    let sizes = versionCounts.map { Double(byteCount) * Double($0) / Double(all) }
    if let fitting = sizes.firstIndex(where: { $0 <= Double(share) }) { return fitting }
    // What saves little is not worth its past.
    return (sizes.last ?? 0) < 0.75 * Double(byteCount) ? sizes.count - 1 : 0
  }
}
