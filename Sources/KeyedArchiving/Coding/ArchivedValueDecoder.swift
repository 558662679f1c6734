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
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(try ArchivedKeyedContainer<Key>(self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try ArchivedUnkeyedContainer(self) }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value.isNull }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try state.charge(count: 1, codingPath)
    guard let known = try knownValue(type) else {
      try state.check(depth: codingPath)
      var decoder = self
      decoder.keys = state.namings[ObjectIdentifier(type)]
      decoder.isDictionary = type is any DecodableDictionary.Type
      return try T(from: decoder)
    }
    guard let result = known as? T else { throw mismatch(type) }
    return result
  }

  /// The value, for numbers and for types that archives store as texts, data or objects of a class of their own. Nil for
  /// other types.
  ///
  /// Many of these types are `Decodable` too, but in forms that no archiver writes.
  private func knownValue(_ type: any Decodable.Type) throws -> Any? {
    /// - Parameter size: The bytes of a result that does not share its memory. Without it, those of the value's strings
    ///   and data are counted before they are read.
    func view<V>(
      _ body: () throws(ArchiveError) -> V?, size: ((V) -> Int)? = nil
    ) throws -> V {
      try chargeSearch()
      if size == nil { try state.charge(contentsOf: value, codingPath) }
      guard let result = try reading(codingPath, body) else { throw mismatch(type) }
      if let size { try state.charge(bytes: size(result), of: value, codingPath) }
      return result
    }
    switch type {
    case is Bool.Type: return try view { value.bool }
    case let type as any FixedWidthInteger.Type: return try integer(type)
    case is Double.Type: return try view { () throws(ArchiveError) in try value.double }
    case is Float.Type:
      let number = try view { () throws(ArchiveError) in try value.double }
      guard Float(number).isFinite || !number.isFinite else { throw tooLarge(type) }
      return Float(number)
    case is String.Type:
      return try view { () throws(ArchiveError) in
        try value.string
      } size: {
        $0.utf8.count
      }
    case is Data.Type:
      return try view { () throws(ArchiveError) in
        try value.data
      } size: {
        $0.count
      }
    case is ArchivedValue.Type: return value
    case is Date.Type: return try view { () throws(ArchiveError) in try value.date }
    case is URL.Type:
      _ = try view { () throws(ArchiveError) in
        try value.urlTexts
      } size: {
        $0.reduce(0) { $0 + $1.utf8.count }
      }
      return try view { () throws(ArchiveError) in try value.url }
    case is UUID.Type: return try view { () throws(ArchiveError) in try value.uuid }
    case is Decimal.Type: return try view { () throws(ArchiveError) in try value.exactDecimal }
    case is CGPoint.Type: return try view { () throws(ArchiveError) in try value.point }
    case is CGSize.Type: return try view { () throws(ArchiveError) in try value.size }
    case is CGRect.Type: return try view { () throws(ArchiveError) in try value.rect }
    case is IndexPath.Type:
      return IndexPath(
        indexes: try view { () throws(ArchiveError) in
          try value.indexPath
        } size: {
          8 * $0.count
        })
    case is IndexSet.Type:
      let ranges = try view { () throws(ArchiveError) in
        try value.indexSet
      } size: {
        16 * $0.count
      }
      return ranges.reduce(into: IndexSet()) { if !$1.isEmpty { $0.insert(integersIn: $1) } }
    default: return nil
    }
  }

  /// Checks that the fields of the value may be searched, if it is an object.
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
