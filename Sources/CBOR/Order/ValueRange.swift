/// A range in the order of values, for lookups in an index.
///
/// A range above or below a value contains only values of that value's class: the range above 4 contains no texts and
/// no missing values. NaN is neither above nor below anything, so a range above, below, from or through NaN is empty.
public struct ValueRange: Hashable, Sendable {
  package let lower: ValueKey
  package let upper: ValueKey
  package let includesLower: Bool
  package let includesUpper: Bool

  private init(_ lower: ValueKey, _ includesLower: Bool, _ upper: ValueKey, _ includesUpper: Bool) {
    self.lower = lower
    self.upper = upper
    self.includesLower = includesLower
    self.includesUpper = includesUpper
  }

  /// The values that are equal to a value. `1` and `1.0` are equal, and so are all arrays and dictionaries.
  public static func equal(to value: FieldValue) -> ValueRange {
    let key = ValueKey(value)
    return ValueRange(key, true, key, true)
  }

  /// Missing and null values.
  public static var missing: ValueRange { ValueRange(.missing, true, .missing, true) }

  /// The values of the same class below a value.
  public static func below(_ value: FieldValue) -> ValueRange { fromLeast(to: value, includesIt: false) }

  /// The values of the same class up to and including a value.
  public static func through(_ value: FieldValue) -> ValueRange { fromLeast(to: value, includesIt: true) }

  private static func fromLeast(to value: FieldValue, includesIt: Bool) -> ValueRange {
    let key = ValueKey(value)
    // NaN comes after all numbers, so a range from the least number to NaN would contain all of them.
    if key.isNaN { return ValueRange(key, false, key, false) }
    return ValueRange(key.leastOfClass, true, key, includesIt)
  }

  /// The values of the same class above a value.
  public static func above(_ value: FieldValue) -> ValueRange {
    let key = ValueKey(value)
    return ValueRange(key, false, key.greatestOfClass, true)
  }

  /// The values of the same class from a value on, including that value.
  public static func from(_ value: FieldValue) -> ValueRange {
    let key = ValueKey(value)
    return ValueRange(key, true, key.greatestOfClass, true)
  }

  /// The values from `lower` through `upper`, both included; none if `lower` is above `upper`.
  public static func from(_ lower: FieldValue, through upper: FieldValue) -> ValueRange {
    ValueRange(ValueKey(lower), true, ValueKey(upper), true)
  }

  /// The values from `lower` up to, but not including, `upper`; none if `lower` is above `upper`.
  public static func from(_ lower: FieldValue, below upper: FieldValue) -> ValueRange {
    ValueRange(ValueKey(lower), true, ValueKey(upper), false)
  }

  /// The texts that begin with the bytes of `text`.
  public static func prefix(_ text: String) -> ValueRange {
    let key = ValueKey(.string(text))
    guard let end = ValueKey.end(ofPrefix: text) else {
      return ValueRange(key.leastOfClass, true, key.greatestOfClass, true)
    }
    return ValueRange(key, true, end, false)
  }

  /// The arrays that have a value as an element.
  public static func containing(_ element: FieldValue) -> ValueRange { .containing(.equal(to: element)) }

  /// The arrays that have an element in a range: `.containing(.prefix("mul"))`.
  public static func containing(_ range: ValueRange) -> ValueRange {
    ValueRange(range.lower.asElement, range.includesLower, range.upper.asElement, range.includesUpper)
  }

  /// All values, beginning with the missing ones.
  public static let all = ValueRange(.missing, true, ValueKey(.array([])), true)

  package var isPoint: Bool { includesLower && includesUpper && lower == upper }

  package func contains(_ key: ValueKey) -> Bool {
    (includesLower ? lower <= key : lower < key) && (includesUpper ? key <= upper : key < upper)
  }

  package func contains(_ record: EntityRecord, at path: AttributePath) -> Bool {
    if lower.isElement { return record.hasElement(in: self, at: path) }
    let isInside = record.read(at: path) { reader in
      ValueKey.isText(at: reader, between: lower, and: upper)
        ?? contains((try? ValueKey(reading: &reader)) ?? .missing)
    }
    return isInside ?? contains(.missing)
  }
}
