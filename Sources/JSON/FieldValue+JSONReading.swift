package import CBOR
package import Foundation

// This package has its own parser, because Foundation's does not distinguish `true`, `1` and `1.0`.
extension FieldValue {
  /// Reads a JSON text (RFC 8259, UTF-8), strictly.
  ///
  /// A number without a point and an exponent is `.integer`, or above `Int64.max` `.unsigned`. Every other number, and
  /// an integer that fits neither, is the nearest `.double`. If a key is repeated, the last value counts. Two keys that
  /// are equal as Swift strings but differ in their bytes, such as an "é" of one scalar and one of two, are an error.
  /// Half of a surrogate pair becomes U+FFFD. A byte order mark at the start is skipped.
  ///
  /// - Parameters:
  ///   - bytes: the text, as `[UInt8]`, `ArraySlice<UInt8>`, `Data` or a raw buffer.
  ///   - decodingWrappers: whether objects such as `{"$date":"…"}` are read as dates, data and doubles, as
  ///     ``Value/json`` writes them. Otherwise they are read as dictionaries.
  ///   - exactly: whether it is an error if the value would lose something: digits of a number, a value whose key is
  ///     repeated, or half of a surrogate pair.
  /// - Throws: ``JSONError``, also for numbers beyond `Double` and for more than 512 nested containers.
  /// - Complexity: O(*n*) time and memory in the number of bytes.
  package init(
    json bytes: some ContiguousBytes, decodingWrappers: Bool = false, exactly: Bool = false
  ) throws(JSONError) {
    let builder = ValueBuilder(decodingWrappers: decodingWrappers, isExact: exactly)
    let result = unsafe bytes.withUnsafeBytes { unsafe Self.read(JSONCursor($0), builder) }
    self = try result.get()
  }

  /// The same for a string.
  package init(
    json text: String, decodingWrappers: Bool = false, exactly: Bool = false
  ) throws(JSONError) {
    try self.init(json: Array(text.utf8), decodingWrappers: decodingWrappers, exactly: exactly)
  }

  /// Reads a text whose grammar is known to be right, and notes what of it can't be kept: with `inexactValue` if
  /// something is lost, and with another code if a part is beyond a limit, or one of two equivalent keys is missing.
  static func read(checked bytes: ArraySlice<UInt8>, noting loss: inout JSONError?) -> Value {
    let builder = ValueBuilder(decodingWrappers: false, isExact: true, isLenient: true)
    return unsafe bytes.withUnsafeBytes { buffer in
      var parser = unsafe JSONParser(JSONCursor(buffer), handler: builder)
      do throws(JSONError) {
        try parser.parse()
      } catch {
        preconditionFailure("the text was valid before: \(error)")
      }
      loss = parser.handler.loss
      return parser.handler.result
    }
  }

  private static func read(_ cursor: JSONCursor, _ builder: ValueBuilder) -> Result<Value, JSONError> {
    var parser = JSONParser(cursor, handler: builder)
    do throws(JSONError) {
      try parser.parse()
      if let loss = parser.handler.loss { throw loss }
      return .success(parser.handler.result)
    } catch {
      return .failure(error)
    }
  }
}

/// Builds a value from the bottom up: finished values wait in one list until their container ends.
private struct ValueBuilder: JSONHandler {
  /// An array or object that has not ended.
  private struct Opening {
    /// Its start in the text.
    let offset: Int
    /// The number of waiting values when it began; all later ones belong to it.
    let waiting: Int
  }

  private let decodingWrappers: Bool
  private let isExact: Bool
  /// Whether reading continues after a loss, and only records it.
  private let isLenient: Bool
  /// The first part that could not be kept exactly, if ``isExact``; or the first one that could not be kept at all.
  private(set) var loss: JSONError?
  private var values: [FieldValue] = []
  private var keys: [String] = []
  private var openings: [Opening] = []

  init(decodingWrappers: Bool, isExact: Bool, isLenient: Bool = false) {
    self.decodingWrappers = decodingWrappers
    self.isExact = isExact
    self.isLenient = isLenient
  }

  /// Notes a loss, or throws it.
  private mutating func lose(_ error: JSONError) throws(JSONError) {
    guard isLenient else { throw error }
    if loss.map({ $0.code == .inexactValue && error.code != .inexactValue }) ?? true { loss = error }
  }

  mutating func exceedsLimit(
    _ code: JSONError.Code, at offset: Int, in cursor: JSONCursor
  ) throws(JSONError) {
    // Finding the line of an error takes time.
    if let loss, loss.code != .inexactValue { return }
    try lose(cursor.error(code, at: offset, JSONLimits.explanation(of: code)))
  }

  var result: FieldValue { values[0] }

  mutating func null() { values.append(.null) }

  mutating func bool(_ value: Bool) { values.append(.bool(value)) }

  mutating func string(_ token: StringToken, in cursor: JSONCursor) {
    checkPairs(token, in: cursor)
    values.append(.string(cursor.text(of: token)))
  }

  private mutating func checkPairs(_ token: StringToken, in cursor: JSONCursor) {
    guard isExact, loss == nil, let place = cursor.halfOfPair(in: token) else { return }
    loss = cursor.error(.inexactValue, at: place, "half of a surrogate pair, which is no character")
  }

  mutating func number(_ token: NumberToken, in cursor: JSONCursor) {
    if let integer = cursor.integer(of: token) {
      values.append(integer)
      return
    }
    let double = cursor.double(of: token)
    if isExact, loss == nil, cursor.losesDigits(token, as: double) {
      loss = cursor.error(
        .inexactValue, at: token.range.lowerBound,
        "a number with more digits than can be kept; a string keeps them")
    }
    values.append(.double(double))
  }

  mutating func key(_ token: StringToken, in cursor: JSONCursor) {
    checkPairs(token, in: cursor)
    keys.append(cursor.text(of: token))
  }

  mutating func beginContainer(at offset: Int) {
    openings.append(Opening(offset: offset, waiting: values.count))
  }

  mutating func endArray(in cursor: JSONCursor) {
    let start = openings.removeLast().waiting
    let array = Array(values[start...])
    values.removeSubrange(start...)
    values.append(.array(array))
  }

  mutating func endObject(in cursor: JSONCursor) throws(JSONError) {
    let opening = openings.removeLast()
    let count = values.count - opening.waiting
    var dictionary = [String: FieldValue](minimumCapacity: count)
    for index in 0..<count {
      dictionary[keys[keys.count - count + index]] = values[opening.waiting + index]
    }
    if dictionary.count < count {
      do throws(JSONError) {
        try cursor.checkKeys(keys.suffix(count), at: opening.offset, mayRepeat: !isExact)
      } catch {
        try lose(error)
      }
    }
    keys.removeLast(count)
    values.removeLast(count)
    guard decodingWrappers, dictionary.count == 1, let (key, content) = dictionary.first,
      let wrapper = JSONWrapper(key: key)
    else {
      values.append(.dictionary(dictionary))
      return
    }
    guard let value = wrapper.unwrap(content) else {
      throw cursor.error(
        .invalidWrapper, at: opening.offset, "an object with the key \"\(key)\" must have \(wrapper.content)")
    }
    values.append(value)
  }
}
