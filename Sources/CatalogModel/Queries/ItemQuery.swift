import CBOR
import Locks

/// The items of a type in a state, filtered, sorted and limited, as a collection.
///
/// Without `sorted(by:)`, items are in the order of their numbers. A query is a value: it retains its state, and later
/// commits do not change its answer. It runs once, on first use. An item is decoded when its value is read.
///
/// - Complexity: With indexes on the filtered and sorted properties, O(log n) plus the number of lines that are read:
///   about that of the results if a condition or the order is selective. Without these indexes, O(n) in the items of
///   the catalog, of which only the properties in the query are decoded. After that, O(1) for the number at a position,
///   and O(log n) for its item. An index finds no text inside another: ``ItemFilter/contains(_:ignoringCase:)`` reads
///   the texts of the items that the other conditions leave.
public struct ItemQuery<Model: CatalogItem>: RandomAccessCollection, Sendable {
  let catalog: Catalog
  private(set) var plan: QueryPlan
  let answer: QueryAnswer

  init(_ catalog: Catalog) { self.init(catalog, QueryPlan(Model.self)) }

  private init(_ catalog: Catalog, _ plan: QueryPlan) { self.init(catalog, plan, QueryAnswer(plan)) }

  init(_ catalog: Catalog, _ plan: QueryPlan, _ answer: QueryAnswer) {
    self.catalog = catalog
    self.plan = plan
    self.answer = answer
  }

  func with(_ change: (inout QueryPlan) -> Void) -> ItemQuery {
    var plan = plan
    // A limited query is filtered and sorted within its limit.
    if plan.limit != nil || plan.offset > 0 {
      plan = QueryPlan(plan.kind, source: answer)
    }
    change(&plan)
    return ItemQuery(catalog, plan)
  }

  /// The items that a filter finds.
  /// - Throws: `JournalError` with code `wrongUse` if a key path of the filter leads to no attribute.
  public func filter(_ filter: ItemFilter<Model>) throws(JournalError) -> ItemQuery {
    let condition = try filter.condition.get()
    return with { $0.conditions.append(condition) }
  }

  /// The items in which a property is true.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  public func filter(_ property: any KeyPath<Model, Bool> & Sendable) throws(JournalError) -> ItemQuery {
    try filter(property == true)
  }

  /// The items in another order. Equal items are sorted by number, in the direction of the last sort key.
  /// - Throws: `JournalError` with code `wrongUse` if a key path leads to no attribute.
  public func sorted(by first: ItemSort<Model>, _ others: ItemSort<Model>...) throws(JournalError)
    -> ItemQuery
  {
    var orders: [QueryOrder] = []
    for sort in [first] + others { orders.append(try sort.order.get()) }
    return with { $0.orders = orders }
  }

  /// The items, sorted by a property: `sorted(by: \.title, .descending)`.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  public func sorted<Property: QueryValue>(
    by property: any KeyPath<Model, Property> & Sendable, _ direction: QueryDirection = .ascending
  ) throws(JournalError) -> ItemQuery {
    try sorted(by: direction == .ascending ? .ascending(property) : .descending(property))
  }

  /// The first items, at most this many.
  public func prefix(_ maxLength: Int) -> ItemQuery {
    precondition(maxLength >= 0, "A query can't be limited to a negative number of items.")
    var plan = plan
    plan.limit = Swift.min(plan.limit ?? .max, maxLength)
    return ItemQuery(catalog, plan)
  }

  /// All but the first items.
  public func dropFirst(_ k: Int = 1) -> ItemQuery {
    precondition(k >= 0, "A query can't skip a negative number of items.")
    var plan = plan
    plan.offset += Swift.min(k, .max - plan.offset)
    plan.limit = plan.limit.map { Swift.max($0 - k, 0) }
    return ItemQuery(catalog, plan)
  }

  /// What finding the items takes: the index that gives them, what is read, and whether they are sorted. Runs the query
  /// if it has not run yet, and is exact.
  ///
  /// ```swift
  /// print(try catalog.items(Recipe.self).filter(\.stars == 5).sorted(by: \.title).explain())
  /// // index on stars, 12 lines and 12 records read, sorted: 12 items
  /// ```
  public func explain() -> QueryExplanation {
    let (numbers, work) = answer.run(in: catalog)
    // The answer of a live query may have been updated without a run.
    guard let work else { return ItemQuery(catalog, plan).explain() }
    return QueryExplanation(work, itemCount: numbers.count)
  }

  // MARK: The answer

  /// The numbers of the items, in order.
  var numbers: [Int] { answer.numbers(in: catalog) }

  /// The position of the first item.
  public var startIndex: Int { 0 }
  /// The position after the last item. Runs the query.
  public var endIndex: Int { numbers.count }
  /// The number of items. Decodes nothing.
  public var count: Int { numbers.count }

  /// The item at a position. An item that can't be read any more (`failure` of the state says why) has no attributes,
  /// so its value throws. O(log n).
  public subscript(position: Int) -> StoredItem<Model> {
    let number = numbers[position]
    return Self.item(number, catalog.row(of: .item(number), catalog.contents.itemTable))
  }

  static func item(_ number: Int, _ row: EntityRow?) -> StoredItem<Model> {
    let row = row ?? EntityRow(record: EntityRecord(), created: 0, modified: 0)
    return StoredItem(Catalog.Item(number: number, row: row))
  }

  /// All items with their rows, which are then counted as read.
  var entities: EntityTable.Selected {
    let numbers = numbers
    catalog.reads?.note(plan, numbers, in: catalog, readsValues: true)
    return catalog.contents.itemTable.entities(numbers)
  }

  /// Iterates over the items. Many items in the order of their numbers are read in one pass, and not each by its number.
  public func makeIterator() -> AnyIterator<StoredItem<Model>> {
    var entities = entities
    return AnyIterator { entities.next().map { Self.item($0.number, $0.row) } }
  }

  /// Whether there is no item. If the query has not run yet, it searches for only one item.
  public var isEmpty: Bool { (answer.isKnown ? self : prefix(1)).numbers.isEmpty }

  /// The first item, or nil if there is none. If the query has not run yet, it searches for only one item.
  public var first: StoredItem<Model>? {
    let query = answer.isKnown ? self : prefix(1)
    return query.numbers.isEmpty ? nil : query[0]
  }

  /// The last item, or nil if there is none. If the query has not run yet, and is sorted and not limited, it searches for
  /// only one item.
  public var last: StoredItem<Model>? {
    guard answer.isKnown || plan.orders.isEmpty || plan.limit != nil || plan.offset > 0 else {
      var reversed = plan
      reversed.orders = plan.orders.map { QueryOrder(path: $0.path, isDescending: !$0.isDescending) }
      return ItemQuery(catalog, reversed).first
    }
    return numbers.isEmpty ? nil : self[numbers.count - 1]
  }

  /// A property of each item, in order: `map(\.title)`.
  /// - Throws: `DecodingError` for the first item whose attributes don't make a value of the type.
  public func map<Property>(_ property: KeyPath<Model, Property>) throws -> [Property] {
    try values.map { $0[keyPath: property] }
  }

  /// The numbers of the items, in order. Nothing is decoded.
  public var ids: [ItemID<Model>] { numbers.map { ItemID($0) } }

  /// The values of all items, in order. Many are decoded on two threads.
  /// - Throws: `DecodingError` for the first item whose attributes don't make such a value.
  public var values: [Model] {
    get throws {
      let numbers = numbers
      catalog.reads?.note(plan, numbers, in: catalog, readsValues: true)
      return try catalog.contents.itemTable.map(numbers) { part in
        let decoder = RecordDecoder()
        return try part.map { number, row in
          let item = Self.item(number, row).item
          return try item.record.decode(Model.self, of: .item(item.id), by: decoder)
        }
      }
    }
  }
}

/// The answer of a query, found on first use. Copies of a query share it.
final class QueryAnswer: Sendable {
  let plan: QueryPlan
  /// The numbers, and what was read to find them; nil if they were given.
  private let found: Lock<(numbers: [Int], work: QueryWork?)?>

  init(_ plan: QueryPlan, _ numbers: [Int]? = nil) {
    self.plan = plan
    found = Lock(numbers.map { ($0, nil) })
  }

  var isKnown: Bool { found.withLock { $0 != nil } }

  func numbers(in catalog: Catalog) -> [Int] { run(in: catalog).numbers }

  func run(in catalog: Catalog) -> (numbers: [Int], work: QueryWork?) {
    if let found = found.withLock({ $0 }) { return found }
    // The search runs outside the lock. Two concurrent threads both search, and find the same items.
    let start = ContinuousClock.now
    // A conditional expression would copy the catalog, which counts many references.
    let (numbers, work) =
      if catalog.reads == nil { plan.run(in: catalog) } else { plan.run(in: catalog.tracked(by: nil)) }
    catalog.reads?.note(plan, numbers, in: catalog, readsValues: false)
    catalog.indexCache.noteQuery(of: plan.kind, taking: .now - start) {
      QueryExplanation(work, itemCount: numbers.count)
    }
    found.withLock { $0 = (numbers, work) }
    return (numbers, work)
  }
}
