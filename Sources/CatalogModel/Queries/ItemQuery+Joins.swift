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
    var rows: [(item: StoredItem<Model>, numbers: [Int])] = []
    var all: [Int] = []
    for item in self {
      let numbers = item.item.record.integers(at: path).numbers
      rows.append((item, numbers))
      all += numbers
    }
    let found = catalog.items(all, ofKind: Target.kind)
    return rows.map { row in (row.item, row.numbers.compactMap { found[$0].map { StoredItem($0) } }) }
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
    let referrers = catalog.referrers(to: numbers, by: path, of: QueryPlan(Other.self))
    return zip(self, referrers).map { item, others in (item, others.map { StoredItem($0) }) }
  }
}

// Not generic over the type of the items: a generic function would look up their types for each item.
extension Catalog {
  /// The items of a kind among some numbers.
  fileprivate func items(_ numbers: [Int], ofKind kind: String) -> [Int: Item] {
    let kind = ItemKind(kind)
    var items: [Int: Item] = [:]
    for (number, row) in itemTable.entities(Set(numbers).sorted()) {
      if let row, kind.isKind(of: row.record) { items[number] = Item(number: number, row: row) }
    }
    return items
  }

  /// For each target, the items that refer to it by the attribute at a path, in the order of their numbers.
  /// - Parameter plan: that of all items of the type.
  fileprivate func referrers(to targets: [Int], by path: AttributePath, of plan: QueryPlan) -> [[Item]] {
    var referrers = Array(repeating: [Item](), count: targets.count)
    // A forged index may list a target twice.
    let places = Dictionary(targets.enumerated().map { ($1, $0) }) { first, _ in first }
    let kind = ItemKind(plan.kind)
    for (number, row) in itemTable.entities(candidates(referringTo: targets.sorted(), by: path, of: plan)) {
      guard let row, kind.isKind(of: row.record) else { continue }
      let numbers = row.record.integers(at: path).numbers
      for target in numbers.count < 2 ? numbers : Array(Set(numbers)) {
        if let place = places[target] { referrers[place].append(Item(number: number, row: row)) }
      }
    }
    return referrers
  }

  /// The numbers of items, among them all of a type that refer to one of these targets by the attribute at a path.
  private func candidates(
    referringTo targets: [Int], by path: AttributePath, of plan: QueryPlan
  ) -> [Int] {
    reads?.note(all: .item)
    let isRuled = rules(ofKind: plan.kind).contains { rule in
      if case .reference = rule.form { rule.paths == [path] } else { false }
    }
    if isRuled { return Set(itemsByReference.lines(ofGroups: targets).map(\.member)).sorted() }
    if Indexes(plan, self)[path] != nil {
      var plan = plan
      let ranges = targets.map { ValueRange.equal(to: .integer(Int64($0))) }
      plan.conditions = [.any((ranges + ranges.map { .containing($0) }).map { .value(path, $0) })]
      return plan.run(in: self).numbers
    }
    return Array(contents.numbers(ofKind: plan.kind))
  }
}
