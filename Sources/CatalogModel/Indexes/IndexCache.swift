import CBOR
import Dispatch
import Locks

/// The indexes of the items of a catalog and of all states that follow from it, in memory.
///
/// An index is not part of a state: it is built from the items of one state, and updated to another by the differences
/// of the two tables. So commits and replays pay nothing for it, old states use it as new ones do, and it can't be
/// wrong unless the items are.
///
/// 1. Each cached index belongs to the table that is cached with it.
/// 2. A missing index is built in the background from the table of the query that needs it; queries in the meantime get
///    none, and scan.
/// 3. A table that is backed by another snapshot than the cached ones has its index rebuilt.
///
/// Safe to use from any thread. Tables are shared with the states; the lines of the indexes take memory of their own.
final class IndexCache: Sendable {
  private struct Name: Hashable, Sendable {
    let kind: ItemKind
    let path: AttributePath
  }

  private struct Built: Sendable {
    let table: EntityTable
    let index: ValueIndex
  }

  private struct Indexes: Sendable {
    /// The most recently used ones, newest first.
    var built: [Built] = []
    var isBeingBuilt = false
  }

  /// A draft and the newest state are queried in turns, so two are cached.
  private static let keptCount = 2
  /// Up to this many items, the query waits for the index: building it takes less than a scan or two.
  private static let waitingCount = 4096

  private let indexes = Lock<[Name: Indexes]>([:])

  /// The index on a path of the items of a kind, nil while it is being built.
  func index(on path: AttributePath, of kind: ItemKind, in table: EntityTable) -> ValueIndex? {
    let name = Name(kind: kind, path: path)
    if let index = keptIndex(name, table) { return index }
    if table.count <= Self.waitingCount { return build(name, table) }
    let builds = indexes.withLock { indexes in
      defer { indexes[name, default: Indexes()].isBeingBuilt = true }
      return indexes[name]?.isBeingBuilt != true
    }
    guard builds else { return nil }
    // Nothing waits for this: if the system has no thread for it, queries continue to scan.
    DispatchQueue.global(qos: .utility).async { [weak self] in
      guard let self else { return }
      _ = build(name, table)
      indexes.withLock { $0[name]?.isBeingBuilt = false }
    }
    return nil
  }

  /// Builds an index, or updates a cached one, while the caller waits.
  func prepare(
    _ path: AttributePath, of kind: ItemKind, in table: EntityTable, progress: (_ done: Int) -> Void
  ) {
    let name = Name(kind: kind, path: path)
    if keptIndex(name, table) == nil { _ = build(name, table, progress: progress) }
  }

  /// A cached index, updated to a table.
  private func keptIndex(_ name: Name, _ table: EntityTable) -> ValueIndex? {
    let kept = indexes.withLock { $0[name]?.built.first { $0.table.isNear(table) } }
    guard let kept else { return nil }
    var index = kept.index
    index.follow(from: kept.table, to: table, at: name.path) { name.kind.isKind(of: $0) }
    keep(Built(table: table, index: index), name)
    return index
  }

  private func build(
    _ name: Name, _ table: EntityTable, progress: (_ done: Int) -> Void = { _ in }
  ) -> ValueIndex {
    let index = ValueIndex(table, at: name.path, where: { name.kind.isKind(of: $0) }, progress: progress)
    keep(Built(table: table, index: index), name)
    return index
  }

  private func keep(_ built: Built, _ name: Name) {
    // Evicted indexes are freed outside of the lock.
    let old = indexes.withLock { indexes in
      let old = indexes[name]?.built ?? []
      indexes[name, default: Indexes()].built = [built] + old.prefix(Self.keptCount - 1)
      return old
    }
    _ = old
  }

  /// Problems of the cached indexes after an update to a table, which would be bugs in this code.
  func problems(in table: EntityTable) -> [String] {
    let names = indexes.withLock { Array($0.keys) }
    return names.compactMap { name in
      guard let kept = keptIndex(name, table) else { return nil }
      let right = ValueIndex(table, at: name.path) { name.kind.isKind(of: $0) }
      if kept == right { return nil }
      return
        "the index on \(name.path.names.joined(separator: ".")) of \(name.kind.name) is not that of the items"
    }
  }
}

extension Catalog {
  /// Builds or updates the indexes of a type, and returns when they can be used. Otherwise they are built in the
  /// background when a query first needs them, and queries scan meanwhile.
  ///
  /// They are in memory and shared by all states that follow from this one; they are rebuilt when a journal is opened.
  /// - Parameters:
  ///   - type: the type of items whose indexes are built.
  ///   - progress: called regularly with the number of items that were read and the number of all items.
  /// - Complexity: O(n log n), where n is the number of items for a missing index, and the number of differing items
  ///   for a cached one.
  public func buildIndexes<Model: CatalogItem>(
    of type: Model.Type, progress: (_ done: Int, _ all: Int) -> Void = { _, _ in }
  ) {
    let indexes = Model.indexes
    for (position, index) in indexes.enumerated() {
      indexCache.prepare(index.path, of: ItemKind(Model.kind), in: itemTable) { done in
        progress(position * itemCount + done, indexes.count * itemCount)
      }
    }
    progress(indexes.count * itemCount, indexes.count * itemCount)
  }
}
