/// When a journal takes snapshots of its own accord, and which it drops again.
///
/// Replaying an event takes about as long as writing an entity. So a snapshot is taken when replaying what came
/// after the last one would cost a share of writing the next: over its life a journal then spends on snapshots
/// a fixed number of times what its events cost, however large it grows. Snapshots are thinned by the same
/// measure, so that together they hold no more entities than a fixed number of times the events in the log,
/// and any past state is a replay of about its own size away from one.
public struct SnapshotPolicy: Hashable, Sendable {
  /// Whether snapshots are taken and dropped without being asked for.
  public var isAutomatic: Bool
  /// Fewer events than this are replayed sooner than a snapshot of them is flushed.
  package var minimumEventCount: Int
  /// The same for a journal that is being closed.
  package var minimumEventCountAtClosing: Int
  /// A file of up to so many bytes is read whole when it is opened, in about a millisecond. States that stand on
  /// it need no disk any more: a drive that is taken away leaves them as they are.
  package var memoryByteCount = 1 << 20

  /// Takes and thins snapshots so that opening and time travel stay fast: what suits nearly all.
  public static let automatic = SnapshotPolicy(isAutomatic: true)
  /// Takes a snapshot when told to, and drops none: for an app that decides itself when there is time.
  public static let manual = SnapshotPolicy(isAutomatic: false)

  package init(
    isAutomatic: Bool, minimumEventCount: Int = 8192, minimumEventCountAtClosing: Int = 1024
  ) {
    self.isAutomatic = isAutomatic
    self.minimumEventCount = minimumEventCount
    self.minimumEventCountAtClosing = minimumEventCountAtClosing
  }

  /// Whether to take a snapshot of a state of so many entities now, in the background.
  func isDue(eventCount: Int, entityCount: Int) -> Bool {
    // A past state is then about a third of the entities' number of events away from a snapshot. More often
    // would be nearer, at the cost of disk: there are one and a half snapshots' entities for each event.
    isAutomatic && eventCount >= max(minimumEventCount, entityCount * 2 / 3)
  }

  /// Whether the next opening gains enough by a snapshot for closing to wait for it.
  func isDueAtClosing(eventCount: Int, entityCount: Int) -> Bool {
    isAutomatic && eventCount >= max(minimumEventCountAtClosing, entityCount / 16)
  }

  /// Which snapshots to drop: those without which the way from the one before to the one after is still short.
  ///
  /// The two newest stay, so that one that fails has another behind it; and those that somebody asked for.
  /// - Parameter snapshots: what is known of all, the oldest first.
  func superfluous(_ snapshots: [(revision: Revision, facts: SnapshotFacts)]) -> [Revision] {
    guard isAutomatic else { return [] }
    var superfluous: [Revision] = []
    var eventsBefore = 0
    for (snapshot, next) in zip(snapshots, snapshots.dropFirst()).dropLast() {
      let gap = next.facts.eventCount - eventsBefore
      if snapshot.facts.isAutomatic, gap < max(minimumEventCount, snapshot.facts.entityCount) {
        superfluous.append(snapshot.revision)
      } else {
        eventsBefore = snapshot.facts.eventCount
      }
    }
    return superfluous
  }
}
