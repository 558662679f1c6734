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
  let indexed: IndexedPaths
  /// The search whose best matches come first, unless there are sort keys.
  var ranking: WordSearch?
  /// Whether the best matches of a search come first.
  var isRanked: Bool { ranking != nil && orders.isEmpty }
  /// The source of the items. Nil for all items of the kind.
  let source: QueryAnswer?
  var conditions: [Condition] = []
  var orders: [QueryOrder] = []
  var offset = 0
  var limit: Int?

  /// The plan of all items of a type.
  init<Model: CatalogItem>(_: Model.Type) {
    (kind, indexed, source) = (Model.kind, Model.indexedPaths, nil)
  }

  /// The plan of all items that a limited query finds.
  init(_ kind: String, source: QueryAnswer) {
    (self.kind, self.source) = (kind, source)
    indexed = IndexedPaths()
  }

  /// The conditions that must all hold. Those with a closure come last, because each decodes the whole item.
  var conjuncts: [Condition] {
    let all = conditions.flatMap(\.conjuncts)
    return all.filter { !$0.hasClosure } + all.filter(\.hasClosure)
  }

  var hasClosure: Bool { conditions.contains(where: \.hasClosure) }

  /// How many items must be found, including those that are skipped.
  private var needed: Int {
    guard let limit else { return .max }
    let (sum, overflows) = limit.addingReportingOverflow(offset)
    return overflows ? .max : sum
  }

  /// The numbers of the items, in order, and what was read to find them.
  func run(in catalog: Catalog) -> (numbers: [Int], work: QueryWork) {
    var work = QueryWork()
    guard limit != 0 else { return ([], work) }
    var numbers = everything(in: catalog, &work)
    if let limit, numbers.count - offset > limit { numbers.removeLast(numbers.count - offset - limit) }
    if offset > 0 { numbers.removeFirst(Swift.min(offset, numbers.count)) }
    return (numbers, work)
  }

  /// The numbers of the items in order, including items to be skipped. There may be more than needed.
  private func everything(in catalog: Catalog, _ work: inout QueryWork) -> [Int] {
    let conjuncts = conjuncts
    if let source {
      let (numbers, done) = source.run(in: catalog)
      work = done ?? work
      guard let ranking, orders.isEmpty else { return sift(numbers, conjuncts, in: catalog, &work) }
      // Ranked among all items, so that the order does not depend on the limit.
      let ranked = ranking.ranked(in: catalog, [], needed: .max, &work).filter(Set(numbers).contains)
      return sift(ranked, conjuncts.filter { !$0.isSearch(ranking) }, in: catalog, &work)
    }
    let indexes = Indexes(self, catalog)
    if let ranking, orders.isEmpty { return ranking.ranked(in: catalog, conjuncts, needed: needed, &work) }
    var narrow = conjuncts.indices.compactMap { index in
      Candidates(conjuncts[index], indexes).map { (candidates: $0, rest: index) }
    }
    var (walk, tested) = walk(conjuncts, indexes)
    let test = Condition.all(tested).test
    var recordCount = 0
    func note(_ paths: [AttributePath]) {
      work.paths = paths
      work.lineCount = narrow.reduce(walk?.lineCount ?? 0) { $0 + $1.candidates.lineCount }
      work.recordCount = recordCount + indexes.recordCount
    }
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
        recordCount += 1
        guard let record = catalog.itemTable[number]?.record, test(record) else { return nil }
        return orders.dropFirst().map { record.key(at: $0.path) }
      }
      if let walk, isDone == true {
        note([orders[0].path])
        return walk.numbers
      }
      for index in narrow.indices where narrow[index].candidates.collect(steps) {
        var rest = conjuncts
        rest.remove(at: narrow[index].rest)
        note(narrow[index].candidates.paths)
        return sift(narrow[index].candidates.sorted(), rest, in: catalog, &work)
      }
      steps *= 2
    }
    return scan(conjuncts, in: catalog, &work)
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
  private func sift(
    _ candidates: [Int], _ conditions: [Condition], in catalog: Catalog, _ work: inout QueryWork
  ) -> [Int] {
    if conditions.isEmpty && orders.isEmpty { return candidates }
    var selection = Selection(orders, needed: needed)
    let test = Condition.all(conditions).test
    for number in candidates {
      work.recordCount += 1
      guard let record = catalog.itemTable[number]?.record else { continue }
      if test(record), !selection.take(number, record) { break }
    }
    if !orders.isEmpty { work.isSorted = true }
    return selection.finish()
  }

  private func scan(
    _ conditions: [Condition], in catalog: Catalog, _ work: inout QueryWork
  ) -> [Int] {
    if conditions.isEmpty && orders.isEmpty {
      let numbers = Array(catalog.contents.numbers(ofKind: kind).prefix(needed))
      work.lineCount = numbers.count
      return numbers
    }
    let test = Condition.all(conditions).test
    if orders.isEmpty, limit == nil {
      var numbers: [Int] = []
      (work.lineCount, work.recordCount) = catalog.forEachPart(ofKind: kind, isConcurrent: !hasClosure) {
        forEachItem in
        var numbers: [Int] = []
        forEachItem { number, record in
          if test(record) { numbers.append(number) }
          return true
        }
        return numbers
      } _: {
        numbers += $0
      }
      return numbers
    }
    var selection = Selection(orders, needed: needed)
    (work.lineCount, work.recordCount) = catalog.forEachItem(ofKind: kind) { number, record in
      !test(record) || selection.take(number, record)
    }
    work.isSorted = !orders.isEmpty
    return selection.finish()
  }
}
