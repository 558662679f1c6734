import Dispatch
import Locks

/// The indexes of words of a catalog's items. As in an ``IndexCache``, a missing index is built in the background for
/// more than 4,096 items, and a query on another state updates it. An index in layers comes first, because it takes no
/// memory except for what has changed above the layers.
///
/// Safe to use from any thread.
final class WordCache: Sendable {
  private struct Kept: Sendable {
    /// The most recently used indexes, the newest first.
    var indexes: [TextIndex] = []
    var isBeingBuilt = false
  }

  private let kept = Lock<[IndexDefinition: Kept]>([:])

  /// An index of a table, or nil while it is being built.
  func index(_ name: IndexDefinition, in table: EntityTable) -> TextIndex? {
    if let index = existingIndex(name, table) { return index }
    if table.count <= IndexCache.waitingCount { return build(name, table) { _ in } }
    let builds = kept.withLock { kept in
      defer { kept[name, default: Kept()].isBeingBuilt = true }
      return kept[name]?.isBeingBuilt != true
    }
    if builds {
      // Nothing waits for this: if the system has no thread for it, queries continue without the index.
      DispatchQueue.global(qos: .utility).async { [weak self] in
        _ = self?.build(name, table) { _ in }
        self?.kept.withLock { $0[name]?.isBeingBuilt = false }
      }
    }
    return nil
  }

  /// Builds an index, or updates a known one, while the caller waits.
  func prepare(_ name: IndexDefinition, in table: EntityTable, progress: (_ done: Int) -> Void) {
    if existingIndex(name, table) == nil { _ = build(name, table, progress) }
  }

  private func existingIndex(_ name: IndexDefinition, _ table: EntityTable) -> TextIndex? {
    let isLayered = TextIndex.isInLayers(of: table, name)
    let limit = max(IndexCache.waitingCount, table.count / 8)
    for index in kept.withLock({ $0[name]?.indexes ?? [] }) where index.isLayered == isLayered {
      if let index = index.following(to: table, limit: limit) { return keep(index, name) }
    }
    return TextIndex(inLayersOf: table, name).map { keep($0, name) }
  }

  private func build(
    _ name: IndexDefinition, _ table: EntityTable, _ progress: (_ done: Int) -> Void
  ) -> TextIndex { keep(TextIndex(building: table, name, progress: progress), name) }

  private func keep(_ index: TextIndex, _ name: IndexDefinition) -> TextIndex {
    // Evicted indexes are freed outside the lock.
    let old = kept.withLock { kept in
      let old = kept[name]?.indexes ?? []
      let others = old.filter { $0.isLayered == index.isLayered }.prefix(IndexCache.keptCount - 1)
      kept[name, default: Kept()].indexes = [index] + others
      return old
    }
    _ = old
    return index
  }
}
