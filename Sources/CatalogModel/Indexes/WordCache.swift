import Dispatch
import Locks

/// The indexes of words of a catalog's items. As in an ``IndexCache``, a missing index is built in the background for
/// more than 4,096 items, and a query on another state updates it. An index in layers comes first, because it takes no
/// memory except for what has changed above the layers. If very much has changed since an index in memory was built, the
/// index is worn: it is built anew in the background, and used until then.
///
/// Safe to use from any thread.
final class WordCache: Sendable {
  private final class Built: Sendable {
    let index: TextIndex
    let isWorn: Bool

    init(_ index: TextIndex) {
      self.index = index
      isWorn = !index.isLayered && index.changeCount > WordCache.limit(for: index.table)
    }
  }

  private struct Kept: Sendable {
    /// The most recently used indexes, the newest first.
    var built: [Built] = []
    var isBeingBuilt = false
  }

  private let kept = Lock<[IndexDefinition: Kept]>([:])

  /// An index of a table, or nil while it is being built.
  func index(_ name: IndexDefinition, in table: EntityTable) -> TextIndex? {
    let existing = existingIndex(name, table)
    if let existing, !existing.isWorn { return existing.index }
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
    return existing?.index
  }

  /// Builds an index, or updates a cached one, while the caller waits.
  func prepare(_ name: IndexDefinition, in table: EntityTable, progress: (_ done: Int) -> Void) {
    if existingIndex(name, table)?.isWorn ?? true { _ = build(name, table, progress) }
  }

  /// How many entities may differ between a table and an index that is updated to it.
  private static func limit(for table: EntityTable) -> Int { max(IndexCache.waitingCount, table.count / 8) }

  /// A cached index, updated to a table, or one in the table's layers.
  private func existingIndex(_ name: IndexDefinition, _ table: EntityTable) -> Built? {
    let isLayered = TextIndex.isInLayers(of: table, name)
    let built = kept.withLock { $0[name]?.built ?? [] }.filter { $0.index.isLayered == isLayered }
    // Nearly always, the state was queried before.
    if let newest = built.first, !newest.isWorn, newest.index.table.isEqual(to: table) { return newest }
    let near = built.compactMap { kept in kept.index.distance(to: table).map { (kept, distance: $0) } }
      .filter { $0.distance <= Self.limit(for: table) }
    // A worn index is behind one that was built since.
    let whole = near.filter { !$0.0.isWorn }
    if let (kept, _) = (whole.isEmpty ? near : whole).min(by: { $0.distance < $1.distance }) {
      return keep(Built(kept.index.following(to: table)), name, insteadOf: kept)
    }
    return TextIndex(inLayersOf: table, name).map { keep(Built($0), name) }
  }

  private func build(
    _ name: IndexDefinition, _ table: EntityTable, _ progress: (_ done: Int) -> Void
  ) -> TextIndex { keep(Built(TextIndex(building: table, name, progress: progress)), name).index }

  /// - Parameter source: the cached index that the new one was made from, which is evicted first.
  private func keep(_ built: Built, _ name: IndexDefinition, insteadOf source: Built? = nil) -> Built {
    // Evicted indexes are freed outside the lock.
    let old = kept.withLock { kept in
      var old = kept[name]?.built ?? []
      // New layers: of the other indexes only those are useful that queries have asked for since the last ones.
      if built.index.isLayered, source == nil { old = Array(old.prefix { !$0.index.isLayered }) }
      let whole = old.filter { !$0.isWorn }
      let others = whole.count < IndexCache.keptCount ? whole : whole.filter { $0 !== source }
      kept[name, default: Kept()].built = [built] + others.prefix(IndexCache.keptCount - 1)
      return old
    }
    _ = old
    return built
  }
}
