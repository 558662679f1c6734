import CBOR
import JSON

/// An ``ItemSearch`` in progress in one state. It scans the items of the kind or the categories in steps, so that
/// no request waits for a whole catalog.
///
/// Indexes on attributes are declared by an app's types. A search for items of a kind uses those that the app's queries
/// have built, or that the snapshot's layers have.
package struct ItemScan: Sendable {
  private enum Source: Sendable {
    case everything
    /// The group of the kind in the index.
    case kind(Int)
    case numbers([Int])
  }

  /// A sorted search selects at least this many of the first items.
  private static let leastNeeded = 1024
  /// How long the remaining items are counted after a page is found, so that a small catalog's count is exact at once.
  private static var countingTime: Duration { .milliseconds(20) }

  private let catalog: Catalog
  private let search: ItemSearch
  private let source: Source
  private let conditions: [Condition]
  private let orders: [QueryOrder]
  /// Whether items match without reading their records.
  private let isFree: Bool

  /// The numbers of the items found so far, in order. In a sorted search, these are the first ones, and there are none
  /// before the search is complete.
  private var numbers: [Int] = []
  private var matchCount = 0
  private var selection: Selection?
  /// How many items a sorted search selects.
  private var needed = 0
  /// The number, or of listed numbers the index, at which the scan continues.
  private var next = 0
  /// Whether all items were scanned.
  private var isAtEnd = false

  package init(_ search: ItemSearch, in catalog: Catalog) {
    self.catalog = catalog
    self.search = search
    orders = search.orders.map { order in
      QueryOrder(
        path: AttributePath(order.field.split(separator: ".").map(String.init)),
        isDescending: order.isDescending)
    }
    conditions = search.comparisons.map { comparison -> Condition in
      let path = AttributePath(comparison.field.split(separator: ".").map(String.init))
      let condition = Condition.value(path, comparison.range)
      return comparison.isNegated ? .not(condition) : condition
    }
    let isOnlyOfKind = search.query == EntityQuery(kind: search.query.kind) && conditions.isEmpty
    if let categories = search.query.categories {
      // An item is in one category, so no number comes twice.
      source = .numbers(categories.flatMap { catalog.items(in: $0).map(\.id.number) }.sorted())
      isFree = false
    } else if let numbers = search.indexed(in: catalog) {
      source = .numbers(numbers)
      isFree = false
    } else if let kind = search.query.kind, catalog.kinds != [kind] {
      let group = catalog.kindNumbers.number(of: kind) ?? -1
      // If many items are of the kind, scanning all items is faster than looking each one up.
      let few = catalog.itemCount / 8
      let members = catalog.itemsByKind.members(of: group)
      let isFew = isOnlyOfKind || members.prefix(few + 1).reduce(0) { count, _ in count + 1 } <= few
      source = isFew ? .kind(group) : .everything
      isFree = isOnlyOfKind
    } else {
      source = .everything
      isFree = isOnlyOfKind
    }
  }

  /// Whether ``total`` is the number of all that match.
  package var isComplete: Bool { isAtEnd || countsEverything }

  /// How many items match, as far as is known.
  package var total: Int { countsEverything ? catalog.itemCount : matchCount }

  private var countsEverything: Bool {
    if case .everything = source, isFree, orders.isEmpty { true } else { false }
  }

  /// A page of the items found.
  package func page(offset: Int, limit: Int) -> [Catalog.Item.ID] {
    numbers.dropFirst(offset).prefix(limit).map { EntityID($0) }
  }

  /// Scans until this many items are known in order, everything was scanned, or the time is over. If they are known
  /// already, it uses the time to count the others.
  package mutating func advance(toward count: Int, atMost time: Duration) {
    if !orders.isEmpty, selection == nil && !isAtEnd || count > needed && numbers.count < matchCount {
      // From the beginning, because items that were not among the first were not kept.
      needed = max(Self.leastNeeded, count * 2)
      selection = Selection(orders, needed: needed)
      (next, matchCount, isAtEnd, numbers) = (0, 0, false, [])
    }
    if isAtEnd || countsEverything && numbers.count >= count { return }
    let enough = orders.isEmpty && numbers.count < count ? count : .max
    let clock = ContinuousClock()
    let start = clock.now
    var steps = 0
    // The clock is read rarely, because reading it takes time.
    func isOver() -> Bool {
      steps += 1
      if steps % 64 > 0 { return false }
      return clock.now - start >= (numbers.count >= enough ? min(Self.countingTime, time) : time)
    }
    switch source {
    case .everything:
      for (number, row) in catalog.itemTable.entities(from: next) {
        next = number + 1
        take(number, row)
        if isOver() { return }
      }
    case .kind(let group):
      let lines = catalog.itemsByKind.lines(
        from: IndexKey(group: group, member: next), through: IndexKey(group: group, member: -1))
      for line in lines {
        next = line.member + 1
        take(line.member, nil)
        if isOver() { return }
      }
    case .numbers(let listed):
      while next < listed.count {
        next += 1
        take(listed[next - 1], nil)
        if isOver() { return }
      }
    }
    isAtEnd = true
    if selection != nil { numbers = selection?.finish() ?? [] }
    selection = nil
  }

  /// Tests an item; its row is looked up if it is needed and not given.
  private mutating func take(_ number: Int, _ row: EntityRow?) {
    if isFree, orders.isEmpty {
      matchCount += 1
      numbers.append(number)
      return
    }
    guard let item = (row ?? catalog.itemTable[number]).map({ Catalog.Item(number: number, row: $0) }),
      search.query == EntityQuery() || search.query.matches(item.id.entity, item.record),
      conditions.allSatisfy({ $0.holds(for: item.record) })
    else { return }
    matchCount += 1
    if orders.isEmpty {
      numbers.append(number)
    } else {
      _ = selection?.take(number) {
        orders.indices.map { item.key(search.orders[$0].field, orders[$0].path) }
      }
    }
  }
}

extension ItemSearch {
  /// The numbers of items that an existing index finds for one of the conditions, in order; nil if no index finds few.
  fileprivate func indexed(in catalog: Catalog) -> [Int]? {
    guard let scope = query.kind.map({ IndexScope(itemsOfKind: $0) }) else { return nil }
    var conditions = comparisons.filter { !$0.isNegated }.map { (field: $0.field, ranges: [$0.range]) }
    for condition in query.conditions where !condition.field.hasPrefix("@") {
      // The value is a text, or what it means in JSON.
      var ranges = [ValueRange.equal(to: .string(condition.value))]
      if let value = try? FieldValue(json: condition.value, decodingWrappers: true) {
        guard value.array == nil, value.dictionary == nil, value != .null else { continue }
        ranges.append(.equal(to: value))
      }
      conditions.append((condition.field, ranges))
    }
    let few = catalog.itemCount / 8
    for (field, ranges) in conditions {
      let path = AttributePath(field.split(separator: ".").map(String.init))
      guard
        let index = catalog.indexCache.existingIndex(
          IndexDefinition(scope, path), in: catalog.itemTable)
      else { continue }
      var numbers: Set<Int> = []
      for range in ranges {
        var lines = index.lines(in: range)
        while numbers.count <= few, let line = lines.next() { numbers.insert(line.member) }
      }
      if numbers.count <= few { return numbers.sorted() }
    }
    return nil
  }
}

extension Catalog.Item {
  fileprivate func key(_ field: String, _ path: AttributePath) -> ValueKey {
    switch field {
    case "@modified": ValueKey(.integer(Int64(modified)))
    case "@created": ValueKey(.integer(Int64(created)))
    case "@kind": ValueKey(.string(kind))
    default: record.key(at: path)
    }
  }
}
