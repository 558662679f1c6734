package import CBOR

/// A value that can be written as JSON.
package protocol JSONWritable {
  func write(to writer: inout JSONWriter)
}

/// Writes JSON on one line without spaces. Equal calls give equal bytes.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.value(["id": 42, "attributes": FieldValue.dictionary(attributes)] as JSONObject)
/// writer.newline()
/// ```
///
/// The order of the calls is not checked: each value of an object needs a key, and each begin an end.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = []
  /// Whether a comma must precede the next key or value.
  private var needsComma = false

  package init() {}

  /// - Complexity: O(*n*) in the number of bytes.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Drops the text so far, which the caller has copied. Open arrays and objects stay open, and the memory is kept.
  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  package mutating func beginObject() { begin("{") }

  package mutating func endObject() { end("}") }

  package mutating func beginArray() { begin("[") }

  package mutating func endArray() { end("]") }

  package mutating func key(_ key: String) {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    bytes.appendQuoted(key)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Ends the line. Must follow a complete value.
  package mutating func newline() {
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }

  private mutating func begin(_ delimiter: Unicode.Scalar) {
    beginValue()
    bytes.append(UInt8(ascii: delimiter))
    needsComma = false
  }

  private mutating func end(_ delimiter: Unicode.Scalar) {
    bytes.append(UInt8(ascii: delimiter))
    needsComma = true
  }

  fileprivate mutating func beginValue() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }
}

extension JSONWriter {
  package mutating func json(_ text: String) {
    beginValue()
    bytes.append(contentsOf: text.utf8)
  }

  fileprivate mutating func append(_ value: FieldValue) {
    beginValue()
    bytes.append(json: value)
  }

  package mutating func value(_ value: some JSONWritable) { value.write(to: &self) }

  package mutating func member(_ key: String, _ value: some JSONWritable) {
    self.key(key)
    value.write(to: &self)
  }

  /// Writes the members into the open object.
  package mutating func members(_ object: JSONObject) {
    for (key, value) in object.members { member(key, value) }
  }

  /// Writes an object whose members `body` writes, after a key if the object is a member itself.
  package mutating func object<Failure: Error>(
    _ key: String? = nil, _ body: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) {
    if let key { self.key(key) }
    beginObject()
    try body(&self)
    endObject()
  }

  /// Writes a key and an array whose elements `body` writes.
  package mutating func array<Failure: Error>(
    _ key: String, _ body: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) {
    self.key(key)
    beginArray()
    try body(&self)
    endArray()
  }
}

/// An object whose members stay in the order in which they are written:
///
///     ["id": 42, "label": nil as String?, "base": ifAny(base), .members: attribution]
package struct JSONObject: JSONWritable, ExpressibleByDictionaryLiteral {
  package enum Key: ExpressibleByStringLiteral {
    case name(String)
    /// The value is an object whose members are inserted here.
    case members

    package init(stringLiteral name: String) { self = .name(name) }
  }

  fileprivate private(set) var members: [(key: String, value: any JSONWritable)] = []

  package init(dictionaryLiteral elements: (Key, any JSONWritable)...) {
    for (key, value) in elements {
      switch key {
      case .members:
        guard let object = value as? JSONObject else { preconditionFailure("only an object has members") }
        members += object.members
      case .name(let name): if !(value is Omission) { members.append((name, value)) }
      }
    }
  }

  package init<Value: JSONWritable>(_ members: some Sequence<(String, Value)>) {
    self.members = members.map { ($0, $1) }
  }

  package func write(to writer: inout JSONWriter) { writer.object { $0.members(self) } }

  fileprivate struct Omission: JSONWritable {
    func write(to writer: inout JSONWriter) { preconditionFailure("only a member can be left out") }
  }
}

/// The value of a member of a ``JSONObject``. If it is nil, the member is omitted.
package func ifAny(_ value: (some JSONWritable)?) -> any JSONWritable {
  value ?? JSONObject.Omission() as any JSONWritable
}

extension Bool: JSONWritable {
  package func write(to writer: inout JSONWriter) { writer.json(self ? "true" : "false") }
}

extension Int: JSONWritable {
  package func write(to writer: inout JSONWriter) { writer.json(String(self)) }
}

extension String: JSONWritable {
  package func write(to writer: inout JSONWriter) { writer.value(FieldValue.string(self)) }
}

extension FieldValue: JSONWritable {
  package func write(to writer: inout JSONWriter) { writer.append(self) }
}

extension Optional: JSONWritable where Wrapped: JSONWritable {
  package func write(to writer: inout JSONWriter) {
    if let self { self.write(to: &writer) } else { writer.json("null") }
  }
}

extension Array: JSONWritable where Element: JSONWritable {
  package func write(to writer: inout JSONWriter) {
    writer.beginArray()
    for element in self { element.write(to: &writer) }
    writer.endArray()
  }
}
