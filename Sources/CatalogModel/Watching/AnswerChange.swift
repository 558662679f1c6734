import CBOR

/// How the answer to a query without a limit changes when a few items change. Finding it takes no pass over records: the
/// places of the items are found by binary search.
struct AnswerChange<Model: CatalogItem> {
  private typealias Place = (keys: [ValueKey], number: Int)

  /// The new answer.
  private(set) var numbers: [Int]
  /// The items that are no longer in the answer or move in it, with their offsets in the old answer, in order.
  private var removed: [(offset: Int, number: Int)] = []
  /// The items that come into the answer or move in it, with their offsets in the new answer, in order.
  private var inserted: [(offset: Int, number: Int)] = []
  /// The items that stay in the answer with another value, in the order of the new answer.
  private var changed: [Int] = []

  /// - Parameters:
  ///   - items: the old answer.
  ///   - changes: all items that have changed since then.
  ///   - catalog: the newer state.
  /// - Returns: nil if an item can't be read any more, or is not where its values put it.
  /// - Complexity: O(n) in copied numbers; and O(log n) items are read for each of the changes.
  init?(of items: ItemQuery<Model>, by changes: [ItemChange], in catalog: Catalog) {
    let (plan, old) = (items.plan, items.numbers)
    let (orders, kind) = (plan.orders, ItemKind(plan.kind))
    let test = Condition.all(plan.conjuncts).test
    func keys(of row: EntityRow?) -> [ValueKey]? {
      guard let record = row?.record, kind.isKind(of: record), test(record) else { return nil }
      return orders.map { record.key(at: $0.path) }
    }
    var isReadable = true
    /// The first index whose item is not before a place.
    func index(of place: Place, in numbers: [Int], _ catalog: Catalog) -> Int {
      numbers.partitioningIndex { number in
        guard let keys = orders.isEmpty ? [] : orders.keys(of: number, in: catalog) else {
          isReadable = false
          return true
        }
        return !orders.isBefore((keys, number), place)
      }
    }
    var (leaving, coming): ([(offset: Int, number: Int)], [Place]) = ([], [])
    var staying: [Place] = []
    for change in changes {
      let (before, after) = (keys(of: change.old), keys(of: change.new))
      if before != nil, let after { staying.append((after, change.number)) }
      if before == after { continue }
      if let before {
        let offset = index(of: (before, change.number), in: old, items.catalog)
        guard old.indices.contains(offset), old[offset] == change.number else { return nil }
        leaving.append((offset, change.number))
      }
      if let after { coming.append((after, change.number)) }
    }
    leaving.sort { $0.offset < $1.offset }
    coming.sort { orders.isBefore($0, $1) }
    // Copied in pieces, because removing or inserting one number would move all that follow.
    numbers = []
    numbers.reserveCapacity(old.count + coming.count)
    var start = 0
    for (offset, _) in leaving {
      numbers += old[start..<offset]
      start = offset + 1
    }
    numbers += old[start...]
    let stayed = numbers
    let ranks = coming.map { index(of: $0, in: stayed, catalog) }
    if !coming.isEmpty {
      numbers.removeAll(keepingCapacity: true)
      start = 0
      for (place, rank) in zip(coming, ranks) {
        // Only an unreadable item makes the ranks descend.
        guard rank >= start else { return nil }
        numbers += stayed[start..<rank]
        numbers.append(place.number)
        start = rank
      }
      numbers += stayed[start...]
    }
    (removed, inserted) = (leaving, zip(coming, ranks).enumerated().map { ($0 + $1.1, $1.0.number) })
    if staying.count > 1 { staying.sort { orders.isBefore($0, $1) } }
    changed = staying.map(\.number)
    keepUnmoved()
    if !isReadable { return nil }
  }

  /// An item that has other values, but is still between the same others, has not moved.
  private mutating func keepUnmoved() {
    var ranks: [Int: Int] = [:]
    for (index, item) in removed.enumerated() { ranks[item.number] = item.offset - index }
    var taken: Set<Int> = []
    var kept: Set<Int> = []
    for (index, item) in inserted.enumerated() {
      let rank = item.offset - index
      if ranks[item.number] == rank, taken.insert(rank).inserted { kept.insert(item.number) }
    }
    removed.removeAll { kept.contains($0.number) }
    inserted.removeAll { kept.contains($0.number) }
  }

  /// Whether the answer and the values of its items are the same as before.
  var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && changed.isEmpty }

  func update(_ items: ItemQuery<Model>, _ revision: Revision) -> QueryUpdate<Model> {
    typealias Change = CollectionDifference<ItemID<Model>>.Change
    let (from, to) = (Self.offsets(removed), Self.offsets(inserted))
    let removals = removed.map { offset, number in
      Change.remove(offset: offset, element: ItemID(number), associatedWith: to[number])
    }
    let insertions = inserted.map { offset, number in
      Change.insert(offset: offset, element: ItemID(number), associatedWith: from[number])
    }
    guard let difference = CollectionDifference(removals + insertions) else {
      preconditionFailure("The results of a query are not unique.")
    }
    return QueryUpdate(
      items: items, revision: revision, difference: difference, changed: changed.map { ItemID($0) })
  }

  private static func offsets(_ places: [(offset: Int, number: Int)]) -> [Int: Int] {
    Dictionary(places.map { ($0.number, $0.offset) }) { first, _ in first }
  }
}
