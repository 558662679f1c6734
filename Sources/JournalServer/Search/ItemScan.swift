import CBOR
import CatalogModel
import EntitySearch

/// An ``ItemSearch`` in progress in one state. Items are scanned in steps, so that no request waits for the
/// scan of a whole catalog.
///
/// A search for items of one kind uses an index on an attribute, if a query has built one or a layer has one. It
/// prefers an index with which a condition finds few items. Otherwise it uses the index on the first sort key, which
/// finds a page before all items are scanned.
struct ItemScan: Sendable {
  private enum Source: Sendable {
    case everything
    case kind(Int)
    case numbers([Int])
  }

  /// A sorted search selects at least this many items.
  private static let leastNeeded = 1024
  /// How long a scan continues to count after it has found a page, so that the first count of a small catalog is exact.
  private static var countingTime: Duration { .milliseconds(20) }

  private let catalog: Catalog
  private let search: ItemSearch
  private let source: Source
  private let orders: [QueryOrder]
  /// Whether all scanned items match, so that their records need not be read.
  private let isFree: Bool

  /// The numbers of the items found so far, in order. In a sorted search, this is empty until the scan is complete, and
  /// then has the first ``needed`` items.
  private var numbers: [Int] = []
  private var matchCount = 0
  private var selection: Selection?
  /// A walk over the index on the first sort key; nil if there is no such index, or the walk has ended.
  private var walk: OrderedWalk?
  /// The number of items that a sorted search selects.
  private var needed = 0
  /// Where the scan continues: the number of an item or, if ``source`` is a list of numbers, an index in this list.
  private var next = 0
  private var isAtEnd = false

  init(_ search: ItemSearch, in catalog: Catalog) {
    self.catalog = catalog
    self.search = search
    orders = search.orders.map(\.order)
    // If all items are of one kind, that kind's indexes can be used.
    let kind = search.query.kind ?? (catalog.kinds.count == 1 ? catalog.kinds[0] : nil)
    let scope = kind.map { IndexScope(itemsOfKind: $0) }
    let isOnlyOfKind = search.query == EntityQuery(kind: search.query.kind)
    if let categories = search.query.categories {
      // An item is in at most one category, so no number occurs twice.
      source = .numbers(categories.flatMap { catalog.items(in: $0).map(\.id.number) }.sorted())
      isFree = false
    } else if let numbers = scope.flatMap({ search.indexed($0, in: catalog) }) {
      source = .numbers(numbers)
      isFree = false
    } else if let kind = search.query.kind,
      !catalog.kinds.elementsEqual([kind], by: { $0.utf8.elementsEqual($1.utf8) })
    {
      let group = catalog.itemKindNumbers.number(of: kind) ?? -1
      // If many items are of the kind, scanning all items is faster than looking each one up.
      let few = catalog.itemCount / EntityTable.manyShare
      let members = catalog.itemsByKind.members(of: group)
      let isFew = isOnlyOfKind || members.prefix(few + 1).reduce(0) { count, _ in count + 1 } <= few
      source = isFew ? .kind(group) : .everything
      isFree = isOnlyOfKind
    } else {
      source = .everything
      isFree = isOnlyOfKind
    }
    if case .numbers = source { return }
    walk = scope.flatMap { search.indexOfOrder($0, in: catalog) }.map { OrderedWalk($0, orders) }
  }

  var isComplete: Bool { isAtEnd || countsEverything }

  /// The number of matching items known so far; see ``isComplete``.
  var total: Int {
    countsEverything ? catalog.itemCount : max(matchCount, walk?.numbers.count ?? 0)
  }

  /// Whether all items match, and their order is known without sorting.
  private var countsEverything: Bool { countsEverything(walking: walk != nil) }

  private func countsEverything(walking: Bool) -> Bool {
    if case .everything = source, isFree, orders.isEmpty || walking { true } else { false }
  }

  /// Whether the first `count` items in order are known, or all if fewer match.
  func hasFound(_ count: Int) -> Bool {
    let found = max(walk?.numbers.count ?? 0, numbers.count)
    return found >= count || isAtEnd && found >= matchCount
  }

  func page(offset: Int, limit: Int) -> [Catalog.Item.ID] {
    // Both lists begin with the first items in order, so the longer one is used.
    let walked = walk?.numbers ?? []
    let found = walked.count > numbers.count ? walked : numbers
    return found.dropFirst(offset).prefix(limit).map { EntityID($0) }
  }

  /// Scans until the first `count` items in order are known, everything was scanned, or `time` has elapsed. If these
  /// items are already known, uses the time to count the other matches, unless all items match.
  mutating func advance(toward count: Int, atMost time: Duration) {
    if isAtEnd && hasFound(count) { return }
    if walk == nil { return scan(toward: count, atMost: time) }
    let start = ContinuousClock().now
    let isKnown = hasFound(count)
    // If not all items match, half of the time is for a scan, which finds rare matches sooner and counts matches.
    walk(toward: count, until: start + (isFree ? time : time / 2))
    if walk == nil || isFree { return }
    let rest = start + time - ContinuousClock().now
    scan(toward: count, atMost: !isKnown && hasFound(count) ? min(Self.countingTime, rest) : rest)
  }

  private mutating func walk(toward count: Int, until end: ContinuousClock.Instant) {
    guard var walk else { return }
    // The walk is moved out of `self`, so that changing it does not copy it.
    self.walk = nil
    // If all items of the kind match, but their number is not known, the walk also counts them.
    let needed = isFree && !countsEverything(walking: true) ? .max : count
    var readings = ClockReadings()
    func isOver() -> Bool { readings.isDue() && ContinuousClock().now >= end }
    _ = walk.walk(until: needed, isOver: isOver) { number in
      if isFree && orders.count == 1 { return [] }
      guard let item = matching(number, nil, &readings) else { return nil }
      return orders.indices.dropFirst().map { item.key(search.orders[$0].field, orders[$0].path) }
    }
    if walk.isAtEnd {
      (numbers, matchCount, selection, isAtEnd) = (walk.numbers, walk.numbers.count, nil, true)
    } else {
      self.walk = walk
    }
  }

  private mutating func scan(toward count: Int, atMost time: Duration) {
    let clock = ContinuousClock()
    let start = clock.now
    let lacksSome = count > needed && numbers.count < matchCount && !hasFound(count)
    if !orders.isEmpty, selection == nil && !isAtEnd || lacksSome {
      // The scan starts, or starts again if too few of the first items were kept.
      needed = max(Self.leastNeeded, count * 2)
      selection = Selection(orders, needed: needed)
      (next, matchCount, isAtEnd, numbers) = (0, 0, false, [])
    }
    let countsEverything = countsEverything
    if isAtEnd || countsEverything && numbers.count >= count { return }
    let enough = orders.isEmpty && numbers.count < count ? count : .max
    var readings = ClockReadings()
    func isOver() -> Bool {
      if countsEverything, numbers.count >= enough { return true }
      return readings.isDue()
        && clock.now - start >= (numbers.count >= enough ? min(Self.countingTime, time) : time)
    }
    switch source {
    case .everything:
      for (number, row) in catalog.itemTable.entities(from: next) {
        next = number + 1
        take(number, row, &readings)
        if isOver() { return }
      }
    case .kind(let group):
      let lines = catalog.itemsByKind.lines(
        from: IndexKey(group: group, member: next), through: IndexKey(group: group, member: -1))
      for line in lines {
        next = line.member + 1
        take(line.member, nil, &readings)
        if isOver() { return }
      }
    case .numbers(let listed):
      while next < listed.count {
        next += 1
        take(listed[next - 1], nil, &readings)
        if isOver() { return }
      }
    }
    isAtEnd = true
    if selection != nil { numbers = selection?.finish() ?? [] }
    selection = nil
  }

  /// The item if it matches the query; otherwise nil. If `row` is nil, the item is looked up by its number.
  private func matching(
    _ number: Int, _ row: EntityRow?, _ readings: inout ClockReadings
  ) -> Catalog.Item? {
    guard let row = row ?? catalog.itemTable[number] else { return nil }
    readings.note(row.record)
    let item = Catalog.Item(number: number, row: row)
    return search.query.matches(item.id.entity, item.record) ? item : nil
  }

  private mutating func take(_ number: Int, _ row: EntityRow?, _ readings: inout ClockReadings) {
    if isFree, orders.isEmpty {
      matchCount += 1
      numbers.append(number)
      return
    }
    guard let item = matching(number, row, &readings) else { return }
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

/// Tells a search when to read the clock: after 64 items, or fewer large ones. Reading the clock takes longer than
/// testing a small item.
private struct ClockReadings {
  /// Items since the last reading. An item counts once more for each 4 KiB of its record.
  private var itemCount = 0

  mutating func note(_ record: EntityRecord) { itemCount += record.bytes.count / 4096 }

  /// Whether to read the clock now. Must be called once for each item.
  mutating func isDue() -> Bool {
    itemCount += 1
    if itemCount < 64 { return false }
    itemCount = 0
    return true
  }
}

extension ItemSearch {
  fileprivate func indexOfOrder(_ scope: IndexScope, in catalog: Catalog) -> QueryIndex? {
    guard let (field, order) = orders.first, !field.hasPrefix("@") else { return nil }
    return catalog.indexCache.existingIndex(IndexDefinition(scope, order.path), in: catalog.itemTable)
  }

  /// The numbers of the items that an index finds for one of the conditions, in order; nil if each finds too many.
  fileprivate func indexed(_ scope: IndexScope, in catalog: Catalog) -> [Int]? {
    let few = catalog.itemCount / EntityTable.manyShare
    for condition in query.conditions {
      guard let (path, ranges) = condition.lookup,
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
