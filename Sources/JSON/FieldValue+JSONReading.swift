package import CBOR
package import Foundation

// JSON is not read with Foundation, because its parser does not distinguish `true`, `1` and `1.0`.
extension FieldValue {
  /// Reads a JSON text (RFC 8259, UTF-8), strictly.
  ///
  /// A number without point and exponent becomes `.integer` or, above `Int64.max`, `.unsigned`. Integers that fit
  /// neither become the nearest `.double`, as other numbers do. If a key is repeated, its last value counts. Keys that
  /// are equal as Swift strings but differ in their bytes, such as an "é" of one scalar and one of two, are an error.
  /// Half of a surrogate pair becomes U+FFFD. A byte order mark at the start is skipped.
  ///
  /// - Parameters:
  ///   - bytes: the text, as `[UInt8]`, `ArraySlice<UInt8>`, `Data` or a raw buffer.
  ///   - decodingWrappers: whether objects such as `{"$date":"…"}` are read as dates, data and doubles, as
  ///     ``FieldValue/json`` writes them. Otherwise they are read as dictionaries.
  ///   - exactly: whether it is an error if the value would lose something: digits of a number, a value whose key is
  ///     repeated, or half of a surrogate pair.
  /// - Throws: ``JSONError``, also for numbers beyond `Double` and for more than 512 nested containers.
  /// - Complexity: O(*n*) time and memory in the number of bytes.
  package init(
    json bytes: some ContiguousBytes, decodingWrappers: Bool = false, exactly: Bool = false
  ) throws(JSONError) {
    self = try unsafe bytes.withUnsafeBytes { bytes in
      let cursor = unsafe JSONCursor(bytes)
      return Result { () throws(JSONError) -> FieldValue in
        var checked = cursor
        let start = try checked.check(depthLimit: ValueReader.depthLimit).start
        var reader = ValueReader(cursor, at: start, decodesWrappers: decodingWrappers, isExact: exactly)
        let value = try reader.value()
        if let loss = reader.loss { throw loss }
        return value
      }
    }.get()
  }

  package init(
    json text: String, decodingWrappers: Bool = false, exactly: Bool = false
  ) throws(JSONError) {
    try self.init(json: Array(text.utf8), decodingWrappers: decodingWrappers, exactly: exactly)
  }
}

/// Makes the value of a text whose grammar was checked.
struct ValueReader {
  /// How deeply arrays and objects may be nested.
  static let depthLimit = 512

  private var cursor: JSONCursor
  private let decodesWrappers: Bool
  private let isExact: Bool
  /// The error for the first part of the text that a value can't represent. If there is none and ``isExact`` is set:
  /// the error for the first part that is represented only in part.
  private(set) var loss: JSONError?

  init(_ cursor: JSONCursor, at start: Int = 0, decodesWrappers: Bool = false, isExact: Bool) {
    (self.cursor, self.decodesWrappers, self.isExact) = (cursor, decodesWrappers, isExact)
    self.cursor.position = start
  }

  mutating func value(depth: Int = 0) throws(JSONError) -> FieldValue {
    let start = cursor.position
    switch cursor.byte {
    case UInt8(ascii: "\""): return .string(string(try cursor.readString()))
    case UInt8(ascii: "t"):
      try cursor.readLiteral("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try cursor.readLiteral("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try cursor.readLiteral("null")
      return .null
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      if depth < Self.depthLimit { return try container(depth) }
      note(.tooDeep, at: start, "more than \(Self.depthLimit) nested arrays and objects")
      _ = try cursor.checkValue()
      return .null
    default: return try number()
    }
  }

  private mutating func container(_ depth: Int) throws(JSONError) -> FieldValue {
    let start = cursor.position
    let isArray = cursor.byte == UInt8(ascii: "[")
    var values: [FieldValue] = []
    var keys: [String] = []
    let closing = cursor.byte + 2
    cursor.enter()
    while cursor.byte != closing {
      if !isArray { keys.append(string(try cursor.readKey(orElse: "a key"))) }
      values.append(try value(depth: depth + 1))
      cursor.skipWhitespace()
      if cursor.byte != closing { cursor.enter() }
    }
    cursor.position += 1
    return isArray ? .array(values) : try object(keys, values, at: start)
  }

  private mutating func object(
    _ keys: [String], _ values: [FieldValue], at start: Int
  ) throws(JSONError) -> FieldValue {
    let dictionary = Dictionary(zip(keys, values)) { $1 }
    if dictionary.count < keys.count { checkKeys(keys, at: start) }
    guard decodesWrappers, dictionary.count == 1, let (key, content) = dictionary.first,
      let wrapper = JSONWrapper(key: key)
    else { return .dictionary(dictionary) }
    guard let value = wrapper.unwrap(content) else {
      throw cursor.error(
        .invalidWrapper, at: start, "an object with the key \"\(key)\" must have \(wrapper.content)")
    }
    return value
  }

  /// Notes an error if two keys are equal, because the dictionary then loses a value.
  private mutating func checkKeys(_ keys: [String], at start: Int) {
    var spellings: [String: String] = [:]
    for key in keys {
      guard let other = spellings.updateValue(key, forKey: key) else { continue }
      if other.utf8.elementsEqual(key.utf8) {
        note(.inexactValue, at: start, "an object that has the key \"\(key)\" twice")
      } else {
        note(
          .equivalentKeys, at: start,
          "an object with two spellings of the key \"\(key)\", which differ only in their bytes")
      }
    }
  }

  private mutating func string(_ token: StringToken) -> String {
    let (text, half) = cursor.text(of: token)
    if let half { note(.inexactValue, at: half, "half of a surrogate pair, which is no character") }
    return text
  }

  private mutating func number() throws(JSONError) -> FieldValue {
    let token = try cursor.readNumber()
    if let integer = cursor.integer(of: token) { return integer }
    let double = cursor.double(of: token)
    guard double.isFinite else {
      note(.numberOutOfRange, at: token.range.lowerBound, "a number beyond the largest Double, about 1.8e308")
      return .null
    }
    if isExact, loss == nil, cursor.losesDigits(token, as: double) {
      note(
        .inexactValue, at: token.range.lowerBound,
        "a number with more digits than can be kept; a string keeps them")
    }
    return .double(double)
  }

  private mutating func note(_ code: JSONError.Code, at offset: Int, _ message: @autoclosure () -> String) {
    // An error is made only if it will be kept, because finding its line takes time.
    let isWanted = code == .inexactValue ? isExact && loss == nil : loss == nil || loss?.code == .inexactValue
    if isWanted { loss = cursor.error(code, at: offset, message()) }
  }
}
