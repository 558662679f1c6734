import CBOR
import Dispatch
import Locks

/// The indexes of the items of a catalog and of all states that follow from it, in memory.
///
/// An index is no part of a state: it is made from the items of one, and follows them to another by what is different
/// between the two tables. So commits and replays pay nothing for it, old states use it as new ones do, and it can't
/// be wrong without the items being wrong.
///
/// 1. Each index that is kept belongs to the table that is kept with it.
/// 2. One that is asked for and not there is built in the background from the table it was asked for with; who asks
///    meanwhile gets none, and scans.
/// 3. A table that stands on another snapshot than those that are kept has its index built anew.
///
/// Safe to use from many threads. What is kept is shared with the states, but for the lines of the indexes.
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
    /// Those that were asked for last, the newest first.
    var built: [Built] = []
    var isBeingBuilt = false
  }

  /// A draft and the newest state are asked in turns, so two are kept.
  private static let keptCount = 2
  /// Up to so many items an index is built while the query waits: that takes less than a scan or two.
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
    // Nothing waits for this: where the system has no thread for it, queries go on scanning.
    DispatchQueue.global(qos: .utility).async { [weak self] in
      guard let self else { return }
      _ = build(name, table)
      indexes.withLock { $0[name]?.isBeingBuilt = false }
    }
    return nil
  }

  /// Builds an index, or brings one that is there up to date, while the caller waits.
  func prepare(
    _ path: AttributePath, of kind: ItemKind, in table: EntityTable, progress: (_ done: Int) -> Void
  ) {
    let name = Name(kind: kind, path: path)
    if keptIndex(name, table) == nil { _ = build(name, table, progress: progress) }
  }

  /// One that is kept, brought to a table.
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
    // What is no longer kept is freed outside of the lock.
    let old = indexes.withLock { indexes in
      let old = indexes[name]?.built ?? []
      indexes[name, default: Indexes()].built = [built] + old.prefix(Self.keptCount - 1)
      return old
    }
    _ = old
  }

  /// What is wrong with the indexes that are kept, once they are brought to a table: nothing, or a fault of this code.
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
  /// Builds the indexes of a type that are not there yet, or brings them up to date, and returns when they can be
  /// used. Without this they are built in the background when a query first needs them, and queries scan meanwhile.
  ///
  /// They are kept in memory and belong to all states that follow from this one; when a journal is opened, they are
  /// built again.
  /// - Parameter progress: called now and then with the number of items that were looked at and that of all.
  /// - Complexity: O(n log n) in the number of items for an index that is not there; in the number of items that are
  ///   different for one that is.
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
