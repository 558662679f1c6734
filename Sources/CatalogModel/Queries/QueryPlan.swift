import CBOR

/// How a query finds the numbers of its items.
///
/// There are three methods with the same answer:
///
/// 1. Read the lines of an index for one condition, test each item for the other conditions, and sort.
/// 2. Read the lines of the index for the first sort key, in that order, and test each item for all conditions, until
///    enough are found.
/// 3. Scan all items of the kind.
///
/// The first two race in turns, each with twice as many steps as before, until one is done.
struct QueryPlan: Sendable {
  let kind: String
  /// The paths that have an index.
  let indexed: [AttributePath]
  /// The source of the items. Nil for all items of the kind.
  var source: QueryAnswer?
  var conditions: [Condition] = []
  var orders: [QueryOrder] = []
  var offset = 0
  var limit: Int?

  init(_ kind: String, indexed: [AttributePath], source: QueryAnswer? = nil) {
    self.kind = kind
    self.indexed = indexed
    self.source = source
  }

  /// The conditions that must all hold. Those with a closure come last, because each decodes the whole item.
  var conjuncts: [Condition] {
    let all = conditions.flatMap(\.conjuncts)
    return all.filter { !$0.hasClosure } + all.filter(\.hasClosure)
  }

  /// How many items must be found, including those that are skipped.
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

  /// The numbers of the items in order, including items to be skipped. There may be more than needed.
  private func everything(in catalog: Catalog) -> [Int] {
    let conjuncts = conjuncts
    if let source { return sift(source.numbers(in: catalog), conjuncts, in: catalog) }
    let indexes = Indexes(self, catalog)
    var narrow = conjuncts.indices.compactMap { index in
      Candidates(conjuncts[index], indexes).map { (candidates: $0, rest: index) }
    }
    var (walk, tested) = walk(conjuncts, indexes)
    // There are few steps at first, because they suffice for the first page of a list.
    var steps = 64
    while walk != nil || !narrow.isEmpty {
      var stepsLeft = steps
      func isOver() -> Bool {
        stepsLeft -= 1
        return stepsLeft == 0
      }
      let isDone = walk?.walk(until: needed, isOver: isOver) { number in
        if tested.isEmpty && orders.count == 1 { return [] }
        guard let record = catalog.itemTable[number]?.record, tested.allSatisfy({ $0.holds(for: record) })
        else { return nil }
        return orders.dropFirst().map { record.key(at: $0.path) }
      }
      if isDone == true { return walk?.numbers ?? [] }
      for index in narrow.indices where narrow[index].candidates.collect(steps) {
        var rest = conjuncts
        rest.remove(at: narrow[index].rest)
        return sift(narrow[index].candidates.sorted(), rest, in: catalog)
      }
      steps *= 2
    }
    return scan(conjuncts, in: catalog)
  }

  /// A walk over the index of the first sort key, or nil if there is none, and the conditions to test for each item.
  private func walk(_ conditions: [Condition], _ indexes: Indexes) -> (OrderedWalk?, tested: [Condition]) {
    guard let first = orders.first, let index = indexes[first.path] else { return (nil, conditions) }
    // A condition on the same property gives the range to walk. Every line in it fulfills the condition.
    let place = conditions.firstIndex { condition in
      if case .value(first.path, let range) = condition { !range.lower.isElement } else { false }
    }
    var tested = conditions
    guard let place, case .value(_, let range) = tested.remove(at: place) else {
      return (OrderedWalk(index, orders), conditions)
    }
    return (OrderedWalk(index, orders, in: range), tested)
  }

  /// Tests candidates and sorts them. Without a sort key they keep their order.
  private func sift(_ candidates: [Int], _ conditions: [Condition], in catalog: Catalog) -> [Int] {
    if conditions.isEmpty && orders.isEmpty { return candidates }
    var selection = Selection(orders, needed: needed)
    for number in candidates {
      guard let record = catalog.itemTable[number]?.record else { continue }
      if conditions.allSatisfy({ $0.holds(for: record) }), !selection.take(number, record) { break }
    }
    return selection.finish()
  }

  private func scan(_ conditions: [Condition], in catalog: Catalog) -> [Int] {
    if conditions.isEmpty && orders.isEmpty {
      return Array(catalog.contents.numbers(ofKind: kind).prefix(needed))
    }
    var selection = Selection(orders, needed: needed)
    catalog.forEachItem(ofKind: kind) { number, record in
      !conditions.allSatisfy { $0.holds(for: record) } || selection.take(number, record)
    }
    return selection.finish()
  }
}
