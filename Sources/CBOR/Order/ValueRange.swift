/// A range in the order of values, for lookups in an index.
///
/// A range above or below a value contains only values of its class: the numbers above 4 do not include texts or
/// missing values. NaN is neither above nor below anything, so a range above, below, from or through it is empty.
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

  /// The values that equal that value: `1` and `1.0` do. All arrays and dictionaries are equal here.
  public static func equal(to value: FieldValue) -> ValueRange {
    let key = ValueKey(value)
    return ValueRange(key, true, key, true)
  }

  /// Missing and null values.
  public static var missing: ValueRange { ValueRange(.missing, true, .missing, true) }

  /// The values of the same class below a value.
  public static func below(_ value: FieldValue) -> ValueRange { fromLeast(to: value, includesIt: false) }

  /// The values of the same class up to a value, which is included.
  public static func through(_ value: FieldValue) -> ValueRange { fromLeast(to: value, includesIt: true) }

  private static func fromLeast(to value: FieldValue, includesIt: Bool) -> ValueRange {
    let key = ValueKey(value)
    // NaN is after all numbers, so the range from the least number would contain them.
    if key.isNaN { return ValueRange(key, false, key, false) }
    return ValueRange(key.leastOfClass, true, key, includesIt)
  }

  /// The values of the same class above a value.
  public static func above(_ value: FieldValue) -> ValueRange {
    let key = ValueKey(value)
    return ValueRange(key, false, key.greatestOfClass, true)
  }

  /// The values of the same class from a value on, which is included.
  public static func from(_ value: FieldValue) -> ValueRange {
    let key = ValueKey(value)
    return ValueRange(key, true, key.greatestOfClass, true)
  }

  /// The values from one through another, both included; none if the first is above the second.
  public static func from(_ lower: FieldValue, through upper: FieldValue) -> ValueRange {
    ValueRange(ValueKey(lower), true, ValueKey(upper), true)
  }

  /// The values from one up to, but not including, another; none if the first is above the second.
  public static func from(_ lower: FieldValue, below upper: FieldValue) -> ValueRange {
    ValueRange(ValueKey(lower), true, ValueKey(upper), false)
  }

  /// The texts that begin with the same bytes as this one.
  public static func prefix(_ text: String) -> ValueRange {
    let key = ValueKey(.string(text))
    guard let end = ValueKey.end(ofPrefix: text) else {
      return ValueRange(key.leastOfClass, true, key.greatestOfClass, true)
    }
    return ValueRange(key, true, end, false)
  }

  /// The arrays that have this value as an element.
  public static func containing(_ element: FieldValue) -> ValueRange {
    let key = ValueKey(element).asElement
    return ValueRange(key, true, key, true)
  }

  /// All values, missing ones first.
  public static let all = ValueRange(.missing, true, ValueKey(.array([])), true)

  package var isPoint: Bool { includesLower && includesUpper && lower == upper }

  package func contains(_ key: ValueKey) -> Bool {
    (includesLower ? lower <= key : lower < key) && (includesUpper ? key <= upper : key < upper)
  }

  package func contains(_ record: EntityRecord, at path: AttributePath) -> Bool {
    lower.isElement ? record.hasElement(lower, at: path) : contains(record.key(at: path))
  }
}
