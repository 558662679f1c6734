import CBOR

/// How a query finds the numbers of its items.
///
/// There are three ways, and all give the same answer:
///
/// 1. The lines of an index for one of the conditions, each tested for the others, and then sorted.
/// 2. The lines of the index for the first order, in that order, each tested for all conditions, until there are as
///    many as are wanted.
/// 3. A scan of all items of the kind.
///
/// Which of the ways of the first two kinds is the shortest is not known beforehand. So they race: each is given twice
/// as many steps as before, in turns, until one is done. That takes a small multiple of the steps of the shortest, and
/// needs no statistics that could be wrong.
struct QueryPlan: Sendable {
  let kind: String
  /// The paths that have an index.
  let indexed: [AttributePath]
  /// Where the items come from; nil: from the kind.
  var source: QueryAnswer?
  var conditions: [Condition] = []
  var orders: [QueryOrder] = []
  var offset = 0
  var limit: Int?

  init(kind: String, indexed: [AttributePath], source: QueryAnswer? = nil) {
    self.kind = kind
    self.indexed = indexed
    self.source = source
  }

  /// How many items need be found, those that are left out included.
  private var needed: Int {
    guard let limit else { return .max }
    let (sum, overflows) = limit.addingReportingOverflow(offset)
    return overflows ? .max : sum
  }

  /// The numbers of the items, in order.
  func numbers(in catalog: Catalog) -> [Int] {
    guard limit != 0 else { return [] }
    var numbers = everything(in: catalog)
    if let limit, numbers.count - offset > limit { numbers.removeLast(numbers.count - offset - limit) }
    if offset > 0 { numbers.removeFirst(Swift.min(offset, numbers.count)) }
    return numbers
  }

  /// The same from the first on; there may be more of them than needed.
  private func everything(in catalog: Catalog) -> [Int] {
    let conjuncts = conditions.flatMap(\.conjuncts)
    if let source { return sift(source.numbers(in: catalog), conjuncts, in: catalog) }
    let indexes = Indexes(self, catalog)
    var narrow = conjuncts.indices.compactMap { index in
      Candidates(conjuncts[index], indexes).map { (candidates: $0, rest: index) }
    }
    var walk = OrderedWalk(self, conjuncts, indexes)
    var steps = 1024
    while walk != nil || !narrow.isEmpty {
      for index in narrow.indices where narrow[index].candidates.collect(steps) {
        var rest = conjuncts
        rest.remove(at: narrow[index].rest)
        return sift(narrow[index].candidates.sorted(), rest, in: catalog)
      }
      if walk?.walk(steps, in: catalog, until: needed) == true { return walk?.numbers ?? [] }
      steps *= 2
    }
    return scan(conjuncts, in: catalog)
  }

  /// Tests candidates and sorts them; without an order they stay in theirs.
  private func sift(_ candidates: [Int], _ conditions: [Condition], in catalog: Catalog) -> [Int] {
    if conditions.isEmpty && orders.isEmpty { return candidates }
    var selection = Selection(orders, needed: needed)
    for number in candidates {
      guard let record = catalog.itemTable[number]?.record else { continue }
      if conditions.allSatisfy({ $0.holds(for: record) }), !selection.take(number, record) { break }
    }
    return selection.finish()
  }

  /// Looks at every item of the kind.
  private func scan(_ conditions: [Condition], in catalog: Catalog) -> [Int] {
    var selection = Selection(orders, needed: needed)
    let isFree = conditions.isEmpty && orders.isEmpty
    catalog.forEachItem(ofKind: kind) { number, row in
      // The row of a number is looked up only when something is asked of it.
      if isFree { return selection.take(number, EntityRecord()) }
      guard let record = row() else { return true }
      return !conditions.allSatisfy { $0.holds(for: record) } || selection.take(number, record)
    }
    return selection.finish()
  }
}
