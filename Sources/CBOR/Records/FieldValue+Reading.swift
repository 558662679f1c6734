public import Foundation

extension FieldValue {
  /// Whether this is JSON's null.
  public var isNull: Bool { self == .null }

  /// The boolean, nil for any other kind of value.
  public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

  /// The whole number; nil for any other kind of value, and for numbers beyond `Int`. A `.double` without a fraction is
  /// a whole number too, because files of other programs often have numbers in that form.
  public var integer: Int? {
    switch self {
    case .integer(let number): Int(exactly: number)
    case .unsigned(let number): Int(exactly: number)
    case .double(let number): Int(exactly: number)
    default: nil
    }
  }

  /// The number, nil for any other kind of value. Whole numbers beyond 2⁵³ are rounded.
  public var double: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .unsigned(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  /// The text, nil for any other kind of value.
  public var string: String? { if case .string(let string) = self { string } else { nil } }

  /// The bytes, nil for any other kind of value.
  public var data: Data? { if case .data(let data) = self { data } else { nil } }

  /// The date, nil for any other kind of value.
  public var date: Date? { if case .date(let date) = self { date } else { nil } }

  /// The elements, nil for any other kind of value.
  public var array: [FieldValue]? { if case .array(let elements) = self { elements } else { nil } }

  /// The members, nil for any other kind of value.
  public var dictionary: [String: FieldValue]? {
    if case .dictionary(let members) = self { members } else { nil }
  }

  /// The element of an array at an index; nil if the index is out of range, or if the value is not an array.
  public subscript(index: Int) -> FieldValue? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// The member of a dictionary under a name; nil if there is no such member, or if the value is not a dictionary.
  public subscript(name: String) -> FieldValue? {
    if case .dictionary(let members) = self { members[name] } else { nil }
  }
}

// There is no literal for null, because `nil` always means that there is no value.
extension FieldValue: ExpressibleByStringInterpolation {
  /// Makes a `.string` from a text literal.
  public init(stringLiteral value: String) { self = .string(value) }
}

extension FieldValue: ExpressibleByIntegerLiteral {
  /// Makes an `.integer` from an integer literal.
  public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension FieldValue: ExpressibleByFloatLiteral {
  /// Makes a `.double` from a floating-point literal.
  public init(floatLiteral value: Double) { self = .double(value) }
}

extension FieldValue: ExpressibleByBooleanLiteral {
  /// Makes a `.bool` from a boolean literal.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension FieldValue: ExpressibleByArrayLiteral {
  /// Makes an `.array` from an array literal.
  public init(arrayLiteral elements: FieldValue...) { self = .array(elements) }
}

extension FieldValue: ExpressibleByDictionaryLiteral {
  /// Makes a `.dictionary` from a literal. If a name occurs twice, its last value is used.
  public init(dictionaryLiteral elements: (String, FieldValue)...) {
    self = .dictionary(Dictionary(elements) { $1 })
  }
}
