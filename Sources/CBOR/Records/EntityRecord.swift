/// The record of one entity: numbered fields that the model defines, and named attributes of the user. A record stays
/// encoded, as one deterministic CBOR map, and fields are decoded on access.
///
/// ```swift
/// let record = EntityRecord(["name": .string("Café"), "stars": .integer(4)])
/// record["name"]        // .string("Café")
/// ```
///
/// Two records are equal if and only if their bytes are equal. A lookup takes time in proportion to the bytes before
/// the field; records are small.
public struct EntityRecord: Hashable, Sendable {
  /// A CBOR map: the numbered fields (keys 0…23) in ascending order, then the named attributes in the order of their
  /// encoded names.
  public let bytes: [UInt8]

  /// Encodes fields and attributes.
  ///
  /// A field number above 23, or a value nested more than 127 deep, makes a record that no journal accepts: committing
  /// the record throws `rejected`.
  /// - Parameters:
  ///   - attributes: the named attributes.
  ///   - fields: the numbered fields, from 0 to 23.
  /// - Complexity: O(n log n) in the number of attributes.
  public init(_ attributes: [String: FieldValue] = [:], fields: [UInt8: FieldValue] = [:]) {
    var builder = FieldMapBuilder(count: fields.count + attributes.count)
    for (number, value) in fields { builder.add(number, value) }
    builder.add(attributes)
    bytes = builder.finish()
  }

  /// Makes a record from encoded bytes, after checking that they have the form of ``bytes``.
  /// - Throws: ``CBORError`` if they do not have this form.
  /// - Complexity: O(n) in the number of bytes; nothing is decoded.
  public init(checking bytes: [UInt8]) throws(CBORError) {
    try FieldMap.check(bytes, allowingUndefined: false)
    self.bytes = bytes
  }

  /// Makes a record from bytes that are known to have the form of ``bytes``.
  package init(trusted bytes: [UInt8]) { self.bytes = bytes }

  /// Fails if a field number or the depth of a value exceeds its limit: ``init(_:fields:)`` does not check these.
  /// - Complexity: O(n) in the number of bytes; nothing is decoded.
  package func checkEncoding() throws(CBORError) { try FieldMap.check(bytes, allowingUndefined: false) }

  /// The key of the part that has the byte at an offset; nil if the offset is after the last part.
  package func key(at offset: Int) -> FieldKey? {
    unsafe bytes.withUnsafeBytes { buffer in
      var found: FieldKey?
      unsafe FieldMap.forEach(in: buffer) { key, reader in
        if found == nil, (try? reader.pass()) != nil, reader.offset > offset { found = key }
      }
      return found
    }
  }

  /// The value of an attribute; nil if the record has no attribute of that name.
  public subscript(name: String) -> FieldValue? {
    var key = CBORWriter(reserving: name.utf8.count + 3)
    key.append(text: name)
    return value(forKey: key.finish())
  }

  /// The value of a numbered field; nil if the record does not have the field.
  public subscript(field number: UInt8) -> FieldValue? {
    number < 24 ? value(forKey: [number]) : nil
  }

  /// The value of a part; nil if the record does not have the part.
  public func value(of key: FieldKey) -> FieldValue? {
    switch key {
    case .field(let number): self[field: number]
    case .attribute(let name): self[name]
    }
  }

  /// All attributes, decoded.
  public var attributes: [String: FieldValue] {
    unsafe bytes.withUnsafeBytes { buffer in unsafe FieldMap.attributes(in: buffer) }
  }

  /// Calls `body` with each field and attribute, in the order of the bytes.
  public func visit(_ body: (FieldKey, FieldValue) -> Void) {
    unsafe bytes.withUnsafeBytes { buffer in
      unsafe FieldMap.forEach(in: buffer) { key, reader in
        body(key, (try? reader.readValue()) ?? .null)
      }
    }
  }

  package func visitKeys(_ body: (FieldKey) -> Void) {
    unsafe bytes.withUnsafeBytes { buffer in unsafe FieldMap.forEach(in: buffer) { key, _ in body(key) } }
  }

  private func value(forKey key: [UInt8]) -> FieldValue? {
    unsafe bytes.withUnsafeBytes { buffer in
      unsafe key.withUnsafeBytes { unsafe FieldMap.value(forKey: $0, in: buffer) }
    }
  }
}

extension EntityRecord: CustomStringConvertible {
  /// The parts as a text for people, in the order of the bytes: `{field 0: "book", "title": "Dune"}`.
  /// - Complexity: O(n) in the number of bytes; decodes everything.
  public var description: String {
    var parts: [String] = []
    visit { key, value in parts.append("\(key.label): \(value)") }
    return "{\(parts.joined(separator: ", "))}"
  }
}

/// The name of a part of a record. Names are compared byte by byte, as in records.
public enum FieldKey: Sendable {
  /// A field that the model defines.
  case field(UInt8)
  /// An attribute that the user named.
  case attribute(String)
}

extension FieldKey: Hashable {
  /// Whether two keys name the same part of a record.
  public static func == (left: FieldKey, right: FieldKey) -> Bool {
    switch (left, right) {
    case (.field(let left), .field(let right)): left == right
    case (.attribute(let left), .attribute(let right)): left.utf8.elementsEqual(right.utf8)
    default: false
    }
  }

  /// Hashes the number of a field, or the bytes of an attribute's name.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .field(let number): hasher.combine(number)
    case .attribute(let name): for byte in name.utf8 { hasher.combine(byte) }
    }
  }
}

extension FieldKey: CustomStringConvertible {
  /// The name of an attribute, or the number of a field, as in `field 0`.
  public var description: String {
    switch self {
    case .field(let number): "field \(number)"
    case .attribute(let name): name
    }
  }

  /// The name in the text of a record, in which attributes have quotation marks.
  fileprivate var label: String {
    switch self {
    case .field: description
    case .attribute(let name): name.debugDescription
    }
  }
}

/// The difference between two records of one entity: the payload of an update.
///
/// A CBOR map like that of a record, with only the parts that differ. `undefined` marks a removed part.
public struct RecordChanges: Hashable, Sendable {
  /// The encoded map.
  public let bytes: [UInt8]

  /// Makes changes from encoded bytes, after checking that they have the form of ``bytes``.
  /// - Throws: ``CBORError`` if they do not have this form.
  public init(checking bytes: [UInt8]) throws(CBORError) {
    try FieldMap.check(bytes, allowingUndefined: true)
    self.bytes = bytes
  }

  init(trusted bytes: [UInt8]) { self.bytes = bytes }

  /// Encodes the parts to set and to remove. A part that is in both is set.
  public init(
    set attributes: [String: FieldValue] = [:], remove names: some Sequence<String> = EmptyCollection(),
    setFields fields: [UInt8: FieldValue] = [:],
    removeFields numbers: some Sequence<UInt8> = EmptyCollection()
  ) {
    let removedFields = Set(numbers).subtracting(fields.keys)
    // Swift's `==` ignores some differences between the bytes of strings; keys are compared byte by byte.
    let removedAttributes = Set(names.map { FieldKey.attribute($0) })
      .subtracting(attributes.keys.map { .attribute($0) })
    var builder = FieldMapBuilder(
      count: fields.count + attributes.count + removedFields.count + removedAttributes.count)
    for (number, value) in fields { builder.add(number, value) }
    for number in removedFields { builder.addRemoval(.field(number)) }
    builder.add(attributes)
    for key in removedAttributes { builder.addRemoval(key) }
    bytes = builder.finish()
  }

  package func visitKeys(_ body: (FieldKey) -> Void) {
    unsafe bytes.withUnsafeBytes { buffer in unsafe FieldMap.forEach(in: buffer) { key, _ in body(key) } }
  }

  /// Calls `body` with each changed part and its new value, which is nil for a removed part.
  public func visit(_ body: (FieldKey, FieldValue?) -> Void) {
    unsafe bytes.withUnsafeBytes { buffer in
      unsafe FieldMap.forEach(in: buffer) { key, reader in
        let goesAway = (try? reader.isUndefined()) ?? false
        body(key, goesAway ? nil : (try? reader.readValue()) ?? .null)
      }
    }
  }
}

extension RecordChanges: CustomStringConvertible {
  /// The changed parts as a text for people: `{"title": "Dune", "stars": removed}`.
  /// - Complexity: O(n) in the number of bytes; decodes everything.
  public var description: String {
    var parts: [String] = []
    visit { key, value in parts.append("\(key.label): \(value?.description ?? "removed")") }
    return "{\(parts.joined(separator: ", "))}"
  }
}
