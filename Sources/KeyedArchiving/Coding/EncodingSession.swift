import Foundation
import PropertyLists

/// The state that all encoders share during one call of ``KeyedArchiveEncoder/encode(_:forKey:)``.
final class EncodingSession {
  let configuration: KeyedArchiveEncoder
  /// The class instances that are being encoded.
  private var openInstances: Set<ObjectIdentifier> = []
  /// The nodes of dictionary keys. Keys have no identity, so each is written once.
  private var keyNodes: [ExactString: ArchiveNode] = [:]
  private var objects: [ObjectUnderConstruction] = []
  private var unordered: [UnorderedMembers] = []

  init(configuration: KeyedArchiveEncoder) { self.configuration = configuration }

  func encode<T: Encodable>(
    _ value: T, at path: @autoclosure () -> [any CodingKey]
  ) throws -> ArchiveNode.Value {
    switch value {
    case let text as String: return .string(text)
    case let flag as Bool: return .bool(flag)
    case let real as Double: return .real(real)
    case let float as Float: return .float(float)
    case let integer as any FixedWidthInteger:
      if let signed = Int64(exactly: integer) { return .integer(signed) }
      if let unsigned = UInt64(exactly: integer) { return .unsigned(unsigned) }
    case let date as Date: return .date(date)
    case let data as Data: return .data(data)
    case let url as URL: return .url(url)
    case let uuid as UUID: return .uuid(uuid)
    case let decimal as Decimal: return .node(.decimal(decimal))
    case let indexPath as IndexPath: return .node(.indexPath(indexPath))
    case let indexes as IndexSet: return .node(.indexSet(indexes))
    case let unordered as any UnorderedEncodable:
      if let node = try unordered.node(in: self, at: path()) { return .node(node) }
    default: break
    }
    return try encodeItself(value, at: path())
  }

  private func encodeItself<T: Encodable>(_ value: T, at path: [any CodingKey]) throws -> ArchiveNode.Value {
    func refusal(_ reason: String) -> EncodingError {
      .invalidValue(value, EncodingError.Context(codingPath: path, debugDescription: reason))
    }
    let limit = KeyedArchiveEncoder.depth
    guard path.count <= limit else { throw refusal("Values are nested more than \(limit) deep.") }
    // Without this check, instances that refer to each other would be encoded to the depth limit, in exponential time.
    let instance = type(of: value) is AnyClass ? ObjectIdentifier(value as AnyObject) : nil
    if let instance, !openInstances.insert(instance).inserted {
      throw refusal("The instance contains itself.")
    }
    defer { if let instance { openInstances.remove(instance) } }
    let encoder = ArchivedValueEncoder(session: self, codingPath: path, type: type(of: value))
    try value.encode(to: encoder)
    guard let encoded = encoder.encoded else { throw refusal("The value of type \(T.self) encoded nothing.") }
    return encoded
  }

  func begin(
    _ node: ArchiveNode, isKeyed: Bool, type: (any Any.Type)?
  ) -> ObjectUnderConstruction {
    let object = ObjectUnderConstruction(
      node: node, isKeyed: isKeyed, isDictionary: type is any UnorderedEncodable.Type,
      naming: configuration.naming(of: type))
    objects.append(object)
    return object
  }

  /// Registers a collection to be sorted when everything is encoded. Collections inside it were registered before it.
  func sortLater(_ members: UnorderedMembers) -> ArchiveNode {
    unordered.append(members)
    return members.node
  }

  /// Turns the collected values of the containers into nodes. No values can be added after this.
  func close() throws(ArchiveError) {
    for object in objects { object.close(self) }
    for members in unordered { try members.sort() }
  }

  func keyNode(_ key: String) -> ArchiveNode {
    if let node = keyNodes[ExactString(key)] { return node }
    let node = ArchiveNode.string(key)
    keyNodes[ExactString(key)] = node
    return node
  }
}

/// An object or collection to which containers still add values.
final class ObjectUnderConstruction {
  let node: ArchiveNode
  let isKeyed: Bool
  /// Whether the value is a dictionary or a set. A class that was named for it is then a class of collections, without
  /// fields.
  private let isDictionary: Bool
  private let naming: KeyedArchiveEncoder.Naming?
  private(set) var fields: [(key: String, value: ArchiveNode.Value)] = []
  private var places: [ExactString: Int] = [:]
  private(set) var elements: [ArchiveNode.Value] = []

  init(node: ArchiveNode, isKeyed: Bool, isDictionary: Bool, naming: KeyedArchiveEncoder.Naming?) {
    self.node = node
    self.isKeyed = isKeyed
    self.isDictionary = isDictionary
    self.naming = naming
  }

  /// Sets the value of a key. If a key is set again, the last value counts.
  func set(_ key: any CodingKey, _ value: ArchiveNode.Value) {
    let key = naming?.key(for: key) ?? key.stringValue
    if let place = places[ExactString(key)] {
      fields[place].value = value
    } else {
      places[ExactString(key)] = fields.count
      fields.append((key, value))
    }
  }

  /// Whether the values are fields, and not members of a dictionary or an array.
  var hasFields: Bool { isKeyed && naming != nil && !isDictionary }

  /// Records that a field for an object is nil. Archivers write such fields, and some readers require them.
  func setAbsent<T>(_ key: any CodingKey, _ type: T.Type) {
    guard hasFields, !(type is any Numeric.Type), type != Bool.self else { return }
    if let raw = type as? any RawRepresentable.Type, hasNumber(raw) { return }
    set(key, .null)
  }

  private func hasNumber<R: RawRepresentable>(_ type: R.Type) -> Bool { R.RawValue.self is any Numeric.Type }

  func append(_ value: ArchiveNode.Value) { elements.append(value.inCollection) }

  func close(_ session: EncodingSession) {
    if !isKeyed {
      node.content = ArchiveNode.array(elements, as: naming?.archivedClass ?? .array).content
    } else if let archivedClass = naming?.archivedClass, hasFields {
      node.content = .object(archivedClass, fields)
    } else {
      let members = fields.sorted { ExactString($0.key) < ExactString($1.key) }.map {
        (key: ArchiveNode.Value.node(session.keyNode($0.key)), value: $0.value.inCollection)
      }
      node.content = ArchiveNode.dictionary(members, as: naming?.archivedClass ?? .dictionary).content
    }
  }
}

extension ArchiveNode.Value {
  /// The value as Foundation's collections hold it: they can't contain nil, and contain `NSNull` instead.
  var inCollection: Self {
    if case .null = self { .node(.null()) } else { self }
  }
}
