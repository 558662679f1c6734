import CBOR

/// Collects values of the items that a query finds, in groups, in one pass over the items or over indexes.
struct Aggregation {
  /// An end of an index.
  enum End { case first, last }

  /// What one aggregate collects.
  struct Part: Sendable {
    /// The attribute; nil to count items.
    let path: AttributePath?
    /// The end of an index where the value is, if one value is enough.
    let end: End?
    let make: @Sendable () -> any Accumulator
  }

  typealias Group = (key: ValueKey, values: [any Accumulator])

  /// The attribute whose values make the groups. Nil for one group of all items, which exists even without items.
  let path: AttributePath?
  let parts: [Part]

  /// The groups in the order of their keys.
  /// - Throws: `DecodingError` if an item has a value that the property can't have.
  func groups(of plan: QueryPlan, _ answer: QueryAnswer, in catalog: Catalog) throws -> [Group] {
    catalog.reads?.note(all: .item)
    if let groups = try covered(plan, in: catalog) { return groups }
    var groups = AggregateGroups(self)
    let paths = AttributePaths([path] + parts.map(\.path))
    if let test = plan.scanTest(answer, in: catalog) {
      let none = groups
      var isFirst = true
      catalog.forEachPart(ofKind: plan.kind, isConcurrent: !plan.hasClosure) { forEachItem in
        var groups = none
        forEachItem { !test($1) || groups.take($0, $1, at: paths) }
        return groups
      } _: { part in
        if isFirst { groups = part } else { groups.take(all: part) }
        isFirst = false
      }
    } else {
      for (number, row) in catalog.itemTable.entities(plan.found(answer, in: catalog)) {
        if let row, !groups.take(number, row.record, at: paths) { break }
      }
    }
    if let wrong = groups.wrong { throw Self.mismatch(wrong) }
    return groups.sorted
  }

  fileprivate func makeValues() -> [any Accumulator] { parts.map { $0.make() } }

  private static func mismatch(_ number: Int) -> DecodingError {
    .typeMismatch(
      Double.self,
      .init(codingPath: [], debugDescription: "item:\(number) has another value where a number should be"))
  }

  // MARK: Indexes

  /// The groups, if indexes in memory have all values and decide every condition. No item is read. Nil otherwise.
  private func covered(_ plan: QueryPlan, in catalog: Catalog) throws -> [Group]? {
    let paths = Set(parts.compactMap(\.path))
    guard let main = path ?? paths.first, path != nil || paths.count == 1,
      let range = plan.range(of: main)
    else { return nil }
    let indexes = Indexes(plan, catalog)
    guard let index = indexes[main] else { return nil }
    if path == nil, parts.count == 1, let end = parts[0].end {
      var values = makeValues()
      var lines = index.lines(in: range.linesWithValue, reversed: end == .last)
      if let line = lines.next() { _ = values[0].take(line.key) }
      return [(.missing, values)]
    }
    let others = paths.subtracting([main])
    // A layer's index needs a lookup for each line, so reading all items is faster.
    // The highest number comes from a file, so the array below is bounded by lines that exist.
    guard let lineCount = index.memoryLineCount, others.allSatisfy({ indexes[$0]?.memoryLineCount != nil }),
      others.isEmpty || catalog.itemTable.highest / 16 <= lineCount
    else { return nil }
    var places = Array(repeating: -1, count: others.isEmpty ? 0 : catalog.itemTable.highest + 1)
    var groups = try walk(index.lines(in: range), of: main, &places)
    for other in others {
      let wanted = parts.indices.filter { parts[$0].path == other }
      guard var lines = indexes[other]?.lines(in: .all) else { return nil }
      while let line = lines.next() {
        guard places.indices.contains(line.member), places[line.member] >= 0 else { continue }
        for part in wanted where !groups[places[line.member]].values[part].take(line.key) {
          throw Self.mismatch(line.member)
        }
      }
    }
    return groups
  }

  /// Makes the groups of an index, and takes the values that its lines have.
  /// - Parameter places: gets the place of the group of each item whose number is an index of this array.
  private func walk(
    _ lines: consuming QueryIndex.Lines, of main: AttributePath, _ places: inout [Int]
  ) throws -> [Group] {
    let own = parts.indices.filter { parts[$0].path == nil || parts[$0].path == main }
    var groups: [Group] = []
    var key: ValueKey? = path == nil ? .missing : nil
    var values = makeValues()
    while let line = lines.next() {
      if path != nil, line.key != key {
        if let key { groups.append((key, values)) }
        (key, values) = (line.key, makeValues())
      }
      for index in own where !values[index].take(line.key) { throw Self.mismatch(line.member) }
      if places.indices.contains(line.member) { places[line.member] = groups.count }
    }
    if let key { groups.append((key, values)) }
    return groups
  }
}

extension QueryIndex {
  /// The number of lines of an index in memory; nil for one in layers.
  fileprivate var memoryLineCount: Int? { if case .memory(let index) = self { index.count } else { nil } }
}

extension ValueRange {
  /// The lines in this range, without those of items that lack the value; nil if there can be none.
  fileprivate var linesWithValue: ClosedRange<ValueLine>? {
    guard let lines else { return nil }
    let first = max(lines.lowerBound, ValueLine(key: .missing, member: .max))
    return first <= lines.upperBound ? first...lines.upperBound : nil
  }
}

extension QueryPlan {
  /// The range of the values at a path that are those of the query's items, if its conditions demand nothing else and it
  /// is not limited; nil otherwise.
  fileprivate func range(of path: AttributePath) -> ValueRange? {
    guard source == nil, limit == nil, offset == 0 else { return nil }
    let conjuncts = conjuncts
    if conjuncts.isEmpty { return .all }
    guard conjuncts.count == 1, case .value(path, let range) = conjuncts[0], !range.lower.isElement else {
      return nil
    }
    return range
  }

  private var isLimited: Bool { source != nil || limit != nil || offset > 0 }

  /// The test of each item, if all items of the kind must be read; nil if an index gives some, or they are known.
  fileprivate func scanTest(
    _ answer: QueryAnswer, in catalog: Catalog
  ) -> (@Sendable (EntityRecord) -> Bool)? {
    let indexes = Indexes(self, catalog)
    let conjuncts = conjuncts
    let isScan =
      !isLimited && !answer.isKnown && !conjuncts.contains(where: { Candidates($0, indexes) != nil })
    return isScan ? Condition.all(conjuncts).test : nil
  }

  /// The numbers of the items that the query finds, in any order.
  fileprivate func found(_ answer: QueryAnswer, in catalog: Catalog) -> [Int] {
    if answer.isKnown || isLimited { return answer.numbers(in: catalog) }
    var plan = self
    (plan.orders, plan.ranking) = ([], nil)
    return plan.run(in: catalog).numbers
  }
}

/// The groups of an aggregation while items are read.
private struct AggregateGroups: Sendable {
  /// Whether all items are one group.
  private let isOne: Bool
  private let empty: [any Accumulator]
  private var groups: [Aggregation.Group] = []
  private var places: [ValueKey: Int] = [:]
  /// The number of an item with a value that its property can't have.
  private(set) var wrong: Int?

  init(_ aggregation: Aggregation) {
    isOne = aggregation.path == nil
    empty = aggregation.makeValues()
    if isOne { groups = [(.missing, empty)] }
  }

  var sorted: [Aggregation.Group] { groups.sorted { $0.key < $1.key } }

  /// Takes the values of an item. Returns false if one is wrong.
  /// - Parameter paths: that of the group, and then those of the values.
  mutating func take(_ number: Int, _ record: EntityRecord, at paths: AttributePaths) -> Bool {
    var place = 0
    record.forEachKey(at: paths) { index, key in
      if index > 0 {
        if !groups[place].values[index - 1].take(key) { wrong = number }
      } else if !isOne {
        place = self.place(of: key)
      }
    }
    return wrong == nil
  }

  /// Takes the groups of later items.
  mutating func take(all other: AggregateGroups) {
    wrong = wrong ?? other.wrong
    for group in other.groups {
      let place = isOne ? 0 : place(of: group.key)
      for index in empty.indices { groups[place].values[index].takeAll(of: group.values[index]) }
    }
  }

  private mutating func place(of key: ValueKey) -> Int {
    if let place = places[key] { return place }
    places[key] = groups.count
    groups.append((key, empty))
    return groups.count - 1
  }
}
