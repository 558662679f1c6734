import CBOR

// Conditions on the elements of an array: they find the items in which at least one element fulfills the condition. The
// condition for equality is `contains`.

extension ItemFilter {
  /// Items in which an element of an array is a text that begins with these bytes: `.prefix(\.terms, "mul")`.
  public static func prefix<Elements: QueryArray>(
    _ property: any KeyPath<Model, Elements> & Sendable, _ text: String
  ) -> ItemFilter where Elements.Element == String { ItemFilter(property, .containing(.prefix(text))) }

  /// Items in which an element of an array is one of these values.
  public static func isOne<Elements: QueryArray>(
    of values: some Sequence<Elements.Element>, _ property: any KeyPath<Model, Elements> & Sendable
  ) -> ItemFilter where Elements.Element: QueryValue {
    ItemFilter(property) { path in
      .any(values.map { .value(path, .containing($0.queryValue ?? .null)) })
    }
  }
}

/// Items in which an element of an array is below that value.
public func < <Model: CatalogItem, Elements: QueryArray>(
  property: any KeyPath<Model, Elements> & Sendable, value: Elements.Element
) -> ItemFilter<Model> where Elements.Element: QueryValue {
  ordered(property, value.queryValue) { .containing(.below($0)) }
}

/// Items in which an element of an array is that value or below it.
public func <= <Model: CatalogItem, Elements: QueryArray>(
  property: any KeyPath<Model, Elements> & Sendable, value: Elements.Element
) -> ItemFilter<Model> where Elements.Element: QueryValue {
  ordered(property, value.queryValue) { .containing(.through($0)) }
}

/// Items in which an element of an array is above that value.
public func > <Model: CatalogItem, Elements: QueryArray>(
  property: any KeyPath<Model, Elements> & Sendable, value: Elements.Element
) -> ItemFilter<Model> where Elements.Element: QueryValue {
  ordered(property, value.queryValue) { .containing(.above($0)) }
}

/// Items in which an element of an array is that value or above it.
public func >= <Model: CatalogItem, Elements: QueryArray>(
  property: any KeyPath<Model, Elements> & Sendable, value: Elements.Element
) -> ItemFilter<Model> where Elements.Element: QueryValue {
  ordered(property, value.queryValue) { .containing(.from($0)) }
}

/// Items in which an element of an array is in a range: `3...5 ~= \.sizes`.
public func ~= <Model: CatalogItem, Elements: QueryArray>(
  range: ClosedRange<Elements.Element>, property: any KeyPath<Model, Elements> & Sendable
) -> ItemFilter<Model> where Elements.Element: QueryValue {
  within(range.lowerBound, range.upperBound, property, isClosed: true, isOfElements: true)
}

/// Items in which an element of an array is in a range: `3..<5 ~= \.sizes`.
public func ~= <Model: CatalogItem, Elements: QueryArray>(
  range: Range<Elements.Element>, property: any KeyPath<Model, Elements> & Sendable
) -> ItemFilter<Model> where Elements.Element: QueryValue {
  within(range.lowerBound, range.upperBound, property, isClosed: false, isOfElements: true)
}
