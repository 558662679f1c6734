import CBOR

// Items and those that refer to them. Each function runs the query, and reads all items on the other side in one pass.
extension ItemQuery {
  /// Each item with the item that a property refers to, or nil if there is none: `people.including(\.company)`.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  /// - Complexity: O(n log n) in the items of the answer.
  public func including<Target>(
    _ property: any KeyPath<Model, ItemID<Target>> & Sendable
  ) throws(JournalError) -> [(item: StoredItem<Model>, included: StoredItem<Target>?)] {
    try targets(Target.self, of: property).map { ($0.item, $0.included.first) }
  }

  /// Each item with the item that an optional property refers to, or nil if there is none.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  /// - Complexity: O(n log n) in the items of the answer.
  public func including<Target>(
    _ property: any KeyPath<Model, ItemID<Target>?> & Sendable
  ) throws(JournalError) -> [(item: StoredItem<Model>, included: StoredItem<Target>?)] {
    try targets(Target.self, of: property).map { ($0.item, $0.included.first) }
  }

  /// Each item with the items that an array refers to, in the order of the array. Those that do not exist are left out.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  /// - Complexity: O(n log n) in the references of the answer.
  public func including<Target, References: QueryArray>(
    _ property: any KeyPath<Model, References> & Sendable
  ) throws(JournalError) -> [(item: StoredItem<Model>, included: [StoredItem<Target>])]
  where References.Element == ItemID<Target> { try targets(Target.self, of: property) }

  private func targets<Target: CatalogItem>(
    _ type: Target.Type, of property: any PartialKeyPath<Model> & Sendable
  ) throws(JournalError) -> [(item: StoredItem<Model>, included: [StoredItem<Target>])] {
    let path = try Model.attribute(of: property).get()
    let rows = map { (item: $0, numbers: $0.item.record.integers(at: path).numbers) }
    var found: [Int: StoredItem<Target>] = [:]
    catalog.forEachItem(Set(rows.flatMap(\.numbers)).sorted()) { found[$0.id.number] = $0 }
    return rows.map { row in (row.item, row.numbers.compactMap { found[$0] }) }
  }

  /// Each item with the items that refer to it by a property, in the order of their numbers. The property is a reference
  /// or an array of references.
  ///
  /// ```swift
  /// for (company, staff) in try companies.including(Person.self, by: \.company) { … }
  /// ```
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  /// - Complexity: O(n log n) in the items of the answer and those that refer to them, with a reference rule or an index
  ///   on the property; without, also O(m) in the items of the other type.
  public func including<Other: CatalogItem>(
    _ type: Other.Type, by property: any PartialKeyPath<Other> & Sendable
  ) throws(JournalError) -> [(item: StoredItem<Model>, included: [StoredItem<Other>])] {
    let path = try Other.attribute(of: property).get()
    var rows = map { (item: $0, included: [StoredItem<Other>]()) }
    let numbers = rows.enumerated().map { ($1.item.id.number, $0) }
    // A forged index may list an item twice.
    let places = Dictionary(numbers) { first, _ in first }
    let others = catalog.numbers(of: Other.self, referringTo: places.keys.sorted(), at: path)
    catalog.forEachItem(others) { (other: StoredItem<Other>) in
      for target in Set(other.item.record.integers(at: path).numbers) {
        if let place = places[target] { rows[place].included.append(other) }
      }
    }
    return rows
  }
}

extension Catalog {
  /// Calls `body` with the items of a type among some numbers, in ascending order.
  fileprivate func forEachItem<Model: CatalogItem>(_ numbers: [Int], _ body: (StoredItem<Model>) -> Void) {
    let kind = ItemKind(Model.kind)
    for (number, row) in itemTable.entities(numbers) {
      if let row, kind.isKind(of: row.record) { body(StoredItem(Item(number: number, row: row))) }
    }
  }

  /// The numbers of items, among them all of a type that refer to one of these targets by the attribute at a path.
  /// - Parameter targets: in ascending order.
  fileprivate func numbers<Model: CatalogItem>(
    of type: Model.Type, referringTo targets: [Int], at path: AttributePath
  ) -> [Int] {
    reads?.note(all: .item)
    let isRuled = rules(ofKind: Model.kind).contains { rule in
      if case .reference = rule.form { rule.paths == [path] } else { false }
    }
    if isRuled { return Set(itemsByReference.lines(ofGroups: targets).map(\.member)).sorted() }
    var plan = QueryPlan(Model.kind, indexed: Model.indexedPaths)
    if Indexes(plan, self)[path] != nil {
      let ranges = targets.map { ValueRange.equal(to: .integer(Int64($0))) }
      plan.conditions = [.any((ranges + ranges.map { .containing($0) }).map { .value(path, $0) })]
      return plan.run(in: self).numbers
    }
    return Array(contents.numbers(ofKind: Model.kind))
  }
}
