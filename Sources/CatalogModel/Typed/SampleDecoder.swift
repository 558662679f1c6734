import CBOR
import Foundation

/// Makes a value of a type, by decoding it from content that is made up on demand.
///
/// Each number, text and date gets content of its own, by which its key in the encoded value is found. Except in deep
/// places and in the sample `empty`, optionals exist and arrays have elements, because a key path through a nil or an
/// empty array can end the process. For the same reason the content is harmless: short texts and small numbers.
struct SampleDecoder: Decoder {
  fileprivate let source: SampleSource
  let codingPath: [any CodingKey]

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// Makes the value of a type for a sample.
  /// - Throws: the error of the type if it refuses all content that is tried.
  static func value<T: Decodable>(_ type: T.Type, _ sample: Sample) throws -> T {
    try SampleDecoder(source: SampleSource(sample), codingPath: []).decode(type)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(KeyedSampleContainer<Key>(decoder: self))
  }

  func unkeyedContainer() -> any UnkeyedDecodingContainer { UnkeyedSampleContainer(decoder: self) }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  fileprivate func nested(_ key: any CodingKey) -> SampleDecoder {
    SampleDecoder(source: source, codingPath: codingPath + [key])
  }

  /// Whether optionals are nil at this depth, so that a type that contains itself ends.
  fileprivate var isDeep: Bool { codingPath.count > 6 }
}

extension SampleDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { false }
  func decode(_ type: Bool.Type) throws -> Bool { try source.next().bool }
  func decode(_ type: String.Type) throws -> String { try source.next().text }
  func decode(_ type: Double.Type) throws -> Double { try source.next().double(after: codingPath.last) }
  func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }

  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    T(clamping: try source.next().integer(after: codingPath.last))
  }

  func decode(_ type: Int128.Type) throws -> Int128 { Int128(try decode(Int.self)) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { UInt128(try decode(UInt.self)) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let native: Any
    if type == FieldValue.self {
      native = FieldValue.string(try source.next().text)
    } else if type == Date.self {
      native = Date(timeIntervalSinceReferenceDate: 1e8 + 1e5 * (try decode(Double.self)))
    } else if type == Data.self {
      native = Data(try source.next().text.utf8)
    } else if type == URL.self {
      native = URL(string: "https://example.com/\(try source.next().text)") as Any
    } else if type == Decimal.self {
      native = Decimal(try decode(Double.self))
    } else if type == UUID.self {
      native = try source.next().uuid
    } else {
      return try composed(type)
    }
    guard let result = native as? T else {
      throw DecodingError.typeMismatch(type, .init(codingPath: codingPath, debugDescription: "a \(type)"))
    }
    return result
  }

  /// A value of a type that decodes itself. If the type refuses the usual content, such as a text that is no address,
  /// the type is decoded again from content of other forms.
  private func composed<T: Decodable>(_ type: T.Type) throws -> T {
    let cases = cases(of: type)
    if !cases.isEmpty { return cases[try source.next().bool && cases.count > 1 ? 1 : 0] }
    guard codingPath.count < 64 else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: codingPath, debugDescription: "the type has no end"))
    }
    let start = source.count
    do {
      return try T(from: self)
    } catch {
      guard let value = source.trying(SampleForm.allCases, from: start, { try? T(from: self) }) else {
        throw error
      }
      return value
    }
  }
}

/// Selects one of the made-up values of a type, which differ from each other.
enum Sample {
  /// One of several values that a type should accept.
  case usual(Int)
  /// Empty texts and arrays, and zeros.
  case empty
  /// Negative numbers, and texts with white space and accents.
  case unusual

  static let usualCount = 14
}

/// The form of the content. The usual form depends on the sample; the others are for types that refuse it.
enum SampleForm: CaseIterable {
  case usual, plain, small, link, identifier, time, day, digits, color, currency, zone

  func text(_ name: String, _ bits: UInt64) -> String {
    switch self {
    case .usual, .plain: name
    case .small: "\(name)@example.com"
    case .link: "https://example.com/\(name)"
    case .identifier: SampleContent.uuid(bits).uuidString
    case .time: "2001-02-03T04:05:\(10 + bits % 50)Z"
    case .day: "2001-02-\(10 + bits % 18)"
    case .digits: "\(1000 + bits % 9000)"
    case .color: "#\(100_000 + bits % 900_000)"
    case .currency: ["EUR", "USD"][Int(bits % 2)]
    case .zone: ["Europe/Berlin", "Europe/Paris"][Int(bits % 2)]
    }
  }
}

/// Numbers the content of a sample in the order in which a type asks for it.
private final class SampleSource {
  let sample: Sample
  private(set) var count = 0
  private(set) var form = SampleForm.usual
  /// How many enclosing types are being decoded again.
  private var retries = 0
  private var total = 0
  /// Only a type that would never end asks for more content than this.
  private static let limit = 20_000

  init(_ sample: Sample) { self.sample = sample }

  func next() throws -> SampleContent {
    count += 1
    total += 1
    guard total < Self.limit else {
      throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "the type has no end"))
    }
    return SampleContent(number: count, sample: sample, form: form)
  }

  /// The first result of decoding a type with content of these forms. The content keeps its numbers, so that later
  /// content has equal numbers in each sample. Nil if the type refuses all.
  func trying<T>(_ forms: [SampleForm], from start: Int, _ body: () -> T?) -> T? {
    guard retries < 2, total < Self.limit else { return nil }
    let outer = form
    retries += 1
    defer { (form, retries) = (outer, retries - 1) }
    for form in forms {
      (self.form, count) = (form, start)
      if let value = body() { return value }
    }
    return nil
  }
}

/// The content of one number, text or truth value.
private struct SampleContent {
  let number: Int
  let sample: Sample
  let form: SampleForm

  /// Mixes the numbers of the content and the sample (SplitMix64).
  private var bits: UInt64 {
    let index = if case .usual(let index) = sample { index } else { Sample.usualCount }
    var mixed = (UInt64(number) << 8 | UInt64(index)) &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// Over the usual samples, no two truth values of a type are always equal or always opposite.
  var bool: Bool {
    switch sample {
    case .usual(Sample.usualCount - 2): true
    case .usual(Sample.usualCount - 1): false
    case .usual(let index): (number &* 1103 &+ 617) >> index & 1 == 1
    case .empty: false
    case .unusual: number % 2 == 0
    }
  }

  var text: String {
    // This text is also a valid position of a `ListOrder`.
    let name = "a\(bits % 10)" + String(bits >> 8 % 1_000_000, radix: 36) + "Qx"
    return switch sample {
    case .empty where form == .usual: ""
    case .unusual where form == .usual: " \u{C9}e\u{301} \(name) "
    default: form.text(name, bits)
    }
  }

  /// The second of two numbers in an array is greater, because they may be a range.
  func integer(after key: (any CodingKey)?) -> Int {
    let rise = key?.intValue == 1 ? 50 : 0
    return switch sample {
    case .empty where form == .usual: 0
    case .unusual where form == .usual: -60 + Int(bits % 50) + rise
    default: form == .small ? 1 + Int(bits % 5) : 1 + Int(bits % 50) + rise
    }
  }

  func double(after key: (any CodingKey)?) -> Double {
    if form == .small { return Double(1 + bits % 1023) / 1024 }
    if case .empty = sample, form == .usual { return 0 }
    return Double(integer(after: key)) + 0.25
  }

  var uuid: UUID { Self.uuid(bits) }

  static func uuid(_ bits: UInt64) -> UUID {
    let byte = { (shift: Int) in UInt8(truncatingIfNeeded: bits >> shift) }
    return UUID(
      uuid: (
        byte(0), byte(8), byte(16), byte(24), byte(32), byte(40), 0x40, byte(48), 0x80, byte(56), 1, 2, 3, 4,
        5, 6
      ))
  }
}

private struct KeyedSampleContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: SampleDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  /// A dictionary has one member of any name. An enumeration has one of its cases.
  var allKeys: [Key] {
    guard let content = try? decoder.source.next() else { return [] }
    if let key = Key(stringValue: content.text) { return [key] }
    let cases = cases(of: Key.self)
    if cases.isEmpty { return [] }
    // An enumeration that contains itself must end, so its cases take turns until one does not contain it.
    if decoder.isDeep { return [cases[codingPath.count / 2 % cases.count]] }
    return [cases[content.bool && cases.count > 1 ? 1 : 0]]
  }

  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) -> Bool { decoder.isDeep }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder.nested(key).decode(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder.nested(key).decode(type) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder.nested(key).decode(type) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder.nested(key).decode(type) }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try decoder.nested(key).decode(type) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try decoder.nested(key).decode(type)
  }

  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try decoder.nested(key).decode(type)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try decoder.nested(key).decode(type)
  }

  /// Returns nil if no value can be made, so that the other properties of the type still get names.
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    decoder.isDeep ? nil : try? decode(type, forKey: key)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedDecodingContainer<NestedKey> { decoder.nested(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    decoder.nested(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { decoder.nested(SampleIndex(intValue: 0)) }
  func superDecoder(forKey key: Key) -> any Decoder { decoder.nested(key) }
}

private struct UnkeyedSampleContainer: UnkeyedDecodingContainer {
  let decoder: SampleDecoder
  private(set) var currentIndex = 0

  init(decoder: SampleDecoder) { self.decoder = decoder }

  var codingPath: [any CodingKey] { decoder.codingPath }
  /// An outer array has enough elements for a key path to one of them. A dictionary needs an even number.
  var count: Int? {
    if case .empty = decoder.source.sample, decoder.source.form == .usual { return 0 }
    return codingPath.count < 2 ? 32 : codingPath.count < 5 ? 2 : 0
  }
  var isAtEnd: Bool { currentIndex >= count ?? 0 }

  private mutating func next() -> SampleDecoder {
    defer { currentIndex += 1 }
    return decoder.nested(SampleIndex(intValue: currentIndex))
  }

  mutating func decodeNil() -> Bool { false }
  mutating func decode(_ type: Bool.Type) throws -> Bool { try next().decode(type) }
  mutating func decode(_ type: String.Type) throws -> String { try next().decode(type) }
  mutating func decode(_ type: Double.Type) throws -> Double { try next().decode(type) }
  mutating func decode(_ type: Float.Type) throws -> Float { try next().decode(type) }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try next().decode(type) }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next().decode(type) }

  mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try next().decode(type)
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next().decode(type) }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedDecodingContainer<NestedKey> { next().container(keyedBy: type) }

  mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { next().unkeyedContainer() }
  mutating func superDecoder() -> any Decoder { next() }
}

private struct SampleIndex: CodingKey {
  let index: Int

  init(intValue: Int) { index = intValue }
  init?(stringValue: String) { nil }

  var stringValue: String { "\(index)" }
  var intValue: Int? { index }
}

/// The cases of an enumeration without associated values, or no values for any other type.
private func cases<T>(of type: T.Type) -> [T] {
  func all<Cases: CaseIterable>(_ type: Cases.Type) -> [T] { type.allCases.compactMap { $0 as? T } }
  if let type = type as? any CaseIterable.Type { return all(type) }
  // How many cases there are is only known from the metadata that Swift's stable ABI has for each type: "Type Metadata"
  // and "Nominal Type Descriptor" in docs/ABI/TypeMetadata.rst. Such an enumeration has at most one byte, the number
  // of the case.
  guard MemoryLayout<T>.size <= 1, MemoryLayout<UInt>.size == 8 else { return [] }
  let metadata = unsafe unsafeBitCast(type as Any.Type, to: UnsafeRawPointer.self)
  guard unsafe metadata.load(as: UInt.self) == 0x201 else { return [] }
  let descriptor = unsafe metadata.load(fromByteOffset: 8, as: UnsafeRawPointer.self)
  let payloadCount = unsafe descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xFF_FFFF
  let count = unsafe descriptor.load(fromByteOffset: 24, as: UInt32.self)
  guard payloadCount == 0, count <= 256 else { return [] }
  return (0..<count).map { number in
    unsafe withUnsafeBytes(of: UInt8(number)) { unsafe $0.load(as: T.self) }
  }
}
