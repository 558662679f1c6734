struct KeyedPartContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let members: [String: FieldValue]
  let codingPath: [any CodingKey]

  init(members: [String: FieldValue], decoder: PartDecoder) {
    self.members = members
    codingPath = decoder.codingPath
  }

  var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  private func part(_ key: Key) throws -> PartDecoder {
    part(try value(key), key)
  }

  private func part(_ value: FieldValue, _ key: any CodingKey) -> PartDecoder {
    PartDecoder(value: value, containerPath: codingPath, key: key)
  }

  private func value(_ key: Key) throws -> FieldValue {
    guard let value = members[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key,
        DecodingError.Context(
          codingPath: codingPath, debugDescription: "no value for the key \"\(key.stringValue)\""))
    }
    return value
  }

  func decodeNil(forKey key: Key) throws -> Bool { try value(key) == .null }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try part(key).decode(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try part(key).decode(type) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try part(key).decode(type) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try part(key).decode(type) }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try part(key).decode(type) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try part(key).decode(type) }

  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try part(key).decode(type)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try part(key).decode(type) }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try part(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try part(key).unkeyedContainer()
  }

  /// As with Foundation's decoders, a superclass that wrote nothing finds null.
  func superDecoder() -> any Decoder {
    let key = PlaceKey.superclass
    return part(members[key.stringValue] ?? .null, key)
  }

  func superDecoder(forKey key: Key) -> any Decoder {
    part(members[key.stringValue] ?? .null, key)
  }
}

struct UnkeyedPartContainer: UnkeyedDecodingContainer {
  private let elements: [FieldValue]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(elements: [FieldValue], decoder: PartDecoder) {
    self.elements = elements
    codingPath = decoder.codingPath
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  /// The element is consumed only if `read` succeeds.
  private mutating func next<T>(_ type: T.Type, _ read: (PartDecoder) throws -> T) throws -> T {
    guard !isAtEnd else { throw end(type) }
    let part = PartDecoder(
      value: elements[currentIndex], containerPath: codingPath, key: PlaceKey.index(currentIndex))
    let result = try read(part)
    currentIndex += 1
    return result
  }

  private func end(_ type: Any.Type) -> DecodingError {
    .valueNotFound(
      type,
      DecodingError.Context(
        codingPath: codingPath + [PlaceKey.index(currentIndex)],
        debugDescription: "the array has only \(elements.count) elements, and one more was requested"))
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd else { throw end(FieldValue?.self) }
    guard elements[currentIndex] == .null else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: String.Type) throws -> String { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: Double.Type) throws -> Double { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: Float.Type) throws -> Float { try next(type) { try $0.decode(type) } }

  mutating func decode(_ type: Int128.Type) throws -> Int128 { try next(type) { try $0.decode(type) } }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next(type) { try $0.decode(type) } }

  mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try next(type) { try $0.decode(type) }
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next(type) { try $0.decode(type) } }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next(KeyedDecodingContainer<NestedKey>.self) { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next((any Decoder).self) { $0 } }
}
