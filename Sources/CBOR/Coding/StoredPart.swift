import Foundation

/// One encoded value in the bytes of a record. It is decoded as the type that a caller requests.
struct StoredPart {
  static let null = StoredPart(bytes: [CBORByte.null], start: 0)

  let bytes: [UInt8]
  let start: Int

  /// Calls `body` with a reader at this part. Returns nil if `body` throws.
  @inline(__always)
  func read<Result>(_ body: (inout CBORReader) throws(CBORError) -> Result?) -> Result? {
    unsafe bytes.withUnsafeBytes { buffer in
      var reader = unsafe CBORReader(buffer, from: start)
      do throws(CBORError) { return try body(&reader) } catch { return nil }
    }
  }

  private var kind: CBORKind? { read { reader throws(CBORError) in try reader.kind() } }

  var isNull: Bool { start < bytes.count && bytes[start] == CBORByte.null }

  /// The part after this one.
  var next: StoredPart {
    let end = read { reader throws(CBORError) in
      try reader.pass()
      return reader.offset
    }
    return StoredPart(bytes: bytes, start: end ?? bytes.count)
  }

  private func withRest<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    unsafe bytes.withUnsafeBytes { unsafe body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
  }

  /// The value of this part. If the part is a record, its numbered fields are left out.
  private var value: FieldValue {
    if kind == .map { return unsafe .dictionary(withRest { unsafe FieldMap.attributes(in: $0) }) }
    return read { reader throws(CBORError) in try reader.readValue() } ?? .null
  }
}

extension StoredPart {
  /// Decodes Foundation's types as a ``FieldValue`` represents them, and all other types by their own `init(from:)`.
  func decode<T: Decodable>(_ type: T.Type, at place: () -> PartPlace) throws -> T {
    /// Returns a value as `T`, which must be `U`. A dynamic cast would take many times longer.
    @inline(__always)
    func result<U>(_ value: U?, _ expected: StaticString) throws -> T {
      guard let value else { throw mismatch(type, "\(expected)", at: place()) }
      precondition(T.self == U.self)
      return unsafe unsafeBitCast(value, to: type)
    }
    // Types of Foundation come first. For others, the compiler knows the type, because containers have methods for them.
    if type == Date.self { return try result(date, "a date") }
    if type == Decimal.self {
      return try result(decimal(at: place), "a number, or its digits as a string")
    }
    if type == [String].self, let texts { return try result(texts, "an array") }
    if type == Data.self { return try result(data, "data") }
    if type == URL.self { return try result(url(at: place), "a URL") }
    if type == String.self { return try result(text, "a string") }
    if type == Int.self { return try result(integer(Int.self, at: place), "an integer") }
    if type == Double.self { return try result(floatingPoint(Double.self, at: place), "a number") }
    if type == Bool.self { return try result(bool, "true or false") }
    if type == Float.self { return try result(floatingPoint(Float.self, at: place), "a number") }
    if type == FieldValue.self { return try result(value, "a value") }
    return try T(from: PartDecoder(part: self, place: place()))
  }

  @inline(__always)
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, at place: () -> PartPlace) throws -> T {
    guard let integer = try integer(type, at: place) else { throw mismatch(type, "an integer", at: place()) }
    return integer
  }

  private var bool: Bool? { read { reader throws(CBORError) in try reader.readBool() } }
  private var text: String? { read { reader throws(CBORError) in try reader.readText() } }

  /// The elements of an array of texts; nil for anything else, which can't be decoded as `[String]`.
  private var texts: [String]? {
    read { reader throws(CBORError) in
      let count = try reader.readArrayHead()
      var texts: [String] = []
      texts.reserveCapacity(count)
      for _ in 0..<count { texts.append(try reader.readText()) }
      return texts
    }
  }

  private var date: Date? {
    read { reader throws(CBORError) in Date(timeIntervalSinceReferenceDate: try reader.readDate()) }
  }

  private var data: Data? { read { reader throws(CBORError) in unsafe Data(try reader.readBytes()) } }

  /// Decodes a URL. A relative URL is written after its base: `<https://example.com/a/>b`.
  private func url(at place: () -> PartPlace) throws -> URL {
    guard let text else { throw mismatch(String.self, "a string", at: place()) }
    let parts = text.first == "<" ? text.dropFirst().split(separator: ">", maxSplits: 1) : []
    let base = parts.first.flatMap { URL(string: String($0)) }
    let url =
      base == nil ? URL(string: text) : URL(string: String(parts.dropFirst().first ?? ""), relativeTo: base)
    guard let url else { throw place().corrupted("\"\(text)\" is not a URL") }
    return url
  }
}

// Numbers. Each function returns nil if the part is not a number.
extension StoredPart {
  /// The number, if this part is an integer or a double; otherwise nil.
  private var number: FieldValue? {
    read { reader throws(CBORError) in
      switch try reader.kind() {
      case .unsigned, .negative, .double: try reader.readValue()
      default: nil
      }
    }
  }

  /// The number, if this part is a dictionary that represents a number; otherwise nil.
  private var exactNumber: ExactNumber? { unsafe withRest { unsafe ExactNumber(encoded: $0) } }

  private func integer<T: FixedWidthInteger>(_ type: T.Type, at place: () -> PartPlace) throws -> T? {
    let integer: T?
    // Most numbers take this way, which makes no `FieldValue`.
    if let number = read({ reader throws(CBORError) in try reader.readInteger() }) {
      integer = T(exactly: number)
    } else {
      switch number {
      case .unsigned(let number): integer = T(exactly: number)
      case .double(let number): integer = T(exactly: number)
      default:
        guard let number = exactNumber else { return nil }
        integer = number.whole()
      }
    }
    guard let integer else { throw place().corrupted("the number \(label) does not fit \(type)") }
    return integer
  }

  private func floatingPoint<T: BinaryFloatingPoint>(
    _ type: T.Type, at place: () -> PartPlace
  ) throws -> T? {
    if let number = read({ reader throws(CBORError) in try reader.readDouble() }) {
      let result = T(number)
      guard result.isFinite || !number.isFinite else {
        throw place().corrupted("the number \(number) does not fit \(type)")
      }
      return result
    }
    switch number {
    case .integer(let number): return T(number)
    case .unsigned(let number): return T(number)
    default: return nil
    }
  }

  private func decimal(at place: () -> PartPlace) throws -> Decimal? {
    let found: ExactNumber?
    if let number {
      found = ExactNumber(number)
    } else if let text {
      if text == "NaN" { return .nan }
      found = ExactNumber(text)
    } else {
      found = exactNumber
      if found == nil { return nil }
    }
    guard let decimal = found?.decimal else { throw place().corrupted("\(label) is not a decimal number") }
    return decimal
  }
}

extension StoredPart {
  func mismatch(_ type: Any.Type, _ expected: String, at place: PartPlace) -> DecodingError {
    let context = place.context("\(kindName) where \(expected) should be")
    return isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  private var label: String { number?.description ?? text.map { "\"\($0)\"" } ?? kindName }

  private var kindName: String {
    switch kind {
    case .null, nil: "null"
    case .bool: "true or false"
    case .unsigned, .negative: "an integer"
    case .double: "a floating-point number"
    case .text: "a string"
    case .bytes: "data"
    case .date: "a date"
    case .array: "an array"
    case .map: "a dictionary"
    }
  }
}
