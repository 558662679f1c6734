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

  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    let integer: T?
    switch value {
    case .integer(let number): integer = T(exactly: number)
    case .unsigned(let number): integer = T(exactly: number)
    case .double(let number): integer = T(exactly: number)
    default: throw mismatch(type, "an integer")
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

  private func url() throws -> URL {
    let text = try decode(String.self)
    guard let url = URL(string: text) else { throw corrupted("\"\(text)\" is not a URL") }
    return url
  }

  private func decimal() throws -> Decimal {
    switch value {
    case .integer(let number): return Decimal(number)
    case .unsigned(let number): return Decimal(number)
    // The shortest digits of a double are those that its writer meant: 0.1, not 0.1000000000000000055.
    case .double(let number):
      guard number.isFinite, let decimal = Decimal(string: number.description, locale: nil) else { break }
      return decimal
    case .string(let text):
      if text == "NaN" { return .nan }
      guard Self.isDecimal(text), let decimal = Decimal(string: text, locale: nil) else { break }
      return decimal
    default: throw mismatch(Decimal.self, "a number, or its digits as a string")
    }
    throw corrupted("\(number) is not a decimal number")
  }

  /// Whether a text is an optional sign, digits with an optional point, and an optional exponent of up to
  /// three digits. The check comes first because Foundation parses a prefix and ignores the rest.
  private static func isDecimal(_ text: String) -> Bool {
    var rest = text.utf8[...]
    func skip(_ characters: String) -> Bool {
      guard let first = rest.first, characters.utf8.contains(first) else { return false }
      rest.removeFirst()
      return true
    }
    func skipDigits() -> Int {
      let count = rest.prefix { (0x30...0x39).contains($0) }.count
      rest.removeFirst(count)
      return count
    }
    _ = skip("+-")
    var digitCount = skipDigits()
    if skip(".") { digitCount += skipDigits() }
    guard digitCount > 0 else { return false }
    if skip("eE") {
      _ = skip("+-")
      guard (1...3).contains(skipDigits()) else { return false }
    }
    return rest.isEmpty
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
