public import Foundation

// What a value is, without a pattern: `item["stars"]?.integer`.
extension Value {
  /// Whether this is JSON's null.
  public var isNull: Bool { self == .null }

  /// The truth value, nil for any other kind of value.
  public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

  /// The whole number, nil for any other kind of value and for one that `Int` can't hold. A `.double` without a
  /// fraction is one too: files of other programs often hold numbers so.
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
  public var array: [Value]? { if case .array(let elements) = self { elements } else { nil } }

  /// The members, nil for any other kind of value.
  public var dictionary: [String: Value]? { if case .dictionary(let members) = self { members } else { nil } }

  /// An element of an array; nil when there is none at that index, and for any other kind of value.
  public subscript(index: Int) -> Value? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// A member of a dictionary; nil when there is none of that name, and for any other kind of value.
  public subscript(name: String) -> Value? {
    if case .dictionary(let members) = self { members[name] } else { nil }
  }
}

// There is no literal for null: `nil` stays what it is everywhere, no value at all.
extension Value: ExpressibleByStringInterpolation {
  /// The value `.string`.
  public init(stringLiteral value: String) { self = .string(value) }
}

extension Value: ExpressibleByIntegerLiteral {
  /// The value `.integer`.
  public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension Value: ExpressibleByFloatLiteral {
  /// The value `.double`.
  public init(floatLiteral value: Double) { self = .double(value) }
}

extension Value: ExpressibleByBooleanLiteral {
  /// The value `.bool`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension Value: ExpressibleByArrayLiteral {
  /// The value `.array`.
  public init(arrayLiteral elements: Value...) { self = .array(elements) }
}

extension Value: ExpressibleByDictionaryLiteral {
  /// The value `.dictionary`. Of a name that stands there twice, the last counts.
  public init(dictionaryLiteral elements: (String, Value)...) {
    self = .dictionary(Dictionary(elements) { $1 })
  }
}
