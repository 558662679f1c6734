import CBOR

// Items and those that refer to them. Each function runs the query, and reads all items on the other side in one pass.
// The functions are inlined, because otherwise they would look up the types at run time for each item.
extension ItemQuery {
  /// Each item with the item that a property refers to, or nil if there is none: `people.including(\.company)`.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  /// - Complexity: O(n log n) in the items of the answer.
  @inlinable public func including<Target>(
    _ property: any KeyPath<Model, ItemID<Target>> & Sendable
  ) throws(JournalError) -> [(item: StoredItem<Model>, included: StoredItem<Target>?)] {
    try targets(ofKind: Target.kind, of: property).map {
      (StoredItem($0.item), $0.included.first.map { StoredItem($0) })
    }
  }

  /// Each item with the item that an optional property refers to, or nil if there is none.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  /// - Complexity: O(n log n) in the items of the answer.
  @inlinable public func including<Target>(
    _ property: any KeyPath<Model, ItemID<Target>?> & Sendable
  ) throws(JournalError) -> [(item: StoredItem<Model>, included: StoredItem<Target>?)] {
    try targets(ofKind: Target.kind, of: property).map {
      (StoredItem($0.item), $0.included.first.map { StoredItem($0) })
    }
  }

  /// Each item with the items that an array refers to, in the order of the array. Those that do not exist are left out.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  /// - Complexity: O(n log n) in the references of the answer.
  @inlinable public func including<Target, References: QueryArray>(
    _ property: any KeyPath<Model, References> & Sendable
  ) throws(JournalError) -> [(item: StoredItem<Model>, included: [StoredItem<Target>])]
  where References.Element == ItemID<Target> {
    try targets(ofKind: Target.kind, of: property).map {
      (StoredItem($0.item), $0.included.map { StoredItem($0) })
    }
  }

  @usableFromInline func targets(
    ofKind kind: String, of property: any PartialKeyPath<Model> & Sendable
  ) throws(JournalError) -> [(item: Catalog.Item, included: [Catalog.Item])] {
    let path = try Model.attribute(of: property).get()
    var rows: [(item: Catalog.Item, numbers: [Int])] = []
    var all: [Int] = []
    for (number, row) in entities {
      let item = Self.item(number, row).item
      let numbers = item.record.integers(at: path).numbers
      rows.append((item, numbers))
      all += numbers
    }
    let found = catalog.items(all, ofKind: kind)
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
  @inlinable public func including<Other: CatalogItem>(
    _ type: Other.Type, by property: any PartialKeyPath<Other> & Sendable
  ) throws(JournalError) -> [(item: StoredItem<Model>, included: [StoredItem<Other>])] {
    try referrers(type, by: property).map {
      (StoredItem($0.item), $0.included.map { StoredItem($0) })
    }
  }

  @usableFromInline func referrers<Other: CatalogItem>(
    _ type: Other.Type, by property: any PartialKeyPath<Other> & Sendable
  ) throws(JournalError) -> [(item: Catalog.Item, included: [Catalog.Item])] {
    let path = try Other.attribute(of: property).get()
    let referrers = catalog.referrers(to: numbers, by: path, of: QueryPlan(Other.self))
    return zip(entities, referrers).map { (Self.item($0.number, $0.row).item, $1) }
  }
}

// Not generic over the type of the items: a generic function would look up their types for each item.
extension Catalog {
  /// The items of a kind among some numbers.
  fileprivate func items(_ numbers: [Int], ofKind kind: String) -> [Int: Item] {
    let kind = ItemKind(kind)
    var items: [Int: Item] = [:]
    for (number, row) in itemTable.entities(numbers.ascending) {
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
      row.record.forEachInteger(at: path) { target in
        // An array may have a target twice.
        guard let place = places[target], referrers[place].last?.id.number != number else { return }
        referrers[place].append(Item(number: number, row: row))
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
    if isRuled { return itemsByReference.lines(ofGroups: targets).map(\.member).ascending }
    if Indexes(plan, self)[path] != nil {
      var plan = plan
      let ranges = targets.map { ValueRange.equal(to: .integer(Int64($0))) }
      plan.conditions = [.any((ranges + ranges.map { .containing($0) }).map { .value(path, $0) })]
      return plan.run(in: self).numbers
    }
    return Array(contents.numbers(ofKind: plan.kind))
  }
}

extension [Int] {
  /// The numbers in ascending order, each once. Numbers that are close to each other are not compared.
  var ascending: [Int] {
    // A forged index may have any numbers, so their difference may overflow.
    guard let first = self.min(), let last = self.max(), UInt(bitPattern: last &- first) / 64 < count else {
      return Set(self).sorted()
    }
    var words = [UInt64](repeating: 0, count: (last - first) / 64 + 1)
    for number in self { words[(number - first) / 64] |= 1 << UInt64((number - first) % 64) }
    var numbers: [Int] = []
    numbers.reserveCapacity(count)
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        numbers.append(first + 64 * index + rest.trailingZeroBitCount)
        rest &= rest - 1
      }
    }
    return numbers
  }
}
