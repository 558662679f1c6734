import CBOR
public import Foundation

/// A type of numbers that queries add up: integers, floating-point numbers, `Decimal`, types with such a raw value, and
/// optionals of these. Nil is not counted.
///
/// A type with a raw number only needs to declare conformance: `extension Cents: QueryNumber {}`.
public protocol QueryNumber: QueryValue, SendableMetatype {
  /// The type of a sum: `Int` for integers, `Double` for floating-point numbers, `Decimal` for `Decimal`.
  associatedtype Sum: Sendable
  /// The type of an average: `Double`, or `Decimal` for `Decimal`.
  associatedtype Average: Sendable
  /// Makes the aggregate that adds up a property of this type.
  static func querySum<Model>(of property: any PartialKeyPath<Model> & Sendable) -> ItemAggregate<Model, Sum>
  /// Makes the aggregate of the average of a property of this type; nil if no item has the property.
  static func queryAverage<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, Average?>
}

extension QueryNumber where Self: FixedWidthInteger {
  /// The sum, which must fit an `Int`.
  public static func querySum<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, Int> {
    ItemAggregate(property) {
      Total<WholeSum>(Self.self)
    } result: { total in
      try total.known(total.sum.value.flatMap { Int(exactly: $0) })
    }
  }

  /// The average as a double.
  public static func queryAverage<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, Double?> {
    ItemAggregate(property) {
      Total<WholeSum>(Self.self)
    } result: { total in
      let sum = try total.known(total.sum.value)
      return total.count == 0 ? nil : Double(sum) / Double(total.count)
    }
  }
}

extension QueryNumber where Self: BinaryFloatingPoint {
  /// The sum of the exact values, rounded once, so that it does not depend on the order of the items.
  public static func querySum<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, Double> {
    ItemAggregate(property) {
      Total<DoubleSum>(Self.self)
    } result: {
      $0.sum.value
    }
  }

  /// The sum, divided by the number of values.
  public static func queryAverage<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, Double?> {
    ItemAggregate(property) {
      Total<DoubleSum>(Self.self)
    } result: { total in
      total.count == 0 ? nil : total.sum.value / Double(total.count)
    }
  }
}

extension Decimal: QueryNumber {
  /// The exact sum, which must not have more than 38 digits.
  public static func querySum<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, Decimal> {
    ItemAggregate(property) {
      Total<DecimalSum>(Decimal.self)
    } result: {
      try $0.known($0.sum.value)
    }
  }

  /// The exact sum, divided by the number of values.
  public static func queryAverage<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, Decimal?> {
    ItemAggregate(property) {
      Total<DecimalSum>(Decimal.self)
    } result: { total in
      let sum = try total.known(total.sum.value)
      return total.count == 0 ? nil : sum / Decimal(total.count)
    }
  }
}

extension QueryNumber where Self: RawRepresentable, RawValue: QueryNumber {
  /// The sum of the raw values.
  public static func querySum<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, RawValue.Sum> { RawValue.querySum(of: property) }

  /// The average of the raw values.
  public static func queryAverage<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, RawValue.Average?> { RawValue.queryAverage(of: property) }
}

extension Optional: QueryNumber where Wrapped: QueryNumber {
  /// The sum of the values that are not nil.
  public static func querySum<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, Wrapped.Sum> { Wrapped.querySum(of: property) }

  /// The average of the values that are not nil.
  public static func queryAverage<Model>(
    of property: any PartialKeyPath<Model> & Sendable
  ) -> ItemAggregate<Model, Wrapped.Average?> { Wrapped.queryAverage(of: property) }
}

extension Double: QueryNumber {}
extension Float: QueryNumber {}
extension Int: QueryNumber {}
extension Int8: QueryNumber {}
extension Int16: QueryNumber {}
extension Int32: QueryNumber {}
extension Int64: QueryNumber {}
extension UInt: QueryNumber {}
extension UInt8: QueryNumber {}
extension UInt16: QueryNumber {}
extension UInt32: QueryNumber {}
extension UInt64: QueryNumber {}
extension Int128: QueryNumber {}
extension UInt128: QueryNumber {}
