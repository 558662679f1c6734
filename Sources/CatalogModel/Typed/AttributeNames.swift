import CBOR
import Locks

/// For each type, the attributes that queries and indexes named after a property, until an item has confirmed the name.
private let unconfirmed = Lock<[ObjectIdentifier: Set<AttributePath>]>([:])

extension CatalogItem {
  /// Records that a query or an index uses an attribute that was named after a property.
  static func recordUse(of path: AttributePath) {
    let model = ObjectIdentifier(Self.self)
    unconfirmed.withLock { _ = $0[model, default: []].insert(path) }
  }

  /// Ends the process if the type decodes a property of a query under another name. The query would compare an
  /// attribute that no item has, and find too few items or too many.
  ///
  /// Each name is checked until an item has confirmed it. O(1) after that.
  static func checkNames(in catalog: Catalog) {
    let model = ObjectIdentifier(Self.self)
    guard var paths = unconfirmed.withLock({ $0[model] }), !paths.isEmpty else { return }
    // Nearly always the first item tells. One that is no value of the type may not.
    for item in catalog.items(ofKind: kind).prefix(8) {
      let attributes = item.attributes
      for path in paths {
        guard let isDecoded = decodes(path, from: attributes) else { continue }
        guard isDecoded else {
          // A release build would not print the message of a precondition.
          fatalError(
            "\(Self.self) decodes no attribute \"\(path.names.joined(separator: "."))\", which a query or an "
              + "index names after a property. Return the encoded name from \(Self.self).attributeName(of:).")
        }
        paths.remove(path)
        unconfirmed.withLock { _ = $0[model]?.remove(path) }
      }
      if paths.isEmpty { return }
    }
  }

  /// Whether the type decodes the attribute at a path. Nil if these attributes can't tell.
  static func decodes(_ path: AttributePath, from attributes: [String: FieldValue]) -> Bool? {
    decodes(path.names[...], from: .dictionary(attributes))
  }
}

extension Decodable {
  /// Whether the type decodes a member of a dictionary, and the types of its properties the members inside. Nil if it
  /// can't be told, because the type can't be decoded.
  fileprivate static func decodes(_ names: ArraySlice<String>, from value: FieldValue) -> Bool? {
    guard let name = names.first else { return true }
    guard let probe = try? ValueDecoder().decode(DecodingProbe<Self>.self, from: value) else { return nil }
    if !probe.keys.include(name) { return probe.value == nil ? nil : false }
    let inner = names.dropFirst()
    if inner.isEmpty { return true }
    guard let decoded = probe.value, let part = Mirror(reflecting: decoded).descendant(name) else {
      return nil
    }
    // A property that is nil has a type, too.
    var partType: Any.Type = Swift.type(of: part)
    while let optional = partType as? any OptionalType.Type { partType = optional.wrapped }
    guard let decodable = partType as? any Decodable.Type else { return nil }
    return decodable.decodes(inner, from: value[name] ?? .dictionary([:]))
  }
}

/// A value, nil if it can't be decoded, and the keys by which it was decoded.
private struct DecodingProbe<Value: Decodable>: Decodable {
  let value: Value?
  let keys = DecodedKeys()

  init(from decoder: any Decoder) { value = try? Value(from: ProbedDecoder(decoder: decoder, keys: keys)) }
}

/// The types of the keys by which a value decodes its members.
private final class DecodedKeys {
  private var types: [any CodingKey.Type] = []
  /// Whether it was also decoded in another way, of which the names are not known.
  private var hasOthers = false

  func add(_ type: any CodingKey.Type) { types.append(type) }
  func addOthers() { hasOthers = true }

  func include(_ name: String) -> Bool {
    hasOthers || types.contains { $0.init(stringValue: name) != nil }
  }
}

/// A decoder that records the types of the keys by which it is used.
private struct ProbedDecoder: Decoder {
  let decoder: any Decoder
  let keys: DecodedKeys

  var codingPath: [any CodingKey] { decoder.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { decoder.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    keys.add(type)
    return try decoder.container(keyedBy: type)
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    keys.addOthers()
    return try decoder.unkeyedContainer()
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    keys.addOthers()
    return try decoder.singleValueContainer()
  }
}

private protocol OptionalType {
  static var wrapped: Any.Type { get }
}

extension Optional: OptionalType {
  fileprivate static var wrapped: Any.Type { Wrapped.self }
}
