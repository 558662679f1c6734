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
    var groups: [Group] = path == nil ? [(.missing, makeValues())] : []
    var places: [ValueKey: Int] = [:]
    var wrong: Int?
    plan.forEachRecord(answer, in: catalog) { number, record in
      var place = 0
      if let path {
        let key = record.key(at: path)
        place = places[key] ?? groups.count
        if place == groups.count {
          places[key] = place
          groups.append((key, makeValues()))
        }
      }
      for (index, part) in parts.enumerated() {
        let value = part.path.map { record.key(at: $0) } ?? .missing
        if !groups[place].values[index].take(value) { wrong = number }
      }
      return wrong == nil
    }
    if let wrong { throw Self.mismatch(wrong) }
    return groups.sorted { $0.key < $1.key }
  }

  private func makeValues() -> [any Accumulator] { parts.map { $0.make() } }

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
      let values = makeValues()
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
    let groups = try walk(index.lines(in: range), of: main, &places)
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
    var groups: [Group] = path == nil ? [(.missing, makeValues())] : []
    var values = groups.first.map { first in own.map { first.values[$0] } } ?? []
    var last: ValueKey?
    while let line = lines.next() {
      if path != nil, line.key != last {
        let all = makeValues()
        groups.append((line.key, all))
        values = own.map { all[$0] }
        last = line.key
      }
      for accumulator in values where !accumulator.take(line.key) { throw Self.mismatch(line.member) }
      if places.indices.contains(line.member) { places[line.member] = groups.count - 1 }
    }
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

  /// Calls `body` with the items that the query finds, in any order, until `body` returns false.
  fileprivate func forEachRecord(
    _ answer: QueryAnswer, in catalog: Catalog, _ body: (_ number: Int, _ record: EntityRecord) -> Bool
  ) {
    var plan = self
    let isLimited = source != nil || limit != nil || offset > 0
    if !isLimited { plan.orders = [] }
    if !isLimited, !answer.isKnown {
      let indexes = Indexes(self, catalog)
      let conjuncts = conjuncts
      if !conjuncts.contains(where: { Candidates($0, indexes) != nil }) {
        let test = Condition.all(conjuncts).test
        catalog.forEachItem(ofKind: kind) { number, record in !test(record) || body(number, record) }
        return
      }
    }
    let numbers = answer.isKnown || isLimited ? answer.numbers(in: catalog) : plan.run(in: catalog).numbers
    for (number, row) in catalog.itemTable.entities(numbers) {
      if let row, !body(number, row.record) { return }
    }
  }
}
