/// Decodes any `Decodable` type from a ``FieldValue``: the reverse of ``ValueEncoder``.
///
/// A number without a fraction can be decoded as any integer type that it fits, and any number as the nearest
/// floating-point number. A number that does not fit is an error. No other kinds are converted: a boolean is not a 1,
/// and a text is not a date.
///
/// As in records, keys are compared byte by byte, and a value that is nested more than ``CBORLimits/depth`` deep is an
/// error.
public struct ValueDecoder: Sendable {
  /// A decoder.
  public init() {}

  /// Decodes a value of a type.
  ///
  /// - Throws: `DecodingError`, with the path of the part that does not fit, and any error that `T` throws.
  public func decode<T: Decodable>(_ type: T.Type, from value: FieldValue) throws -> T {
    var writer = CBORWriter()
    writer.append(value)
    guard writer.depth <= CBORLimits.depth else {
      throw PartPlace.top.corrupted("values are nested more than \(CBORLimits.depth) deep")
    }
    return try StoredPart(bytes: writer.finish(), start: 0).decode(type) { .top }
  }

  /// Decodes a value from the attributes of a record. Attributes that the type does not request are not decoded.
  ///
  /// - Throws: as ``decode(_:from:)``.
  package func decode<T: Decodable>(_ type: T.Type, fromAttributesOf record: EntityRecord) throws -> T {
    try StoredPart(bytes: record.bytes, start: 0).decode(type) { .top }
  }
}

/// Decodes values from many records, one after the other. It takes less time than ``ValueDecoder``, because it looks for
/// a key where it was in an earlier record: a type requests its keys in one order. Used by one thread.
///
/// Marked safe although it has pointers: each access is checked. Properties of a class that change would cost a check for
/// exclusive access at each request.
@safe package final class RecordDecoder {
  /// The position at which each request found its key, for each number of keys of a record.
  private let positions: UnsafeMutablePointer<UInt8>
  /// How many keys were requested of the current record.
  private let requestCount: UnsafeMutablePointer<Int>

  /// The most keys of a record, and requests, that have positions.
  private static let limit = 32

  /// A decoder.
  package init() {
    unsafe positions = .allocate(capacity: Self.limit * Self.limit)
    unsafe positions.initialize(repeating: 0, count: Self.limit * Self.limit)
    unsafe requestCount = .allocate(capacity: 1)
    unsafe requestCount.initialize(to: 0)
  }

  deinit {
    unsafe positions.deallocate()
    unsafe requestCount.deallocate()
  }

  /// Decodes a value from the attributes of a record.
  /// - Throws: as ``ValueDecoder/decode(_:fromAttributesOf:)``.
  package func decode<T: Decodable>(_ type: T.Type, fromAttributesOf record: EntityRecord) throws -> T {
    unsafe requestCount.pointee = 0
    return try StoredPart(bytes: record.bytes, start: 0).decode(type) { .record(self) }
  }

  /// The position of the next key to be requested, if the order is that of earlier records.
  /// - Parameters:
  ///   - isThere: whether the key has a position.
  ///   - search: finds its position; nil if the record lacks it.
  @inline(__always)
  func position(among keyCount: Int, isThere: (Int) -> Bool, search: () -> Int?) -> Int? {
    let request = unsafe requestCount.pointee
    unsafe requestCount.pointee = request + 1
    guard request < Self.limit, keyCount < Self.limit else { return search() }
    let place = unsafe positions + keyCount * Self.limit + request
    let known = unsafe Int(place.pointee)
    if known < keyCount, isThere(known) { return known }
    let found = search()
    if let found { unsafe place.pointee = UInt8(found) }
    return found
  }
}

/// The place of a part in the decoded value. A path is made only when it is requested, because most paths never are.
enum PartPlace {
  case top
  /// The top, in one of many records.
  case record(RecordDecoder)
  indirect case inside(PartPlace, any CodingKey)

  var path: [any CodingKey] {
    switch self {
    case .top, .record: []
    case .inside(let outer, let key): outer.path + [key]
    }
  }

  func context(_ sentence: String) -> DecodingError.Context {
    DecodingError.Context(codingPath: path, debugDescription: sentence)
  }

  func corrupted(_ sentence: String) -> DecodingError { .dataCorrupted(context(sentence)) }
}

/// The `Decoder` of one part of a value. Its three words fit into an existential without an allocation.
struct PartDecoder: Decoder, SingleValueDecodingContainer {
  let part: StoredPart
  let place: PartPlace

  var codingPath: [any CodingKey] { place.path }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let members = StoredMembers(self) else {
      throw part.mismatch([String: FieldValue].self, "a dictionary", at: place)
    }
    return KeyedDecodingContainer(KeyedPartContainer<Key>(members: members))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let container = UnkeyedPartContainer(self) else {
      throw part.mismatch([FieldValue].self, "an array", at: place)
    }
    return container
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { part.isNull }
  func decode(_ type: Int128.Type) throws -> Int128 { try part.decode(type) { place } }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try part.decode(type) { place } }
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try part.decode(type) { place }
  }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try part.decode(type) { place } }
}
