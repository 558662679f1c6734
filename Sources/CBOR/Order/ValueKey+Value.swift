import Foundation

// The value that a key was made of, for answers that are read from an index.
extension ValueKey {
  private var kind: Class? { Class(rawValue: UInt8(truncatingIfNeeded: parts.head >> 120) & 0x7F) }

  /// Of a number, the largest double that is not above it; of a date, its seconds since 2001.
  private var floor: Double {
    let ordered = UInt64(truncatingIfNeeded: parts.head >> 56)
    return Double(bitPattern: ordered >> 63 == 1 ? ordered ^ (1 << 63) : ~ordered)
  }

  /// How much a whole number of up to 64 bits is above `floor`.
  private var excess: Int { Int(parts.head >> 40 & 0xFFFF) }

  /// The number; nil for all other values, and for numbers that decimal digits do not represent.
  var exactNumber: ExactNumber? {
    guard kind == .number else { return nil }
    if let tail = parts.tail { return ExactNumber(orderedBytes: tail) }
    return excess == 0 ? ExactNumber(floor) : wholeNumber.map { ExactNumber($0) }
  }

  /// The number, if it is a double or the nearest double to an integer; otherwise nil.
  var double: Double? {
    guard kind == .number, parts.tail == nil else { return nil }
    return excess == 0 ? floor : wholeNumber.map { Double($0) }
  }

  /// The number, if it is whole and less than 2¹²⁷; otherwise nil.
  var wholeNumber: Int128? {
    guard kind == .number else { return nil }
    guard parts.tail == nil else { return exactNumber?.whole() }
    let floor = floor
    if floor.magnitude < 0x1p62 {
      let whole = Int(floor)
      return Double(whole) == floor ? Int128(whole &+ excess) : nil
    }
    return Int128(exactly: floor).map { $0 + Int128(excess) }
  }

  /// Decodes a value of a type. If equal values have several forms, such as 1 and 1.0, the type decides.
  /// - Throws: `DecodingError`, also for arrays and dictionaries, whose keys are all equal.
  package func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let decoder = ValueDecoder()
    // A large whole number may be a double, an integer or a decimal number.
    if let exact = exactNumber?.value, let value = try? decoder.decode(type, from: exact) { return value }
    return try decoder.decode(type, from: value)
  }

  private var value: FieldValue {
    switch kind {
    case .missing: .null
    case .bool: .bool(parts.head & 1 == 1)
    case .number: exactNumber.flatMap { parts.tail == nil ? nil : $0.value } ?? .double(floor)
    case .date: .date(Date(timeIntervalSinceReferenceDate: floor))
    case .text: .string(String(decoding: bytes, as: UTF8.self))
    case .data: .data(Data(bytes))
    case .composite, nil: .array([])
    }
  }

  /// The bytes of a text or of data.
  private var bytes: [UInt8] {
    let (head, tail) = parts
    let count = min(Int(head & 0xFF), 14)
    return (0..<count).map { UInt8(truncatingIfNeeded: head >> UInt128(8 * (14 - $0))) } + (tail ?? [])
  }
}

extension ExactNumber {
  /// Reads what ``orderedBytes`` has; nil for any other bytes, which a damaged file may have.
  init?(orderedBytes bytes: [UInt8]) {
    guard let sign = bytes.first, sign != 1 else {
      self.init(0)
      return
    }
    let content = sign == 0 ? bytes.dropFirst().dropLast().map(~) : Array(bytes.dropFirst())
    guard content.count > 2,
      let digits = UInt128(String(decoding: content.dropFirst(2), as: UTF8.self))
    else { return nil }
    let place = Int(content[0]) << 8 | Int(content[1])
    self.init(isNegative: sign == 0, digits: digits, exponent: place - 1024 - (content.count - 2))
  }
}
