import CatalogModel
import Locks

/// Caches states as of some points in time, so that browsing the history is fast.
///
/// A state that is not cached is replayed from the nearest earlier one, or from a checkpoint. During the replay, some
/// states shortly before it are cached too, because the next request is often for one of them. Neighboring states share
/// nearly all of their memory.
///
/// Safe to use from any thread.
final class StateCache: Sendable {
  /// The number of cached states.
  private static let keptCount = 24
  /// At which distances before a requested state others are cached.
  private static let distances = [8192, 2048, 512, 128, 32, 8, 1]

  private let journal: CatalogJournal
  private let threads: WorkerThreads
  /// The least recently used state is first.
  private let kept = KeptValues<Version<Catalog>>()
  /// Held during a replay, because the next thread may then find the state in the cache.
  private let replayLock = Lock(())
  private let isPrepared = Lock(false)

  init(_ journal: CatalogJournal, _ threads: WorkerThreads) {
    self.journal = journal
    self.threads = threads
  }

  /// Caches states shortly before the newest one, once and on another thread: people look at the newest state first,
  /// and then at the one before it.
  func prepare() {
    let wasPrepared = isPrepared.withLock { isPrepared in
      defer { isPrepared = true }
      return isPrepared
    }
    if wasPrepared { return }
    _ = threads.start(for: self) { states in
      let newest = states.journal.head.revision
      if newest > 1 { _ = try? states.version(at: newest - 1) }
    }
  }

  /// The state at a revision, which must exist.
  /// - Complexity: O(m) in the number of events between it and the nearest state or checkpoint before it.
  func version(at revision: Revision) throws -> Version<Catalog> {
    let erasures = journal.erasureCount
    let newest = journal.version
    if newest.revision == revision { return newest }
    if let known = known(revision, erasures) { return known }
    return try replayLock.withLock { _ in
      if let known = known(revision, erasures) { return known }
      let version: Version<Catalog>
      do {
        version = try replay(to: revision, erasures)
      } catch let error as JournalError where error.code == .damaged {
        // The cached state may be older than the nearest checkpoint, so a replay from there may avoid the damage.
        version = try journal.version(asOf: .revision(revision))
      }
      keep(version, erasures)
      return version
    }
  }

  /// Replays the version at a revision from a near one, and caches others on the way.
  private func replay(to revision: Revision, _ erasures: Int) throws -> Version<Catalog> {
    var near = try nearest(before: revision, erasures)
    for distance in Self.distances where revision - distance > near.revision {
      near = try journal.version(asOf: revision - distance, from: near)
      keep(near, erasures)
    }
    return try journal.version(asOf: revision, from: near)
  }

  private func known(_ revision: Revision, _ erasures: Int) -> Version<Catalog>? {
    kept.withValues(asOf: erasures) { kept in
      guard let index = kept.lastIndex(where: { $0.revision == revision }) else { return nil }
      let version = kept.remove(at: index)
      kept.append(version)
      return version
    }
  }

  /// The nearest earlier state in the cache or at a checkpoint.
  private func nearest(before revision: Revision, _ erasures: Int) throws -> Version<Catalog> {
    let known = kept.withValues(asOf: erasures) { kept in
      // Later states are evicted first: they can soon be replayed from this state, but earlier states can't.
      let earlier = kept.filter { $0.revision < revision }
      kept = kept.filter { $0.revision >= revision } + earlier
      return earlier.max { $0.revision < $1.revision }
    }
    let start = try journal.revision(at: .start)
    let farthest = max(start, revision - Self.distances[0])
    if let known, known.revision >= farthest { return known }
    let version = try journal.version(asOf: .revision(farthest))
    keep(version, erasures)
    return version
  }

  private func keep(_ version: Version<Catalog>, _ erasures: Int) {
    if known(version.revision, erasures) == nil {
      kept.keep(version, atMost: Self.keptCount, asOf: erasures)
    }
  }
}
