package import CBOR
import Locks

/// The indexes of a catalog's items, which all states that follow from the catalog share.
///
/// An index is not part of a state. It is built from the items of one state, and updated to another state by the
/// difference of the two tables. So commits and replays pay nothing for an index, queries on older states that an app
/// has kept use it too, and it can be wrong only if the items are. A past state read from layers has its own cache.
///
/// Safe to use from any thread. Tables are shared with the states; the lines of the indexes take additional memory.
package final class IndexCache: Sendable {
  private let values = TableIndexes<TableValues>()
  let words = TableIndexes<TextIndex>()
  /// Whether and where slow queries are reported; nil for a catalog without a journal.
  private let options = Lock<JournalOptions?>(nil)
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
    values.index(name, in: table).map { .memory($0.index) }
      ?? LayeredIndex(table, name).map { .layers($0) }
  }

  /// An index that queries of the app have built, or that the layers have; nil if there is neither.
  package func existingIndex(_ name: IndexDefinition, in table: EntityTable) -> QueryIndex? {
    values.existingIndex(name, in: table).map { .memory($0.index) }
      ?? LayeredIndex(table, name).map { .layers($0) }
  }

  /// Builds an index, or updates a cached one, while the caller waits.
  func prepare(_ name: IndexDefinition, in table: EntityTable, progress: (_ done: Int) -> Void) {
    if name.content == .words {
      words.prepare(name, in: table, progress: progress)
    } else {
      values.prepare(name, in: table, progress: progress)
    }
  }

  /// Problems of the cached indexes after an update to a table, which would be bugs in this code.
  func problems(in table: EntityTable) -> [String] {
    values.definitions.compactMap { name in
      guard let kept = values.existingIndex(name, in: table),
        kept.index != ValueIndex(scanning: table, name)
      else { return nil }
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
    let all =
      paths.values.map { IndexDefinition(scope, $0) }
      + paths.words.map { IndexDefinition(scope, $0, .words) }
    for (position, definition) in all.enumerated() {
      indexCache.prepare(definition, in: itemTable) { done in
        progress(position * itemCount + done, all.count * itemCount)
      }
    }
    progress(all.count * itemCount, all.count * itemCount)
  }
}
