package import CBOR
import Dispatch
import Locks

/// The indexes of a catalog's items, which all states that follow from the catalog share.
///
/// An index is not part of a state. It is built from the items of one state, and updated to another state by the
/// difference of the two tables. So commits and replays pay nothing for an index, queries on older states that an app
/// has kept use it too, and it can be wrong only if the items are. A past state read from layers has its own cache.
///
/// 1. Each cached index belongs to the table that is cached with it.
/// 2. A missing index is built from the table of the query that needs it: by the query itself for up to 4,096 items,
///    otherwise in the background. Meanwhile, queries use the index in the layers. If the layers lack it, queries scan.
/// 3. If a table is backed by other layers than the cached tables, or if very much has changed in between, the index
///    counts as missing.
///
/// Safe to use from any thread. Tables are shared with the states; the lines of the indexes take additional memory.
package final class IndexCache: Sendable {
  private final class Built: Sendable {
    let table: EntityTable
    let index: ValueIndex

    init(_ table: EntityTable, _ index: ValueIndex) {
      self.table = table
      self.index = index
    }
  }

  private struct Indexes: Sendable {
    /// The most recently used indexes, the newest first.
    var built: [Built] = []
    var isBeingBuilt = false
  }

  /// A draft and the newest state, or an old state and the newest one, are queried in turns, so two indexes are cached.
  static let keptCount = 2
  /// Up to this many items, a query waits for the index: building it takes no longer than a scan or two. Updating it by
  /// as many changes takes no longer either.
  static let waitingCount = 4096

  private let indexes = Lock<[IndexDefinition: Indexes]>([:])
  /// Whether and where slow queries are reported; nil for a catalog without a journal.
  private let options = Lock<JournalOptions?>(nil)
  let words = WordCache()
  private let declarations = Lock<[IndexScope: [IndexDefinition]]>([:])

  // MARK: Declared indexes

  /// The indexes that types of items have declared, by kind. New layers get these indexes.
  var declared: [IndexScope: [IndexDefinition]] { declarations.withLock { $0 } }

  /// Records the indexes of a type of items.
  func declare(_ paths: IndexedPaths, of scope: IndexScope) {
    declarations.withLock { declarations in
      let known = declarations[scope]
      func isKnown(_ path: AttributePath, _ content: IndexDefinition.Content) -> Bool {
        known?.contains { $0.path == path && $0.content == content } == true
      }
      // Nearly always there is nothing new. Two types of one kind may declare different indexes.
      if known != nil, paths.values.allSatisfy({ isKnown($0, .values) }),
        paths.words.allSatisfy({ isKnown($0, .words) })
      {
        return
      }
      let new =
        paths.values.map { IndexDefinition(scope, $0) }
        + paths.words.map { IndexDefinition(scope, $0, .words) }
      declarations[scope] = (known ?? []) + new.filter { known?.contains($0) != true }
    }
  }

  /// Has new layers list the values of all versions at a path, if their index on the path's values is declared.
  func declarePastValues(at path: AttributePath, of scope: IndexScope) {
    declarations.withLock { declarations in
      let past = IndexDefinition(scope, path, .pastValues)
      guard let known = declarations[scope], known.contains(IndexDefinition(scope, path)),
        !known.contains(past)
      else { return }
      declarations[scope] = known + [past]
    }
  }

  /// Takes the declarations of another cache, and its options.
  func adoptAdditions(of other: IndexCache) {
    let all = other.declared
    declarations.withLock { $0 = all }
    if let options = other.options.withLock({ $0 }) { adopt(options) }
  }

  // MARK: Slow queries

  func adopt(_ options: JournalOptions) {
    // The other options may retain a log, which must not live as long as a state.
    let own = JournalOptions(slowQueryLimit: options.slowQueryLimit, log: options.log)
    self.options.withLock { $0 = own }
  }

  /// Reports a query to the journal's log if it took longer than the options allow.
  func noteQuery(of kind: String, taking time: Duration, _ explanation: () -> QueryExplanation) {
    let slow = options.withLock { options in
      options?.slowQueryLimit.map { time > $0 } == true ? options : nil
    }
    slow?.note(.warning, "a query of items of the kind \"\(kind)\" took \(time): \(explanation())")
  }

  // MARK: Lookups

  /// An index of a table, or nil while it is being built and the layers lack it.
  func index(_ name: IndexDefinition, in table: EntityTable) -> QueryIndex? {
    if let index = keptIndex(name, table) { return .memory(index) }
    if table.count <= Self.waitingCount { return .memory(build(name, table)) }
    buildInBackground(name, table)
    return LayeredIndex(table, name).map { .layers($0) }
  }

  private func buildInBackground(_ name: IndexDefinition, _ table: EntityTable) {
    let builds = indexes.withLock { indexes in
      defer { indexes[name, default: Indexes()].isBeingBuilt = true }
      return indexes[name]?.isBeingBuilt != true
    }
    guard builds else { return }
    // Nothing waits for this: if the system has no thread for it, queries continue without the index.
    DispatchQueue.global(qos: .utility).async { [weak self] in
      guard let self else { return }
      _ = build(name, table)
      indexes.withLock { $0[name]?.isBeingBuilt = false }
    }
  }

  /// An index that queries of the app have built, or that the layers have; nil if there is neither.
  package func existingIndex(_ name: IndexDefinition, in table: EntityTable) -> QueryIndex? {
    keptIndex(name, table).map { .memory($0) } ?? LayeredIndex(table, name).map { .layers($0) }
  }

  /// Builds an index, or updates a cached one, while the caller waits.
  func prepare(_ name: IndexDefinition, in table: EntityTable, progress: (_ done: Int) -> Void) {
    if keptIndex(name, table) == nil { _ = build(name, table, progress: progress) }
  }

  /// A cached index, updated to a table. Nil if so much has changed that the caller would wait for long.
  private func keptIndex(_ name: IndexDefinition, _ table: EntityTable) -> ValueIndex? {
    let built = indexes.withLock { $0[name]?.built ?? [] }
    // Nearly always, the state was queried before.
    if let newest = built.first, newest.table.isEqual(to: table) { return newest.index }
    let near = built.compactMap { kept in kept.table.distance(to: table).map { (kept, distance: $0) } }
    guard let (kept, distance) = near.min(by: { $0.distance < $1.distance }),
      distance <= Swift.max(Self.waitingCount, table.count / 8)
    else { return nil }
    var index = kept.index
    index.follow(from: kept.table, to: table, name)
    keep(Built(table, index), name, insteadOf: kept)
    return index
  }

  private func build(
    _ name: IndexDefinition, _ table: EntityTable, progress: (_ done: Int) -> Void = { _ in }
  ) -> ValueIndex {
    let index = ValueIndex(table, name, progress: progress)
    keep(Built(table, index), name)
    return index
  }

  /// - Parameter source: the cached index that the new one was made from. It is evicted first, because the other cached
  ///   index may be of a very different state.
  private func keep(_ built: Built, _ name: IndexDefinition, insteadOf source: Built? = nil) {
    // Evicted indexes are freed outside the lock.
    let old = indexes.withLock { indexes in
      let old = indexes[name]?.built ?? []
      let others = old.count < Self.keptCount ? old : old.filter { $0 !== source }
      indexes[name, default: Indexes()].built = [built] + others.prefix(Self.keptCount - 1)
      return old
    }
    _ = old
  }

  /// Problems of the cached indexes after an update to a table, which would be bugs in this code.
  func problems(in table: EntityTable) -> [String] {
    let names = indexes.withLock { Array($0.keys) }
    return names.compactMap { name in
      guard let kept = keptIndex(name, table), kept != ValueIndex(scanning: table, name) else { return nil }
      return
        "the index on \(name.path.names.joined(separator: ".")) of \(name.scope.text) does not match the items"
    }
  }
}

/// An index that a query can use: in memory, or in the layers.
package enum QueryIndex: Sendable {
  case memory(ValueIndex)
  case layers(LayeredIndex)

  /// The lines in a range, in order or in reverse.
  package func lines(in range: ValueRange, reversed: Bool = false) -> Lines {
    lines(in: range.lines, reversed: reversed)
  }

  /// The lines of a range, in order or in reverse. None if the range is nil.
  func lines(in range: ClosedRange<ValueLine>?, reversed: Bool) -> Lines {
    switch self {
    case .memory(let index): Lines(memory: index.lines(in: range, reversed: reversed).makeIterator())
    case .layers(let index): Lines(layers: index.makeIterator(in: range, reversed: reversed))
    }
  }

  /// Iterates over lines. One of the two iterators is nil. An enumeration of the two would be copied in each step.
  package struct Lines: IteratorProtocol {
    fileprivate var memory: ValueIndex.Lines.Iterator?
    fileprivate var layers: LayeredIndex.Iterator?

    package mutating func next() -> ValueLine? { memory != nil ? memory?.next() : layers?.next() }
  }
}

extension IndexScope {
  /// The items of a kind.
  package init(itemsOfKind kind: String) {
    self.init(
      table: Int(EntityKind.item.rawValue), field: Int(ItemField.kind), text: kind)
  }
}

extension Catalog {
  /// Builds or updates the indexes of a type in memory, and returns when they can be used. Without this call, an index
  /// is built when a query first needs it; for more than 4,096 items, in the background. Meanwhile, queries read the
  /// index from the layers or, if the layers do not have it yet, scan.
  ///
  /// All states that follow from this one share the indexes.
  /// - Parameters:
  ///   - type: the type of items whose indexes are built.
  ///   - progress: called regularly with the number of items that were read and the number of all items.
  /// - Throws: `JournalError` with code `wrongUse` if the key path of an index leads to no attribute.
  /// - Complexity: O(n log n) in the number of items for a missing index, O(d log d) in the number of items that differ
  ///   for an index in memory, and O(n) for an index that the layers have. If more than an eighth of the items differ,
  ///   an index in memory counts as missing.
  public func buildIndexes<Model: CatalogItem>(
    of type: Model.Type, progress: (_ done: Int, _ all: Int) -> Void = { _, _ in }
  ) throws(JournalError) {
    try Model.checkIndexes()
    let paths = Model.indexedPaths
    let scope = IndexScope(itemsOfKind: Model.kind)
    indexCache.declare(paths, of: scope)
    let all = paths.values + paths.words
    for (position, path) in all.enumerated() {
      func report(_ done: Int) { progress(position * itemCount + done, all.count * itemCount) }
      if position < paths.values.count {
        indexCache.prepare(IndexDefinition(scope, path), in: itemTable, progress: report)
      } else {
        let definition = IndexDefinition(scope, path, .words)
        indexCache.words.prepare(definition, in: itemTable, progress: report)
      }
    }
    progress(all.count * itemCount, all.count * itemCount)
  }
}
