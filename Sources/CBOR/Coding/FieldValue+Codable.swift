// `ValueEncoder` and `ValueDecoder` preserve a value. Other coders, such as JSON's, may change data, dates and the
// types of numbers.
extension FieldValue: Codable {
  /// Encodes the content of the value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let bool): try container.encode(bool)
    case .integer(let number): try container.encode(number)
    case .unsigned(let number): try container.encode(number)
    case .double(let number): try container.encode(number)
    case .string(let string): try container.encode(string)
    case .data(let data): try container.encode(data)
    case .date(let date): try container.encode(date)
    case .array(let elements): try container.encode(elements)
    case .dictionary(let members): try container.encode(members)
    }
  }

  /// Decodes the first of these kinds that fits: null, a boolean, a number, a text, an array, a dictionary.
  /// - Throws: `DecodingError` if none fits.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let bool = try? container.decode(Bool.self) {
      self = .bool(bool)
    } else if let number = try? container.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? container.decode(UInt64.self) {
      self = .unsigned(number)
    } else if let number = try? container.decode(Double.self) {
      self = .double(number)
    } else if let string = try? container.decode(String.self) {
      self = .string(string)
    } else if let elements = try? container.decode([Value].self) {
      self = .array(elements)
    } else {
      self = .dictionary(try container.decode([String: Value].self))
    }
  }
}
