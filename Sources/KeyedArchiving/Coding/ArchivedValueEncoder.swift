/// The encoder that a value gets to encode itself.
final class ArchivedValueEncoder: Encoder {
  let session: EncodingSession
  let codingPath: [any CodingKey]
  /// The node of the value. It represents nil until the value has encoded itself.
  let node = ArchiveNode()
  private let type: (any Any.Type)?
  /// If this encoder is for a superclass, the object of the subclass: NSCoding stores the fields of both in one object.
  private let inherited: ObjectUnderConstruction?
  private var object: ObjectUnderConstruction?
  private var single: ArchiveNode.Value?

  init(
    session: EncodingSession, codingPath: [any CodingKey], type: (any Any.Type)? = nil,
    inherited: ObjectUnderConstruction? = nil
  ) {
    self.inherited = inherited
    self.session = session
    self.codingPath = codingPath
    self.type = type
  }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// The encoded value; nil if the value encoded nothing.
  var encoded: ArchiveNode.Value? { single ?? object.map { .node($0.node) } }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(
      FieldContainer(object: construction(isKeyed: true), session: session, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    ElementContainer(object: construction(isKeyed: false), session: session, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleContainer(encoder: self) }

  /// The object that a container adds to. All containers of a value add to the same object.
  private func construction(isKeyed: Bool) -> ObjectUnderConstruction {
    if isKeyed, let inherited { return inherited }
    if let object {
      precondition(object.isKeyed == isKeyed, "A value encodes itself with keys or without, and not both.")
      return object
    }
    precondition(single == nil, "A value that has encoded itself as one value can't add others.")
    inherited?.set(SuperKey(), .node(node))
    let begun = session.begin(node, isKeyed: isKeyed, type: type)
    object = begun
    return begun
  }

  func setSingle(_ value: ArchiveNode.Value) {
    precondition(object == nil && single == nil, "A value encodes itself once.")
    single = value
    inherited?.set(SuperKey(), .node(node))
    node.content = .bare(value)
  }
}

struct FieldContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let object: ObjectUnderConstruction
  let session: EncodingSession
  let codingPath: [any CodingKey]

  func encodeNil(forKey key: Key) { object.set(key, .null) }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    object.set(key, try session.encode(value, at: codingPath + [key]))
  }

  func encodeIfPresent(_ value: String?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { object.setAbsent(key, String.self) }
  }

  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { object.setAbsent(key, T.self) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    let nested = begin(isKeyed: true, forKey: key)
    return KeyedEncodingContainer(
      FieldContainer<NestedKey>(object: nested, session: session, codingPath: codingPath + [key]))
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    ElementContainer(
      object: begin(isKeyed: false, forKey: key), session: session, codingPath: codingPath + [key])
  }

  func superEncoder() -> any Encoder {
    ArchivedValueEncoder(session: session, codingPath: codingPath + [SuperKey()], inherited: object)
  }

  func superEncoder(forKey key: Key) -> any Encoder {
    let encoder = ArchivedValueEncoder(session: session, codingPath: codingPath + [key])
    object.set(key, .node(encoder.node))
    return encoder
  }

  private func begin(isKeyed: Bool, forKey key: Key) -> ObjectUnderConstruction {
    let node = ArchiveNode()
    object.set(key, .node(node))
    return session.begin(node, isKeyed: isKeyed, type: nil)
  }
}

struct ElementContainer: UnkeyedEncodingContainer {
  let object: ObjectUnderConstruction
  let session: EncodingSession
  let codingPath: [any CodingKey]

  var count: Int { object.elements.count }

  private var elementPath: [any CodingKey] { codingPath + [ElementKey(count)] }

  func encodeNil() { object.append(.null) }

  func encode<T: Encodable>(_ value: T) throws {
    object.append(try session.encode(value, at: elementPath))
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    let path = elementPath
    return KeyedEncodingContainer(
      FieldContainer<NestedKey>(object: begin(isKeyed: true), session: session, codingPath: path))
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    let path = elementPath
    return ElementContainer(object: begin(isKeyed: false), session: session, codingPath: path)
  }

  func superEncoder() -> any Encoder {
    let encoder = ArchivedValueEncoder(session: session, codingPath: elementPath)
    object.append(.node(encoder.node))
    return encoder
  }

  private func begin(isKeyed: Bool) -> ObjectUnderConstruction {
    let node = ArchiveNode()
    object.append(.node(node))
    return session.begin(node, isKeyed: isKeyed, type: nil)
  }
}

struct SingleContainer: SingleValueEncodingContainer {
  let encoder: ArchivedValueEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() { encoder.setSingle(.null) }

  func encode<T: Encodable>(_ value: T) throws {
    encoder.setSingle(try encoder.session.encode(value, at: encoder.codingPath))
  }
}

/// The key of a superclass that encodes itself without keys, so that it can't be part of the subclass's object.
private struct SuperKey: CodingKey {
  var stringValue: String { "super" }
  var intValue: Int? { nil }

  init() {}

  init?(stringValue: String) { nil }

  init?(intValue: Int) { nil }
}
