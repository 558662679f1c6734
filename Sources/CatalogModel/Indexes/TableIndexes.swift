import Dispatch
import Locks

/// An index of one table, which can be updated to another table.
protocol TableIndex: Sendable {
  /// The table that is indexed.
  var table: EntityTable { get }
  /// Whether the index is read from the layers of the table, and not from memory.
  var isLayered: Bool { get }
  /// How many entities have changed since the index was built, if that makes it slower.
  var changeCount: Int { get }

  /// Whether all layers of a table have the index, and it is preferred to one in memory.
  static func isInLayers(of table: EntityTable, _ definition: IndexDefinition) -> Bool
  /// Makes an index that reads the layers of a table; nil if the layers lack it, or if an index in memory is preferred.
  init?(inLayersOf table: EntityTable, _ definition: IndexDefinition)
  /// Builds an index in memory.
  init(building table: EntityTable, _ definition: IndexDefinition, progress: (_ done: Int) -> Void)
  /// About how many events lead to another table; nil if the index can't be updated to that table.
  func distance(to other: EntityTable) -> Int?
  /// Returns the index, updated to another table.
  func following(to new: EntityTable) -> Self
}

/// The cached indexes of one type.
///
/// 1. Each cached index belongs to the table that is cached with it.
/// 2. A missing index is built from the table of the query that needs it: by the query itself for up to 4,096 items,
///    otherwise in the background. Nil is returned meanwhile.
/// 3. If a table is backed by other layers than the cached tables, or if very much has changed in between, the index
///    counts as missing. If much has changed since an index was built, it is worn: it is built anew in the background,
///    and used until then.
///
/// Safe to use from any thread.
final class TableIndexes<Index: TableIndex>: Sendable {
  private final class Built: Sendable {
    let index: Index
    let isWorn: Bool

    init(_ index: Index) {
      self.index = index
      isWorn = !index.isLayered && index.changeCount > TableIndexes.limit(for: index.table)
    }
  }

  private struct Kept: Sendable {
    /// The most recently used indexes, the newest first.
    var built: [Built] = []
    var isBeingBuilt = false
  }

  /// A draft and the newest state, or an old state and the newest one, are queried in turns, so two indexes are cached.
  private static var keptCount: Int { 2 }
  /// Up to this many items, a query waits for the index: building it takes no longer than a scan or two. Updating it by
  /// as many changes takes no longer either.
  private static var waitingCount: Int { 4096 }

  private let kept = Lock<[IndexDefinition: Kept]>([:])

  /// The indexes that are cached.
  var definitions: [IndexDefinition] { kept.withLock { Array($0.keys) } }

  /// An index of a table, or nil while it is being built.
  func index(_ name: IndexDefinition, in table: EntityTable) -> Index? {
    let existing = existing(name, table)
    if let existing, !existing.isWorn { return existing.index }
    if table.count <= Self.waitingCount { return build(name, table) { _ in } }
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

  /// An index that is cached or in the layers. Nil if there is none, or if so much has changed that the caller would wait
  /// for long.
  func existingIndex(_ name: IndexDefinition, in table: EntityTable) -> Index? {
    existing(name, table)?.index
  }

  /// Builds an index, or updates a cached one, while the caller waits.
  func prepare(_ name: IndexDefinition, in table: EntityTable, progress: (_ done: Int) -> Void) {
    if existing(name, table)?.isWorn ?? true { _ = build(name, table, progress) }
  }

  /// How many entities may differ between a table and an index that is updated to it.
  private static func limit(for table: EntityTable) -> Int { max(waitingCount, table.count / 8) }

  private func existing(_ name: IndexDefinition, _ table: EntityTable) -> Built? {
    let isLayered = Index.isInLayers(of: table, name)
    let built = kept.withLock { $0[name]?.built ?? [] }
    // Nearly always, the state was queried before.
    if let newest = built.first, newest.index.isLayered == isLayered, !newest.isWorn,
      newest.index.table.isEqual(to: table)
    {
      return newest
    }
    let near = built.filter { $0.index.isLayered == isLayered }
      .compactMap { kept in kept.index.distance(to: table).map { (kept, distance: $0) } }
      .filter { $0.distance <= Self.limit(for: table) }
    // A worn index is behind one that was built since.
    let whole = near.filter { !$0.0.isWorn }
    if let (kept, _) = (whole.isEmpty ? near : whole).min(by: { $0.distance < $1.distance }) {
      return keep(Built(kept.index.following(to: table)), name, insteadOf: kept)
    }
    return Index(inLayersOf: table, name).map { keep(Built($0), name) }
  }

  private func build(
    _ name: IndexDefinition, _ table: EntityTable, _ progress: (_ done: Int) -> Void
  ) -> Index { keep(Built(Index(building: table, name, progress: progress)), name).index }

  /// - Parameter source: the cached index that the new one was made from. It is evicted first, because the other cached
  ///   index may be of a very different state.
  private func keep(_ built: Built, _ name: IndexDefinition, insteadOf source: Built? = nil)
    -> Built
  {
    // Evicted indexes are freed outside the lock.
    let old = kept.withLock { kept in
      var old = kept[name]?.built ?? []
      // New layers: of the other indexes only those are useful that queries have asked for since the last ones.
      if built.index.isLayered, source == nil { old = Array(old.prefix { !$0.index.isLayered }) }
      let whole = old.filter { !$0.isWorn }
      let others = whole.count < Self.keptCount ? whole : whole.filter { $0 !== source }
      kept[name, default: Kept()].built = [built] + others.prefix(Self.keptCount - 1)
      return old
    }
    _ = old
    return built
  }
}

extension TextIndex: TableIndex {}

/// An index of values in memory. It is faster than an index in layers, which queries use only while this one is built.
struct TableValues: TableIndex {
  private let definition: IndexDefinition
  let table: EntityTable
  let index: ValueIndex

  var isLayered: Bool { false }
  var changeCount: Int { 0 }

  private init(_ table: EntityTable, _ definition: IndexDefinition, _ index: ValueIndex) {
    (self.table, self.definition, self.index) = (table, definition, index)
  }

  static func isInLayers(of table: EntityTable, _ definition: IndexDefinition) -> Bool { false }
  init?(inLayersOf table: EntityTable, _ definition: IndexDefinition) { nil }

  init(building table: EntityTable, _ definition: IndexDefinition, progress: (_ done: Int) -> Void) {
    self.init(table, definition, ValueIndex(table, definition, progress: progress))
  }

  func distance(to other: EntityTable) -> Int? { table.distance(to: other) }

  func following(to new: EntityTable) -> TableValues {
    var index = index
    index.follow(from: table, to: new, definition)
    return TableValues(new, definition, index)
  }
}
