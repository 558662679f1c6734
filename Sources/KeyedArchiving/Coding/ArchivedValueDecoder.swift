import Foundation
import PropertyLists

/// The decoder that a `Decodable` type gets: one value and its coding path.
struct ArchivedValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: ArchivedValue
  let codingPath: [any CodingKey]
  let state: DecodingState
  /// The archive's keys for each coding key of the type that is being decoded.
  var keys: [String: [String]]?
  /// Whether the type that is being decoded is a Swift dictionary.
  var isDictionary = false
  /// The values at the top of the archive, for a type whose fields they are. Nil for other types.
  var topFields: ArchivedFields?
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(try ArchivedKeyedContainer<Key>(self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try ArchivedUnkeyedContainer(self) }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value.isNull }

  func decode(_ type: Bool.Type) throws -> Bool { try require(type, value.bool) }

  func decode(_ type: String.Type) throws -> String {
    try chargeSearch()
    let text = try require(type, reading(codingPath) { () throws(ArchiveError) in try value.string })
    try state.charge(bytes: text.utf8.count, of: value, codingPath)
    return text
  }

  func decode(_ type: Double.Type) throws -> Double {
    try chargeSearch()
    try state.charge(contentsOf: value, codingPath)
    return try require(type, reading(codingPath) { () throws(ArchiveError) in try value.double })
  }

  func decode(_ type: Float.Type) throws -> Float {
    let number = try decode(Double.self)
    let result = Float(number)
    guard result.isFinite || !number.isFinite else { throw tooLarge(type) }
    return result
  }

  func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try state.charge(codingPath)
    guard let known = try foundationValue(type) else {
      var decoder = self
      decoder.keys = state.namings[ObjectIdentifier(type)]
      decoder.isDictionary = type is any DecodableDictionary.Type
      return try T(from: decoder)
    }
    guard let result = known as? T else { throw mismatch(type) }
    return result
  }

  /// The value, for types that archives store as objects of a class of their own. Nil for other types.
  ///
  /// These types are `Decodable` too, but in forms that no archiver writes.
  private func foundationValue(_ type: any Decodable.Type) throws -> (any Decodable)? {
    func view<V: Decodable>(_ body: () throws(ArchiveError) -> V?) throws -> V {
      try chargeSearch()
      // Data is charged by its result, as a string is.
      if type != Data.self { try state.charge(contentsOf: value, codingPath) }
      return try require(type, reading(codingPath, body))
    }
    switch type {
    case _ where type == ArchivedValue.self: return value
    case _ where type == Date.self: return try view { () throws(ArchiveError) in try value.date }
    case _ where type == Data.self:
      let data = try view { () throws(ArchiveError) in try value.data }
      try state.charge(bytes: data.count, of: value, codingPath)
      return data
    case _ where type == URL.self:
      let texts = try view { () throws(ArchiveError) in try value.urlTexts }
      try state.charge(bytes: texts.reduce(0) { $0 + $1.utf8.count }, of: value, codingPath)
      return try require(type, reading(codingPath) { () throws(ArchiveError) in try value.url })
    case _ where type == UUID.self: return try view { () throws(ArchiveError) in try value.uuid }
    case _ where type == Decimal.self: return try view { () throws(ArchiveError) in try value.exactDecimal }
    case _ where type == CGPoint.self: return try view { () throws(ArchiveError) in try value.point }
    case _ where type == CGSize.self: return try view { () throws(ArchiveError) in try value.size }
    case _ where type == CGRect.self: return try view { () throws(ArchiveError) in try value.rect }
    case _ where type == IndexPath.self:
      let indexes = try view { () throws(ArchiveError) in try value.indexPath }
      try state.charge(bytes: 8 * indexes.count, of: value, codingPath)
      return IndexPath(indexes: indexes)
    case _ where type == IndexSet.self:
      let ranges = try view { () throws(ArchiveError) in try value.indexSet }
      try state.charge(bytes: 16 * ranges.count, of: value, codingPath)
      return ranges.reduce(into: IndexSet()) { if !$1.isEmpty { $0.insert(integersIn: $1) } }
    default: return nil
    }
  }

  /// Checks that the fields of the value may be searched, if it is an object.
  func chargeSearch() throws {
    if case .object(let object) = value { try state.charge(searching: object.fields, codingPath) }
  }

  private func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    let number = try require(
      type, value.integer.map { T(exactly: $0) } ?? value.unsignedInteger.map { T(exactly: $0) })
    guard let number else { throw tooLarge(type) }
    return number
  }

  private func tooLarge(_ type: Any.Type) -> DecodingError {
    DecodingError.dataCorrupted(
      DecodingError.Context(
        codingPath: codingPath, debugDescription: "The number in the archive doesn't fit into \(type)"))
  }

  private func require<T>(_ type: Any.Type, _ result: T?) throws -> T {
    guard let result else { throw mismatch(type) }
    return result
  }

  func mismatch(_ type: Any.Type) -> DecodingError {
    if value.isNull {
      return .valueNotFound(
        type, DecodingError.Context(codingPath: codingPath, debugDescription: "The archive has nil here"))
    }
    let kind = value.kind
    return .typeMismatch(
      type,
      DecodingError.Context(
        codingPath: codingPath,
        debugDescription: "The archive has \(kind) here, which can't be decoded as \(type)"))
  }

  /// A decoder for a part of this value.
  func part(_ value: ArchivedValue, _ key: any CodingKey) -> ArchivedValueDecoder {
    ArchivedValueDecoder(value: value, codingPath: codingPath + [key], state: state)
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

  /// The exact value of any number, and of a real the shortest digits that stand for it.
  fileprivate var exactDecimal: Decimal? {
    get throws(ArchiveError) {
      switch self {
      case .integer(let value): return Decimal(value)
      case .unsigned(let value): return Decimal(value)
      case .real(let value) where value.isNaN: return .nan
      case .real(let value):
        guard value.isFinite, let decimal = Decimal(string: value.description, locale: nil) else {
          throw ArchiveError(.wrongType, "the number \(value) doesn't fit into Decimal")
        }
        return decimal
      default: return try decimal
      }
    }
  }
}
