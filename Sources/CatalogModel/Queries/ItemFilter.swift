import CBOR

/// Which items a query finds: made of key paths and the operators of the standard library.
///
/// ```swift
/// recipes.filter(\.stars >= 4 && .contains(\.tags, "soup"))
/// recipes.filter(.prefix(\.title, "Pot") || \.stars == nil)
/// recipes.filter(1...3 ~= \.stars)
/// ```
/// Texts are compared by the bytes of their UTF-8, numbers by what they are worth. What is missing is equal to nil
/// only, and neither below nor above anything; `!=` finds it. A property that is missing and one that is null are the
/// same.
public struct ItemFilter<Model: CatalogItem>: Sendable {
  let condition: Condition

  init(_ condition: Condition) { self.condition = condition }

  fileprivate init(_ property: any PartialKeyPath<Model> & Sendable, _ range: ValueRange) {
    condition = .value(AttributePath(of: property), range)
  }

  /// The items in which a text begins with the same bytes as this one.
  public static func prefix(_ property: any KeyPath<Model, String> & Sendable, _ text: String) -> ItemFilter {
    ItemFilter(property, .prefix(text))
  }

  /// The items in which a text is there and begins with the same bytes as this one.
  public static func prefix(_ property: any KeyPath<Model, String?> & Sendable, _ text: String) -> ItemFilter
  {
    ItemFilter(property, .prefix(text))
  }

  /// The items in which an array has that element.
  public static func contains<Elements: Collection>(
    _ property: any KeyPath<Model, Elements> & Sendable, _ element: Elements.Element
  ) -> ItemFilter where Elements.Element: QueryValue {
    ItemFilter(property, .containing(element.queryValue ?? .null))
  }

  /// The items in which an array is there and has that element.
  public static func contains<Elements: Collection>(
    _ property: any KeyPath<Model, Elements?> & Sendable, _ element: Elements.Element
  ) -> ItemFilter where Elements.Element: QueryValue {
    ItemFilter(property, .containing(element.queryValue ?? .null))
  }

  /// The items in which a property is one of these.
  public static func isOne<Property: QueryValue>(
    of values: some Sequence<Property>, _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemFilter {
    let path = AttributePath(of: property)
    return ItemFilter(.any(values.map { .value(path, .equal($0.queryValue)) }))
  }

  /// The items in which a property of any type is missing or null.
  public static func isMissing(_ property: any PartialKeyPath<Model> & Sendable) -> ItemFilter {
    ItemFilter(property, .missing)
  }

  /// The items of a category; nil: those in none.
  public static func category(_ category: CategoryID?) -> ItemFilter {
    ItemFilter(.category(category?.number))
  }
}

extension ValueRange {
  fileprivate static func equal(_ value: FieldValue?) -> ValueRange {
    value.map { .equal(to: $0) } ?? .missing
  }
}

/// A condition that compares a value with one that may be nil, next to which nothing is.
private func ordered<Model: CatalogItem>(
  _ property: any PartialKeyPath<Model> & Sendable, _ value: FieldValue?, _ range: (FieldValue) -> ValueRange
) -> ItemFilter<Model> {
  guard let value, value != .null else { return ItemFilter(.none) }
  return ItemFilter(property, range(value))
}

/// The items in which a property has that value; nil: in which it is missing.
public func == <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ItemFilter(property, .equal(value.queryValue)) }

/// The items in which a property does not have that value, or is missing; nil: in which it is there.
public func != <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { !(property == value) }

/// The items in which a property is below that value.
public func < <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ordered(property, value.queryValue) { .below($0) } }

/// The items in which a property is that value or below it.
public func <= <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ordered(property, value.queryValue) { .through($0) } }

/// The items in which a property is above that value.
public func > <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ordered(property, value.queryValue) { .above($0) } }

/// The items in which a property is that value or above it.
public func >= <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ordered(property, value.queryValue) { .from($0) } }

/// The items in which a property is in a range: `3...5 ~= \.stars`.
public func ~= <Model: CatalogItem, Property: QueryValue>(
  range: ClosedRange<Property>, property: any KeyPath<Model, Property> & Sendable
) -> ItemFilter<Model> { within(range.lowerBound, range.upperBound, property, isClosed: true) }

/// The items in which a property is there and in a range: `3...5 ~= \.stars`.
public func ~= <Model: CatalogItem, Property: QueryValue>(
  range: ClosedRange<Property>, property: any KeyPath<Model, Property?> & Sendable
) -> ItemFilter<Model> { within(range.lowerBound, range.upperBound, property, isClosed: true) }

/// The items in which a property is in a range: `0..<10 ~= \.price`.
public func ~= <Model: CatalogItem, Property: QueryValue>(
  range: Range<Property>, property: any KeyPath<Model, Property> & Sendable
) -> ItemFilter<Model> { within(range.lowerBound, range.upperBound, property, isClosed: false) }

/// The items in which a property is there and in a range: `0..<10 ~= \.price`.
public func ~= <Model: CatalogItem, Property: QueryValue>(
  range: Range<Property>, property: any KeyPath<Model, Property?> & Sendable
) -> ItemFilter<Model> { within(range.lowerBound, range.upperBound, property, isClosed: false) }

private func within<Model: CatalogItem>(
  _ lower: some QueryValue, _ upper: some QueryValue, _ property: any PartialKeyPath<Model> & Sendable,
  isClosed: Bool
) -> ItemFilter<Model> {
  guard let lower = lower.queryValue, let upper = upper.queryValue else { return ItemFilter(.none) }
  return ItemFilter(property, isClosed ? .from(lower, through: upper) : .from(lower, below: upper))
}

/// The items that both filters find.
public func && <Model: CatalogItem>(left: ItemFilter<Model>, right: ItemFilter<Model>) -> ItemFilter<Model> {
  ItemFilter(.all([left.condition, right.condition]))
}

/// The items that one of the filters finds, or both.
public func || <Model: CatalogItem>(left: ItemFilter<Model>, right: ItemFilter<Model>) -> ItemFilter<Model> {
  ItemFilter(.any([left.condition, right.condition]))
}

/// The items that a filter does not find.
public prefix func ! <Model: CatalogItem>(filter: ItemFilter<Model>) -> ItemFilter<Model> {
  ItemFilter(.not(filter.condition))
}
