public import CBOR

/// The filter of a query, made of key paths and the operators of the standard library.
///
/// Texts are compared by their UTF-8 bytes, numbers by value. A missing property equals only nil, and is neither below
/// nor above anything, so `!=` with a value finds it. A null property counts as missing. NaN equals only NaN, and is
/// neither below nor above anything: `<`, `<=`, `>` and `>=` with it find nothing.
///
/// A key path leads to what the type encodes: a stored property, one inside of it (`\.place?.latitude`), one that
/// `CodingKeys` rename, one with a property wrapper, an inherited one, or `\.stage.rawValue`. For any other, such as a
/// computed property or `\.tags.count`, `filter` and `sorted` throw `wrongUse` with a message that lists the attributes,
/// whether or not there are items. Filter by name instead, with ``attribute(_:_:in:)``.
public struct ItemFilter<Model: CatalogItem>: Sendable {
  /// The condition, or the error of a key path that leads to no attribute.
  let condition: Result<Condition, JournalError>

  fileprivate init(_ condition: Result<Condition, JournalError>) { self.condition = condition }

  init(
    _ property: any PartialKeyPath<Model> & Sendable, _ condition: (AttributePath) -> Condition
  ) {
    self.condition = Model.attribute(of: property).map(condition)
  }

  init(_ property: any PartialKeyPath<Model> & Sendable, _ range: ValueRange) {
    self.init(property) { .value($0, range) }
  }

  /// Tests whether a record is that of an item of the type, for which the filter holds.
  /// - Throws: `JournalError` with code `wrongUse` if a key path leads to no attribute.
  package func test() throws(JournalError) -> (EntityRecord) -> Bool {
    let (scope, test) = (IndexScope(itemsOfKind: Model.kind), try condition.get().test)
    return { scope.lists($0) && test($0) }
  }

  /// Items in which a text begins with these bytes. "so" is no prefix of "Soup"; ``contains(_:ignoringCase:)`` ignores
  /// case.
  public static func prefix(_ property: any KeyPath<Model, String> & Sendable, _ text: String) -> ItemFilter {
    ItemFilter(property, .prefix(text))
  }

  /// Items in which an optional text exists and begins with these bytes.
  public static func prefix(_ property: any KeyPath<Model, String?> & Sendable, _ text: String) -> ItemFilter
  {
    ItemFilter(property, .prefix(text))
  }

  /// Items in which an array exists and has that element. The collection may be of any type that is encoded as an array of
  /// its elements: see ``QueryArray``.
  public static func contains<Elements: QueryArray>(
    _ property: any KeyPath<Model, Elements> & Sendable, _ element: Elements.Element
  ) -> ItemFilter where Elements.Element: QueryValue {
    ItemFilter(property, .containing(element.queryValue ?? .null))
  }

  /// Items in which a property has one of these values.
  public static func isOne<Property: QueryValue>(
    of values: some Sequence<Property>, _ property: any KeyPath<Model, Property> & Sendable
  ) -> ItemFilter {
    ItemFilter(property) { path in .any(values.map { .value(path, .equal($0.queryValue)) }) }
  }

  /// Items in which a property of any type is missing or null.
  public static func isMissing(_ property: any PartialKeyPath<Model> & Sendable) -> ItemFilter {
    ItemFilter(property, .missing)
  }

  /// Items in which a text contains another text, ignoring case: `.contains(\.title, ignoringCase: "soup")`.
  ///
  /// Texts inside an array or a dictionary count too, but not the keys of a dictionary. An accent makes a difference.
  /// An empty text finds every item, as an empty search field does.
  /// - Complexity: O(n) in the items that the other conditions leave, and the size of the property. No index is used. A
  ///   query that is limited, and not sorted or sorted by an indexed property, ends as soon as it has found enough.
  public static func contains(
    _ property: any PartialKeyPath<Model> & Sendable, ignoringCase text: String
  ) -> ItemFilter { ItemFilter(property) { text.isEmpty ? .everything : .text(text, in: $0) } }

  /// Items with an attribute that contains a text, ignoring case. Attributes that the type does not know count too.
  ///
  /// Texts are compared as `journal find` and `EntityQuery.text` compare them, but never with the kind, which all items
  /// of the query have, nor with the name of the item, such as `item:42`.
  /// - Complexity: as ``contains(_:ignoringCase:)``, with the size of the item.
  public static func contains(ignoringCase text: String) -> ItemFilter {
    ItemFilter(.success(text.isEmpty ? .everything : .text(text, in: nil)))
  }

  /// Items in which an attribute, named as it is stored, has a value in a range: for names that are known only at run
  /// time, and attributes for which the type has no stored property.
  ///
  /// ```swift
  /// items.filter(.attribute("stars", in: .from(4)))
  /// items.filter(.attribute("place", "floor", in: .equal(to: 1)))
  /// items.filter(.attribute("tags", in: .containing("hot")) && !.attribute("cooked", in: .missing))
  /// ```
  /// - Parameters:
  ///   - name: the name of the attribute. No item needs to have it.
  ///   - inner: the names of members inside, if its value is a dictionary.
  ///   - range: the values that match.
  public static func attribute(_ name: String, _ inner: String..., in range: ValueRange) -> ItemFilter {
    ItemFilter(.success(.value(AttributePath([name] + inner), range)))
  }

  /// Items whose value passes a test that no other filter can express: `.satisfies { $0.title.count > 20 }`. An item that
  /// can't be decoded does not pass.
  ///
  /// The test runs after all conditions that must hold too. It may run several times for one item, on any thread.
  /// - Complexity: O(n) in the items that the other conditions leave, each of which is decoded.
  public static func satisfies(_ test: @escaping @Sendable (Model) -> Bool) -> ItemFilter {
    ItemFilter(.success(.closure { record in (try? record.decode(Model.self)).map(test) ?? false }))
  }

  /// The items of a category or, if `category` is nil, the items in no category.
  public static func category(_ category: CategoryID?) -> ItemFilter {
    ItemFilter(.success(.category(category?.number)))
  }
}

extension ValueRange {
  fileprivate static func equal(_ value: FieldValue?) -> ValueRange {
    value.map { .equal(to: $0) } ?? .missing
  }
}

/// A condition that compares a property with an optional value. Nil is neither above nor below anything.
func ordered<Model: CatalogItem>(
  _ property: any PartialKeyPath<Model> & Sendable, _ value: FieldValue?, _ range: (FieldValue) -> ValueRange
) -> ItemFilter<Model> {
  ItemFilter(property) { path in
    if let value, value != .null { .value(path, range(value)) } else { .none }
  }
}

/// Items in which a property has that value or, if the value is nil, is missing.
///
/// For this and all other operators, a query throws if the key path leads to no attribute: see ``ItemFilter``.
public func == <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ItemFilter(property, .equal(value.queryValue)) }

/// Items in which a property is missing or has another value. If the value is nil, items that have the property.
public func != <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { !(property == value) }

/// Items in which a property is below that value.
public func < <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ordered(property, value.queryValue) { .below($0) } }

/// Items in which a property is that value or below it.
public func <= <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ordered(property, value.queryValue) { .through($0) } }

/// Items in which a property is above that value.
public func > <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ordered(property, value.queryValue) { .above($0) } }

/// Items in which a property is that value or above it.
public func >= <Model: CatalogItem, Property: QueryValue>(
  property: any KeyPath<Model, Property> & Sendable, value: Property
) -> ItemFilter<Model> { ordered(property, value.queryValue) { .from($0) } }

/// Items in which a property is in a range: `3...5 ~= \.stars`.
public func ~= <Model: CatalogItem, Property: QueryValue>(
  range: ClosedRange<Property>, property: any KeyPath<Model, Property> & Sendable
) -> ItemFilter<Model> { within(range.lowerBound, range.upperBound, property, isClosed: true) }

/// Items in which an optional property exists and is in a range: `3...5 ~= \.stars`.
public func ~= <Model: CatalogItem, Property: QueryValue>(
  range: ClosedRange<Property>, property: any KeyPath<Model, Property?> & Sendable
) -> ItemFilter<Model> { within(range.lowerBound, range.upperBound, property, isClosed: true) }

/// Items in which a property is in a range: `0..<10 ~= \.price`.
public func ~= <Model: CatalogItem, Property: QueryValue>(
  range: Range<Property>, property: any KeyPath<Model, Property> & Sendable
) -> ItemFilter<Model> { within(range.lowerBound, range.upperBound, property, isClosed: false) }

/// Items in which an optional property exists and is in a range: `0..<10 ~= \.price`.
public func ~= <Model: CatalogItem, Property: QueryValue>(
  range: Range<Property>, property: any KeyPath<Model, Property?> & Sendable
) -> ItemFilter<Model> { within(range.lowerBound, range.upperBound, property, isClosed: false) }

func within<Model: CatalogItem>(
  _ lower: some QueryValue, _ upper: some QueryValue, _ property: any PartialKeyPath<Model> & Sendable,
  isClosed: Bool, isOfElements: Bool = false
) -> ItemFilter<Model> {
  ItemFilter(property) { path in
    guard let lower = lower.queryValue, let upper = upper.queryValue else { return .none }
    let range: ValueRange = isClosed ? .from(lower, through: upper) : .from(lower, below: upper)
    return .value(path, isOfElements ? .containing(range) : range)
  }
}

/// The items that both filters find.
public func && <Model: CatalogItem>(left: ItemFilter<Model>, right: ItemFilter<Model>) -> ItemFilter<Model> {
  ItemFilter(left.condition.flatMap { condition in right.condition.map { condition.and($0) } })
}

/// The items that at least one of the filters finds.
public func || <Model: CatalogItem>(left: ItemFilter<Model>, right: ItemFilter<Model>) -> ItemFilter<Model> {
  ItemFilter(left.condition.flatMap { condition in right.condition.map { condition.or($0) } })
}

/// The items that a filter does not find.
public prefix func ! <Model: CatalogItem>(filter: ItemFilter<Model>) -> ItemFilter<Model> {
  ItemFilter(filter.condition.map { .not($0) })
}
