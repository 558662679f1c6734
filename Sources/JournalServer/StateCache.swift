import CatalogModel
import Locks

/// States as of some points, so that a person who goes through history waits for none of them.
///
/// A state that is not at hand is replayed from the nearest one before it that is, or from a checkpoint. On the way, some
/// states shortly before it are kept too: whoever goes back one entry needs one of them. States that are near each other
/// share nearly all of their memory, so a few points of history are held at a time.
///
/// Safe to use from any thread.
final class StateCache: Sendable {
  /// So many states are kept.
  private static let keptCount = 24
  /// So far before a state others are kept.
  private static let distances = [8192, 2048, 512, 128, 32, 8, 1]

  private let journal: CatalogJournal
  /// The one that was used last is the last.
  private let kept = Lock<[Version<Catalog>]>([])
  /// Held by who replays: the next one may find that the state is there now.
  private let turn = Lock(())

  init(_ journal: CatalogJournal) { self.journal = journal }

  /// The state at a revision, which must be there.
  /// - Complexity: O(m) in the number of events between it and the nearest state or checkpoint before it.
  func version(at revision: Revision) throws -> Version<Catalog> {
    let newest = journal.version
    if newest.revision == revision { return newest }
    if let known = known(revision) { return known }
    return try turn.withLock { _ in
      if let known = known(revision) { return known }
      var near = try nearest(before: revision)
      for distance in Self.distances where revision - distance > near.revision {
        near = try journal.version(asOf: revision - distance, from: near)
        keep(near)
      }
      let version = try journal.version(asOf: revision, from: near)
      keep(version)
      return version
    }
  }

  private func known(_ revision: Revision) -> Version<Catalog>? {
    kept.withLock { kept in
      guard let index = kept.lastIndex(where: { $0.revision == revision }) else { return nil }
      let version = kept.remove(at: index)
      kept.append(version)
      return version
    }
  }

  /// A state that is at hand, or the one that a checkpoint has some way before the point.
  private func nearest(before revision: Revision) throws -> Version<Catalog> {
    let known = kept.withLock { kept in
      kept.filter { $0.revision < revision }.max { $0.revision < $1.revision }
    }
    let start = try journal.revision(at: .start)
    let farthest = max(start, revision - Self.distances[0])
    if let known, known.revision >= farthest { return known }
    let version = try journal.version(asOf: .revision(farthest))
    keep(version)
    return version
  }

  private func keep(_ version: Version<Catalog>) {
    // What is no longer kept is freed outside of the lock.
    let gone = kept.withLock { kept -> Version<Catalog>? in
      if kept.contains(where: { $0.revision == version.revision }) { return nil }
      kept.append(version)
      return kept.count > Self.keptCount ? kept.removeFirst() : nil
    }
    _ = gone
  }
}
