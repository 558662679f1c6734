import Foundation

/// Decodes any `Decodable` type from a ``FieldValue``: the reverse of ``ValueEncoder``.
///
/// A number without a fraction can be decoded as any integer type that it fits, and any number as the nearest
/// floating-point number. A number that does not fit is an error. No other kinds are converted: a boolean is not a 1,
/// and a text is not a date.
public struct ValueDecoder: Sendable {
  /// A decoder.
  public init() {}

  /// Decodes a value of a type.
  ///
  /// - Throws: `DecodingError`, with the path of the part that does not fit, and what `T` throws.
  public func decode<T: Decodable>(_ type: T.Type, from value: FieldValue) throws -> T {
    try PartDecoder(value: value, containerPath: [], key: nil).decode(type)
  }
}

/// The `Decoder` of one part of a value.
struct PartDecoder: Decoder, SingleValueDecodingContainer {
  let value: FieldValue
  /// The path of the enclosing container, and the key in it. Joined only on demand, because the paths of most
  /// scalars are never read.
  let containerPath: [any CodingKey]
  let key: (any CodingKey)?

  var codingPath: [any CodingKey] {
    guard let key else { return containerPath }
    return containerPath + [key]
  }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .dictionary(let members) = value else {
      throw mismatch([String: FieldValue].self, "a dictionary")
    }
    return KeyedDecodingContainer(KeyedPartContainer<Key>(members: members, decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else { throw mismatch([FieldValue].self, "an array") }
    return UnkeyedPartContainer(elements: elements, decoder: self)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  /// Foundation's types are decoded as a ``FieldValue`` represents them, all others as they decode
  /// themselves.
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let native: Any
    if type == FieldValue.self {
      native = value
    } else if type == Date.self {
      native = try kept(value.date, type, "a date")
    } else if type == Data.self {
      native = try kept(value.data, type, "data")
    } else if type == URL.self {
      native = try url()
    } else if type == Decimal.self {
      native = try decimal()
    } else {
      return try T(from: self)
    }
    guard let result = native as? T else { throw mismatch(type, "a \(type)") }
    return result
  }
}

extension PartDecoder {
  private func kept<T>(_ value: T?, _ type: Any.Type, _ expected: String) throws -> T {
    guard let value else { throw mismatch(type, expected) }
    return value
  }

  func decodeNil() -> Bool { value == .null }
  func decode(_ type: Bool.Type) throws -> Bool { try kept(value.bool, type, "true or false") }
  func decode(_ type: String.Type) throws -> String { try kept(value.string, type, "a string") }
  func decode(_ type: Double.Type) throws -> Double { try floatingPoint(type) }
  func decode(_ type: Float.Type) throws -> Float { try floatingPoint(type) }

  func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T { try integer() }

  private func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) throws -> T {
    let integer: T?
    switch value {
    case .integer(let number): integer = T(exactly: number)
    case .unsigned(let number): integer = T(exactly: number)
    case .double(let number): integer = T(exactly: number)
    default:
      guard let number = ExactNumber(value) else { throw mismatch(type, "an integer") }
      integer = number.whole()
    }
    guard let integer else { throw corrupted("the number \(number) does not fit \(type)") }
    return integer
  }

  private func floatingPoint<T: BinaryFloatingPoint>(_ type: T.Type) throws -> T {
    switch value {
    case .integer(let number): return T(number)
    case .unsigned(let number): return T(number)
    case .double(let number):
      let result = T(number)
      guard result.isFinite || !number.isFinite else {
        throw corrupted("the number \(number) does not fit \(type)")
      }
      return result
    default: throw mismatch(type, "a number")
    }
  }

  /// A relative URL comes after its base: `<https://example.com/a/>b`.
  private func url() throws -> URL {
    let text = try decode(String.self)
    let parts = text.first == "<" ? text.dropFirst().split(separator: ">", maxSplits: 1) : []
    let base = parts.first.flatMap { URL(string: String($0)) }
    let url =
      base == nil ? URL(string: text) : URL(string: String(parts.dropFirst().first ?? ""), relativeTo: base)
    guard let url else { throw corrupted("\"\(text)\" is not a URL") }
    return url
  }

  private func decimal() throws -> Decimal {
    let found: ExactNumber?
    switch value {
    case .string("NaN"): return .nan
    case .string(let text): found = ExactNumber(text)
    case .integer, .unsigned, .double: found = ExactNumber(value)
    default:
      found = ExactNumber(value)
      if found == nil { throw mismatch(Decimal.self, "a number, or its digits as a string") }
    }
    guard let decimal = found?.decimal else { throw corrupted("\(number) is not a decimal number") }
    return decimal
  }

  private var number: String {
    switch value {
    case .integer(let number): number.description
    case .unsigned(let number): number.description
    case .double(let number): number.description
    case .string(let text): "\"\(text)\""
    default: value.kind
    }
  }

  func corrupted(_ sentence: String) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: sentence))
  }

  func mismatch(_ type: Any.Type, _ expected: String) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "\(value.kind) where \(expected) should be")
    if case .null = value { return .valueNotFound(type, context) }
    return .typeMismatch(type, context)
  }
}

extension FieldValue {
  fileprivate var kind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .unsigned: "an integer"
    case .double: "a floating-point number"
    case .string: "a string"
    case .data: "data"
    case .date: "a date"
    case .array: "an array"
    case .dictionary: "a dictionary"
    }
  }
}
