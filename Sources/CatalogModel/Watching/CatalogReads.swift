import CBOR
import Locks

/// What some code has read of a state: single entities, whole tables, their counts, and what queries depend on. If none
/// of it differs between two states, the code has the same result for both.
///
/// Safe to use from any thread.
final class CatalogReads: Sendable {
  private struct Found: Sendable {
    var tables: Set<EntityKind> = []
    var counts: Set<EntityKind> = []
    var entities: [EntityKind: Set<Int>] = [:]
    /// The items whose images were listed.
    var owners: Set<Int> = []
    var items: [ItemsRead] = []

    func has(_ kind: EntityKind) -> Bool {
      tables.contains(kind) || entities[kind] != nil || kind == .item && !items.isEmpty
        || kind == .image && !owners.isEmpty
    }
  }

  private let found = Lock(Found())

  func note(all kinds: EntityKind...) { found.withLock { $0.tables.formUnion(kinds) } }
  func note(countOf kind: EntityKind) { found.withLock { _ = $0.counts.insert(kind) } }
  func note(_ entity: EntityKey) {
    found.withLock { _ = $0.entities[entity.kind, default: []].insert(entity.number) }
  }
  func note(imagesOf item: Int) { found.withLock { _ = $0.owners.insert(item) } }
  func note(_ items: ItemsRead) { found.withLock { $0.items.append(items) } }

  /// Notes that a query has run.
  /// - Parameter readsValues: whether the values of its items were read too.
  func note(_ plan: QueryPlan, _ numbers: [Int], in catalog: Catalog, readsValues: Bool) {
    if plan.isRanked {
      // The rank of an item depends on the others.
      note(all: .item)
    } else if let source = plan.source {
      note(source.plan, source.numbers(in: catalog), in: catalog, readsValues: true)
    } else if plan.limit != 0 {
      note(ItemsRead(plan, numbers, in: catalog, readsValues: readsValues))
    }
  }

  /// Whether something that was read differs between the two states of a step.
  /// - Complexity: O(d) for d changed entities of the kinds that were read, and for each of them O(q) for q queries.
  func differ(in step: CatalogStep) -> Bool {
    let found = found.withLock { $0 }
    return EntityKind.all.contains { kind in
      if found.counts.contains(kind), step.count(of: kind, in: step.old) != step.count(of: kind, in: step.new)
      {
        return true
      }
      guard found.has(kind) else { return false }
      guard let numbers = step.numbers(of: kind) else { return true }
      if found.tables.contains(kind) { return !numbers.isEmpty }
      return numbers.contains { number in
        if found.entities[kind]?.contains(number) == true { return true }
        switch kind {
        case .item where !found.items.isEmpty:
          let change = step.change(of: number)
          return found.items.contains { $0.isChanged(by: change) }
        case .image: return step.owners(ofImage: number).contains { found.owners.contains($0) }
        default: return false
        }
      }
    }
  }
}

/// The items on which the answer to a query depends.
struct ItemsRead: Sendable {
  private let kind: ItemKind?
  private let conditions: [Condition]
  private let orders: [QueryOrder]
  /// The last item that was found; nil if there was no limit, or if fewer items were found.
  private var last: (keys: [ValueKey], number: Int)?
  private let readsValues: Bool

  /// All items of a kind, or of all kinds if that is nil, that fulfil some conditions, with their values.
  init(_ kind: ItemKind?, _ conditions: [Condition]) {
    (self.kind, self.conditions, orders, readsValues) = (kind, conditions, [], true)
  }

  /// The items that a query has found. The query must have no source.
  init(_ plan: QueryPlan, _ numbers: [Int], in catalog: Catalog, readsValues: Bool) {
    (kind, orders) = (ItemKind(plan.kind), plan.orders)
    // A closure may read the state that it was made for, so it is not asked about the items of a newer one.
    conditions = plan.conjuncts.filter { !$0.hasClosure }
    self.readsValues = readsValues || conditions.count < plan.conjuncts.count
    if let number = numbers.last, numbers.count == plan.limit {
      last = plan.orders.keys(of: number, in: catalog).map { (keys: $0, number: number) }
    }
  }

  /// Whether an item's change can change the answer.
  func isChanged(by change: ItemChange) -> Bool {
    let (old, new) = (keys(of: change.old, change.number), keys(of: change.new, change.number))
    return old != new || old != nil && readsValues
  }

  /// The sort keys of an item; nil if it does not fulfil the conditions, or comes after the last item that was found.
  private func keys(of row: EntityRow?, _ number: Int) -> [ValueKey]? {
    guard let record = row?.record, kind?.isKind(of: record) ?? true,
      Condition.all(conditions).test(record)
    else { return nil }
    let keys = orders.map { record.key(at: $0.path) }
    return last.map { orders.isBefore($0, (keys, number)) } == true ? nil : keys
  }
}

extension [QueryOrder] {
  /// The sort keys of an existing item; nil if it can't be read.
  func keys(of number: Int, in catalog: Catalog) -> [ValueKey]? {
    catalog.contents.itemTable[number].map { row in map { row.record.key(at: $0.path) } }
  }
}
