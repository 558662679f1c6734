import CBOR

/// A value that a query computes of many items: their number, or a sum, average, least or greatest value of a property.
///
/// ```swift
/// for (course, (count, best)) in try recipes.grouped(by: \.course, .count, .max(\.stars)) { … }
/// ```
/// Nil is ignored, except by ``count``. Key paths are limited as in ``ItemFilter``.
public struct ItemAggregate<Model: CatalogItem, Value>: Sendable {
  /// What to collect, or the error of a key path that leads to no attribute.
  let part: Result<Aggregation.Part, JournalError>
  let result: @Sendable (any Accumulator) throws -> Value

  private init<Values: Accumulator>(
    _ part: Result<Aggregation.Part, JournalError>, _ result: @escaping @Sendable (Values) throws -> Value
  ) {
    self.part = part
    self.result = { accumulator in
      guard let values = accumulator as? Values else {
        throw JournalError(.wrongUse, "an aggregate got the values of another one")
      }
      return try result(values)
    }
  }

  init<Values: Accumulator>(
    _ property: any PartialKeyPath<Model> & Sendable, end: Aggregation.End? = nil,
    _ make: @escaping @Sendable () -> Values, result: @escaping @Sendable (Values) throws -> Value
  ) {
    let part = Model.attribute(of: property).map { Aggregation.Part(path: $0, end: end, make: make) }
    self.init(part, result)
  }
}

extension ItemAggregate where Value == Int {
  /// The number of items.
  public static var count: ItemAggregate {
    ItemAggregate(.success(Aggregation.Part(path: nil, end: nil) { Count() })) { (count: Count) in count.count
    }
  }
}

extension ItemAggregate {
  /// The exact sum of a property, 0 if no item has it. See ``ItemQuery/sum(_:)``.
  public static func sum<Property: QueryNumber>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemAggregate where Value == Property.Sum { Property.querySum(of: property) }

  /// The average of a property, nil if no item has it. See ``ItemQuery/average(_:)``.
  public static func average<Property: QueryNumber>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemAggregate where Value == Property.Average? { Property.queryAverage(of: property) }

  /// The least value of a property in the order of queries, nil if no item has it.
  public static func min<Property: QueryValue>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemAggregate where Value == Property.Present?, Property.Present: Decodable & SendableMetatype {
    ItemAggregate(property, end: .first) {
      Extreme(.first)
    } result: {
      try $0.best?.decode(Property.Present.self)
    }
  }

  /// The greatest value of a property in the order of queries, in which NaN is the last number; nil if no item has it.
  public static func max<Property: QueryValue>(
    _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemAggregate where Value == Property.Present?, Property.Present: Decodable & SendableMetatype {
    ItemAggregate(property, end: .last) {
      Extreme(.last)
    } result: {
      try $0.best?.decode(Property.Present.self)
    }
  }
}

/// Collects the values of one attribute in a group of items.
protocol Accumulator: Sendable {
  /// Takes the value of an item, by its key. Returns false if the property can't have that value.
  mutating func take(_ key: ValueKey) -> Bool
  /// Takes what another accumulator of the same aggregate has collected of later items.
  mutating func take(all other: Self)
}

extension Accumulator {
  mutating func takeAll(of other: any Accumulator) {
    if let other = other as? Self { take(all: other) }
  }
}

private struct Count: Accumulator {
  private(set) var count = 0

  mutating func take(_ key: ValueKey) -> Bool {
    count += 1
    return true
  }

  mutating func take(all other: Count) { count += other.count }
}

struct Total<Sum: ExactSum>: Accumulator {
  private(set) var sum = Sum()
  /// How many values were added.
  private(set) var count = 0
  private let type: Any.Type

  /// - Parameter type: the type of the numbers.
  init(_ type: Any.Type) { self.type = type }

  mutating func take(_ key: ValueKey) -> Bool {
    if key.isMissing { return true }
    count += 1
    return sum.add(key)
  }

  mutating func take(all other: Total) {
    count += other.count
    sum.add(other.sum)
  }

  /// The sum, if there is one.
  func known<Value>(_ sum: Value?) throws(JournalError) -> Value {
    if let sum { return sum }
    throw JournalError(.tooLarge, "the sum of \(count) numbers of the type \(type) is too large to be exact")
  }
}

private struct Extreme: Accumulator {
  private(set) var best: ValueKey?
  private let end: Aggregation.End

  init(_ end: Aggregation.End) { self.end = end }

  mutating func take(_ key: ValueKey) -> Bool {
    if !key.isMissing, best.map({ end == .first ? key < $0 : $0 < key }) ?? true { best = key }
    return true
  }

  mutating func take(all other: Extreme) { if let best = other.best { _ = take(best) } }
}
