import Foundation
import PropertyLists

/// The decoder that a `Decodable` type gets: one value and its coding path.
struct ArchivedValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: ArchivedValue
  let codingPath: [any CodingKey]
  let state: DecodingState
  /// The archive's keys for each coding key of the type that is being decoded; nil if no keys were set for the type.
  var keys: [String: [String]]?
  /// Whether the type that is being decoded is a Swift dictionary.
  var isDictionary = false
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(try ArchivedKeyedContainer<Key>(self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try ArchivedUnkeyedContainer(self) }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value.isNull }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try state.charge(count: 1, codingPath)
    let known: Any?
    if let type = type as? any FixedWidthInteger.Type {
      known = try integer(type)
    } else if let native = try native(type) {
      known = native
    } else {
      try state.check(depth: codingPath)
      var decoder = self
      decoder.keys = state.namings[ObjectIdentifier(type)]
      decoder.isDictionary = type is any DecodableDictionary.Type
      return try T(from: decoder)
    }
    guard let result = known as? T else { throw mismatch(type) }
    return result
  }

  /// Decodes a type that archives store in a form of its own, such as `Date`: no archiver writes its `Decodable` form.
  /// Nil for other types. The inner optional is nil if the value can't be read as the type.
  private func native<T: Decodable>(_ type: T.Type) throws -> Any?? {
    guard ArchivedValue.isNative(type) else { return nil }
    if type == ArchivedValue.self { return value }
    try chargeSearch()
    let content = try reading(codingPath) { () throws(ArchiveError) in try value.contentByteCount(for: type) }
    try state.charge(bytes: content, codingPath)
    let found = try reading(codingPath) { () throws(ArchiveError) in try value.native(type) }
    guard type == Float.self, let number = found as? Double else { return found }
    guard Float(number).isFinite || !number.isFinite else { throw tooLarge(type) }
    return Float(number)
  }

  /// Counts the fields of an object with many fields toward the limit of values, because they will be searched.
  func chargeSearch() throws {
    if case .object(let object) = value, object.fields.areMany {
      try state.charge(count: object.fields.count, codingPath)
    }
  }

  private func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    if let number = value.exactly(type) { return number }
    throw value.integer == nil && value.unsignedInteger == nil ? mismatch(type) : tooLarge(type)
  }

  private func tooLarge(_ type: Any.Type) -> DecodingError {
    DecodingError.dataCorrupted(
      DecodingError.Context(
        codingPath: codingPath, debugDescription: "The number in the archive doesn't fit into \(type)"))
  }

  func mismatch(_ type: Any.Type) -> DecodingError {
    if value.isNull {
      return .valueNotFound(
        type, DecodingError.Context(codingPath: codingPath, debugDescription: "The archive has nil here"))
    }
    return .typeMismatch(
      type,
      DecodingError.Context(
        codingPath: codingPath,
        debugDescription: "The archive has \(value.kind) here, which can't be decoded as \(type)"))
  }

  /// A decoder for a part of this value.
  func part(_ value: ArchivedValue, _ key: any CodingKey) -> ArchivedValueDecoder {
    ArchivedValueDecoder(value: value, codingPath: codingPath + [key], state: state)
  }
}

extension ArchivedValue {
  private static let natives: [any Any.Type] = [
    Bool.self, Double.self, Float.self, String.self, Data.self, ArchivedValue.self, Date.self, URL.self,
    UUID.self, Decimal.self, IndexPath.self, IndexSet.self,
  ]
  private static let nativeTypes = Set(natives.map { ObjectIdentifier($0) })

  fileprivate static func isNative(_ type: any Any.Type) -> Bool {
    nativeTypes.contains(ObjectIdentifier(type))
  }

  /// The value as a type of `natives`, but as a `Double` for `Float`. Nil if the value is of another kind.
  fileprivate func native(_ type: any Any.Type) throws(ArchiveError) -> Any? {
    switch type {
    case is Bool.Type: return bool
    case is Double.Type, is Float.Type: return try double
    case is String.Type: return try string
    case is Data.Type: return try data
    case is Date.Type: return try date
    case is URL.Type: return try url
    case is UUID.Type: return try uuid
    case is Decimal.Type: return try exactDecimal
    case is IndexPath.Type: return try indexPath.map { IndexPath(indexes: $0) }
    case is IndexSet.Type:
      return try indexSet?.reduce(into: IndexSet()) { if !$1.isEmpty { $0.insert(integersIn: $1) } }
    default: return nil
    }
  }

  /// The bytes to be charged for reading the value as a type. This is 0 for plain strings and data, whose references
  /// share memory. Strings and data of an object are read each time that the object is decoded.
  fileprivate func contentByteCount(for type: any Any.Type) throws(ArchiveError) -> Int {
    guard case .object(let object) = self else { return 0 }
    if type == URL.self { return (try urlTexts ?? []).reduce(0) { $0 + $1.utf8.count } }
    // One packed byte can become an index of 8 bytes, and two packed bytes a range of 16.
    return object.fields.contentByteCount * (type == IndexPath.self || type == IndexSet.self ? 8 : 1)
  }
}

/// Marks Swift's dictionaries, so that the decoder can recognize them.
private protocol DecodableDictionary {}

extension Dictionary: DecodableDictionary where Key: Decodable, Value: Decodable {}

extension ArchivedValue: Decodable {
  /// The archived value, unchanged.
  ///
  /// - Throws: `DecodingError` if the decoder is not a ``KeyedArchiveDecoder``.
  public init(from decoder: any Decoder) throws {
    guard let decoder = decoder as? ArchivedValueDecoder else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath,
          debugDescription: "An archived value can be decoded only from a keyed archive"))
    }
    self = decoder.value
  }
}
