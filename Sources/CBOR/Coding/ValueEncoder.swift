package import Foundation

/// Encodes any `Encodable` value as a ``FieldValue``.
///
/// Keyed containers become dictionaries, and unkeyed containers arrays. `Date` and `Data` are kept. A `URL` or `UUID`
/// becomes a text; a relative URL is written after its base: `<https://example.com/a/>b`. `Float` is widened, without
/// loss. An integer or a `Decimal` becomes a 64-bit integer if it fits, otherwise the double with the same digits or,
/// if there is none, a dictionary with the digits: `["$decimal": "3.33333333333333333333"]`. `nil` becomes `.null`;
/// synthesized code omits it.
///
/// A value that is nested more than ``CBORLimits/depth`` deep is an error: no record can hold it, and because `Codable`
/// encodes recursively, a chain of thousands of values would overflow the stack and end the process.
public struct ValueEncoder: Sendable {
  /// An encoder.
  public init() {}

  /// Encodes a value.
  ///
  /// - Throws: `EncodingError` for a value that is nested too deeply, and any error that `value` throws.
  public func encode<T: Encodable>(_ value: T) throws -> FieldValue {
    try NodeEncoder(codingPath: []).part(for: value, key: nil).value
  }
}

/// A part of the value in progress. A container is a reference to a node, because it is filled while the parts around
/// it are written. Everything else is encoded to a value immediately.
enum EncodedPart {
  case finished(FieldValue)
  case open(EncodedNode)

  var value: FieldValue {
    switch self {
    case .finished(let value): value
    case .open(let node): node.value
    }
  }
}

final class EncodedNode {
  enum Content {
    case nothing
    case single(EncodedPart)
    case array([EncodedPart])
    case dictionary([String: EncodedPart])
  }

  private(set) var content = Content.nothing

  /// A type that encodes nothing becomes an empty dictionary, as with Foundation's encoders.
  var value: FieldValue {
    switch content {
    case .nothing: .dictionary([:])
    case .single(let part): part.value
    case .array(let parts): .array(parts.map(\.value))
    case .dictionary(let parts): .dictionary(parts.mapValues(\.value))
    }
  }

  /// Makes this node a container. If it already is one, keeps the contents: a type may request its container again.
  func become(_ empty: Content) {
    switch (content, empty) {
    case (.nothing, _): content = empty
    case (.dictionary, .dictionary), (.array, .array): break
    default: preconditionFailure("a value encodes itself into one kind of container only")
    }
  }

  func set(_ part: EncodedPart) {
    guard case .nothing = content else {
      preconditionFailure("a value encodes itself into one kind of container only, and a single one once")
    }
    content = .single(part)
  }

  func set(_ part: EncodedPart, forKey key: String) {
    guard case .dictionary(var parts) = content else { return }
    // `parts` must be uniquely referenced, or each change would copy it.
    content = .nothing
    parts[key] = part
    content = .dictionary(parts)
  }

  func append(_ part: EncodedPart) {
    guard case .array(var parts) = content else { return }
    content = .nothing
    parts.append(part)
    content = .array(parts)
  }

  var count: Int {
    guard case .array(let parts) = content else { return 0 }
    return parts.count
  }

  /// The node of the container that was requested before under the same key, or a new node.
  func nested(forKey key: String) -> EncodedNode {
    if case .dictionary(let parts) = content, case .open(let node) = parts[key] { return node }
    let node = EncodedNode()
    set(.open(node), forKey: key)
    return node
  }
}

struct NodeEncoder: Encoder {
  let codingPath: [any CodingKey]
  var node = EncodedNode()

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.become(.dictionary([:]))
    return KeyedEncodingContainer(KeyedNodeContainer<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.become(.array([]))
    return UnkeyedNodeContainer(encoder: self, isArray: true)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    UnkeyedNodeContainer(encoder: self, isArray: false)
  }

  func nested(_ key: any CodingKey, node: EncodedNode) -> NodeEncoder {
    NodeEncoder(codingPath: codingPath + [key], node: node)
  }

  /// Encodes Foundation's types as a ``FieldValue`` represents them, and all other types by their own `encode(to:)`.
  func part<T: Encodable>(for value: T, key: (any CodingKey)?) throws -> EncodedPart {
    // The types are compared before casting, because a cast takes many times longer.
    if T.self == FieldValue.self, let value = value as? FieldValue { return .finished(value) }
    if T.self == Date.self, let date = value as? Date { return .finished(.date(date)) }
    if T.self == Data.self, let data = value as? Data { return .finished(.data(data)) }
    if T.self == URL.self, let url = value as? URL { return .finished(FieldValue(url)) }
    if T.self == Decimal.self, let decimal = value as? Decimal {
      return .finished(FieldValue(number: decimal))
    }
    let path = if let key { codingPath + [key] } else { codingPath }
    guard path.count <= CBORLimits.depth else {
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: path, debugDescription: "values are nested more than \(CBORLimits.depth) deep"))
    }
    let encoder = NodeEncoder(codingPath: path)
    try value.encode(to: encoder)
    return .open(encoder.node)
  }
}

extension FieldValue {
  /// Makes a text of a URL. A relative URL is written after its base.
  package init(_ url: URL) {
    self = .string(
      url.baseURL.map { "<\($0.absoluteString)>\(url.relativeString)" } ?? url.absoluteString)
  }
}
