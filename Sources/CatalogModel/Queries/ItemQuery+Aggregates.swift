import CBOR

// Values of all items that a query finds. If the query is not limited, and indexes in memory have all properties that it
// names, no item is read; otherwise only these properties are decoded.
extension ItemQuery {
  /// The exact sum of a property, 0 if no item has it. Nil is ignored.
  ///
  /// The sum of doubles is that of their exact values, rounded once, so it does not depend on the order of the items.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute, with `tooLarge` if the sum of
  ///   integers does not fit an `Int`, or that of decimal numbers has more than 38 digits; `DecodingError` if an item has
  ///   something else than a number.
  /// - Complexity: O(n) in the lines of the index, or in the items that are searched and found.
  public func sum<Property: QueryNumber>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) throws -> Property.Sum { try compute(.sum(property)) }

  /// The exact sum of a property, divided by the number of items that have it; nil if none has it.
  /// - Throws: as ``sum(_:)``, but the sum of integers may have up to 128 bits.
  /// - Complexity: as ``sum(_:)``.
  public func average<Property: QueryNumber>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) throws -> Property.Average? { try compute(.average(property)) }

  /// The least value of a property in the order of queries, nil if no item has it.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute; `DecodingError` if the value is
  ///   of another type.
  /// - Complexity: O(log n) by an index, if the query has no condition or one on that property; otherwise as
  ///   ``sum(_:)``.
  public func min<Property: QueryValue>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) throws -> Property.Present? where Property.Present: Decodable & SendableMetatype {
    try compute(.min(property))
  }

  /// The greatest value of a property in the order of queries, in which NaN is the last number; nil if no item has it.
  /// - Throws: as ``min(_:)``.
  /// - Complexity: as ``min(_:)``.
  public func max<Property: QueryValue>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) throws -> Property.Present? where Property.Present: Decodable & SendableMetatype {
    try compute(.max(property))
  }

  /// The different values of a property, in the order of queries. Nil, if an item lacks the property, comes first.
  /// - Throws: as ``min(_:)``, also if an item lacks a property that is not optional.
  /// - Complexity: as ``sum(_:)``.
  public func distinct<Property: QueryValue & Decodable>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) throws -> [Property] {
    let groups = Aggregation(path: try Model.attribute(of: property).get(), parts: [])
    return try groups.groups(of: plan, answer, in: catalog).map { try $0.key.decode(Property.self) }
  }

  /// The items in groups of equal values of a property, and values of each group, computed in one pass.
  ///
  /// ```swift
  /// for (course, (count, best)) in try recipes.grouped(by: \.course, .count, .max(\.stars)) {
  ///   print(course ?? "none", count, best ?? 0)
  /// }
  /// ```
  /// - Returns: the groups in the order of queries. Nil, if an item lacks the property, comes first.
  /// - Throws: as ``distinct(_:)`` for the property, and as the functions of the query with the names of the aggregates.
  /// - Complexity: as ``sum(_:)``, and O(g log g) for g groups.
  public func grouped<Key: QueryValue & Decodable, each Value>(
    by property: any KeyPath<Model, Key> & Sendable,
    _ aggregates: repeat ItemAggregate<Model, each Value>
  ) throws -> [(key: Key, values: (repeat each Value))] {
    var parts: [Aggregation.Part] = []
    for aggregate in repeat each aggregates { parts.append(try aggregate.part.get()) }
    let aggregation = Aggregation(path: try Model.attribute(of: property).get(), parts: parts)
    return try aggregation.groups(of: plan, answer, in: catalog).map { group in
      var place = 0
      func value<One>(_ aggregate: ItemAggregate<Model, One>) throws -> One {
        defer { place += 1 }
        return try aggregate.result(group.values[place])
      }
      let key = try group.key.decode(Key.self)
      return (key: key, values: (repeat try value(each aggregates)))
    }
  }

  private func compute<Value>(_ aggregate: ItemAggregate<Model, Value>) throws -> Value {
    let aggregation = Aggregation(path: nil, parts: [try aggregate.part.get()])
    return try aggregate.result(aggregation.groups(of: plan, answer, in: catalog)[0].values[0])
  }
}
