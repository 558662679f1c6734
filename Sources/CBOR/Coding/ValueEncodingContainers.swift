struct KeyedNodeContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: NodeEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  private func set(_ value: FieldValue, _ key: Key) {
    encoder.node.set(.finished(value), forKey: key.stringValue)
  }

  func encodeNil(forKey key: Key) { set(.null, key) }
  func encode(_ value: Bool, forKey key: Key) { set(.bool(value), key) }
  func encode(_ value: String, forKey key: Key) { set(.string(value), key) }
  func encode(_ value: Double, forKey key: Key) { set(.double(value), key) }
  func encode(_ value: Float, forKey key: Key) { set(.double(Double(value)), key) }

  func encode(_ value: Int128, forKey key: Key) { set(FieldValue(number: value), key) }
  func encode(_ value: UInt128, forKey key: Key) { set(FieldValue(number: value), key) }

  func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) {
    set(FieldValue(number: value), key)
  }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    encoder.node.set(try encoder.part(for: value, key: key), forKey: key.stringValue)
  }

  private func nested(_ key: any CodingKey) -> NodeEncoder {
    encoder.nested(key, node: encoder.node.nested(forKey: key.stringValue))
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    nested(key).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { nested(PlaceKey.superclass) }

  func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
}

/// Writes the elements of an array, or a single value.
struct UnkeyedNodeContainer: UnkeyedEncodingContainer, SingleValueEncodingContainer {
  let encoder: NodeEncoder
  let isArray: Bool

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.node.count }
  private var key: PlaceKey? { isArray ? .index(count) : nil }

  private func put(_ part: EncodedPart) {
    if isArray { encoder.node.append(part) } else { encoder.node.set(part) }
  }

  private func put(_ value: FieldValue) { put(.finished(value)) }

  func encodeNil() { put(.null) }
  func encode(_ value: Bool) { put(.bool(value)) }
  func encode(_ value: String) { put(.string(value)) }
  func encode(_ value: Double) { put(.double(value)) }
  func encode(_ value: Float) { put(.double(Double(value))) }

  func encode(_ value: Int128) { put(FieldValue(number: value)) }
  func encode(_ value: UInt128) { put(FieldValue(number: value)) }
  func encode<T: FixedWidthInteger & Encodable>(_ value: T) { put(FieldValue(number: value)) }

  func encode<T: Encodable>(_ value: T) throws { put(try encoder.part(for: value, key: key)) }

  private func nested() -> NodeEncoder {
    let key = PlaceKey.index(count)
    let node = EncodedNode()
    put(.open(node))
    return encoder.nested(key, node: node)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    nested().container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }

  func superEncoder() -> any Encoder { nested() }
}

/// A key that no type declares: the index of an array's element, or the key of a superclass.
enum PlaceKey: CodingKey {
  case index(Int)
  case superclass

  init?(stringValue: String) {
    guard stringValue == Self.superclass.stringValue else { return nil }
    self = .superclass
  }

  init?(intValue: Int) { self = .index(intValue) }

  var stringValue: String {
    switch self {
    case .index(let index): "Index \(index)"
    case .superclass: "super"
    }
  }

  var intValue: Int? {
    switch self {
    case .index(let index): index
    case .superclass: nil
    }
  }
}
