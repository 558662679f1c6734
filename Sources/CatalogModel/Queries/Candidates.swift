import CBOR

/// The indexes that a run of a query can use.
final class Indexes {
  private let paths: [AttributePath]
  private let scope: IndexScope
  let catalog: Catalog
  /// The indexes that were looked up already. Many conditions may need one index, and setting one up takes long.
  private var known: [AttributePath: QueryIndex?] = [:]
  /// How many records were read to find out the kinds of items.
  private(set) var recordCount = 0

  init(_ plan: QueryPlan, _ catalog: Catalog) {
    paths = plan.indexed.values
    scope = IndexScope(itemsOfKind: plan.kind)
    self.catalog = catalog
    catalog.indexCache.declare(plan.indexed, of: scope)
  }

  /// The index on a path. Nil if no index is declared, or while it is being built.
  subscript(path: AttributePath) -> QueryIndex? {
    guard paths.contains(path) else { return nil }
    if let index = known[path] { return index }
    let index = catalog.indexCache.index(IndexDefinition(scope, path), in: catalog.itemTable)
    known.updateValue(index, forKey: path)
    return index
  }

  func noteRecords(_ count: Int) { recordCount += count }

  /// Whether an item is of the kind of the query.
  func isOfKind(_ number: Int) -> Bool {
    recordCount += 1
    return catalog.itemTable[number].map { scope.lists($0.record) } ?? false
  }
}

/// The numbers of the items for which one condition holds, found by an index.
struct Candidates {
  private enum Source {
    case lines([QueryIndex.Lines])
    case search(WordSearch, [TextIndex], Indexes)
    case members(EntityIndex.Members.Iterator, Indexes)
  }

  /// The paths of the indexes that are read.
  let paths: [AttributePath]
  /// How many lines were read.
  private(set) var lineCount = 0
  private var source: Source
  private var numbers: [Int] = []
  /// Whether the numbers are strictly ascending.
  private let isRising: Bool

  /// Makes the candidates for a condition. Nil if no index can find its items.
  init?(_ condition: Condition, _ indexes: Indexes) {
    switch condition {
    case .value(let path, let range):
      guard let index = indexes[path] else { return nil }
      source = .lines([index.lines(in: range)])
      paths = [path]
      isRising = range.isPoint
    case .any(let conditions):
      var lines: [QueryIndex.Lines] = []
      var paths: [AttributePath] = []
      for condition in conditions.flatMap(\.disjuncts) {
        guard case .value(let path, let range) = condition, let index = indexes[path] else { return nil }
        lines.append(index.lines(in: range))
        if !paths.contains(path) { paths.append(path) }
      }
      source = .lines(lines)
      self.paths = paths
      isRising = false
    case .category(let category?):
      source = .members(indexes.catalog.itemsByCategory.members(of: category).makeIterator(), indexes)
      paths = [.category]
      isRising = true
    case .words(let search):
      guard let words = search.indexes(in: indexes.catalog) else { return nil }
      source = .search(search, words, indexes)
      paths = search.paths
      isRising = true
    case .category(nil), .text, .closure, .all, .not: return nil
    }
  }

  /// Collects up to this many more numbers, and returns whether there are no more. A search for words finds all at once.
  mutating func collect(_ steps: Int) -> Bool {
    switch source {
    case .lines(var lines):
      source = .lines([])
      defer { source = .lines(lines) }
      for _ in 0..<steps {
        while let last = lines.indices.last {
          if let line = lines[last].next() {
            lineCount += 1
            numbers.append(line.member)
            break
          }
          lines.removeLast()
        }
        if lines.isEmpty { return true }
      }
    case .search(let search, let words, let indexes):
      let matches = search.indexedMatches(words, in: indexes.catalog)
      numbers = matches.numbers
      lineCount = matches.lineCount
      indexes.noteRecords(matches.recordCount)
      return true
    case .members(var members, let indexes):
      defer { source = .members(members, indexes) }
      for _ in 0..<steps {
        guard let member = members.next() else { return true }
        lineCount += 1
        if indexes.isOfKind(member) { numbers.append(member) }
      }
    }
    return false
  }

  /// All numbers in ascending order, each once.
  func sorted() -> [Int] { isRising ? numbers : numbers.ascending }
}

extension AttributePath {
  /// Stands for the index by category.
  fileprivate static let category = AttributePath(["@category"])
}

extension Condition {
  /// The parts of a disjunction, or the condition itself. None of them is `any`.
  var disjuncts: [Condition] {
    if case .any(let conditions) = self { conditions.flatMap(\.disjuncts) } else { [self] }
  }
}
