package import CBOR
import Foundation

/// Writes JSON on one line without spaces. Equal calls give equal bytes.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.member("id", 42)
/// writer.member("attributes", .dictionary(attributes))
/// writer.endObject()
/// writer.newline()
/// ```
///
/// A call that would produce invalid JSON, such as a value in an object without a key, is a programming error and ends
/// the process.
package struct JSONWriter {
  private enum Container {
    case array
    case object
  }

  /// The text so far, in UTF-8.
  package private(set) var bytes: [UInt8] = []
  private var open: [Container] = []
  /// Whether a comma must precede the next key or value.
  private var needsComma = false
  private var hasKey = false

  package init() {}

  /// The text so far.
  ///
  /// - Complexity: O(*n*) in its bytes.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Drops the text so far, which the caller has copied. Open arrays and objects stay open, and the memory is kept.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }
}

extension JSONWriter {
  package mutating func beginObject() { begin(.object, "{") }

  package mutating func endObject() { end(.object, "}") }

  package mutating func beginArray() { begin(.array, "[") }

  package mutating func endArray() { end(.array, "]") }

  /// The key of the next value.
  package mutating func key(_ key: String) {
    precondition(open.last == .object && !hasKey, "a key must be in an object, before its value")
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    bytes.appendQuoted(key)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
    hasKey = true
  }

  /// Ends a line after a whole value, so that another one can follow.
  package mutating func newline() {
    precondition(open.isEmpty, "a line ends after a whole value")
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }

  private mutating func begin(_ container: Container, _ delimiter: Unicode.Scalar) {
    beginValue()
    bytes.append(UInt8(ascii: delimiter))
    open.append(container)
    needsComma = false
  }

  private mutating func end(_ container: Container, _ delimiter: Unicode.Scalar) {
    precondition(open.popLast() == container && !hasKey, "an end belongs to the newest begin")
    bytes.append(UInt8(ascii: delimiter))
    needsComma = true
  }

  private mutating func beginValue() {
    switch open.last {
    case .object: precondition(hasKey, "a value in an object needs a key")
    case .array: if needsComma { bytes.append(UInt8(ascii: ",")) }
    case nil: precondition(!needsComma, "a second outermost value needs a new line")
    }
    hasKey = false
    needsComma = true
  }
}

extension JSONWriter {
  package mutating func null() {
    beginValue()
    bytes.append(contentsOf: "null".utf8)
  }

  package mutating func bool(_ value: Bool) {
    beginValue()
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  package mutating func integer(_ value: some BinaryInteger) {
    beginValue()
    bytes.append(contentsOf: String(value).utf8)
  }

  package mutating func string(_ value: String) {
    beginValue()
    bytes.appendQuoted(value)
  }

  /// Writes a whole value that is JSON already.
  package mutating func json(_ text: String) {
    beginValue()
    bytes.append(contentsOf: text.utf8)
  }

  /// Writes a whole value in the form of ``CBOR/Value/json``.
  package mutating func value(_ value: FieldValue) {
    beginValue()
    bytes.append(json: value)
  }
}

extension JSONWriter {
  /// Writes an object whose members `body` writes.
  /// - Parameter key: the key of the object in an object.
  package mutating func object<Failure: Error>(
    _ key: String? = nil, _ body: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) {
    if let key { self.key(key) }
    beginObject()
    try body(&self)
    endObject()
  }

  /// Writes an array whose elements `body` writes.
  /// - Parameter key: the key of the array in an object.
  package mutating func array<Failure: Error>(
    _ key: String? = nil, _ body: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) {
    if let key { self.key(key) }
    beginArray()
    try body(&self)
    endArray()
  }

  /// Writes a key and an array, each element of which `body` writes.
  package mutating func array<Elements: Sequence, Failure: Error>(
    _ key: String, of elements: Elements, _ body: (inout JSONWriter, Elements.Element) throws(Failure) -> Void
  ) throws(Failure) {
    try array(key) { writer throws(Failure) in
      for element in elements { try body(&writer, element) }
    }
  }

  /// Writes a key and null, a boolean, a number or a text.
  package mutating func member(_ key: String, _ value: FieldValue) {
    self.key(key)
    self.value(value)
  }

  package mutating func member(_ key: String, _ value: Bool) {
    self.key(key)
    bool(value)
  }

  package mutating func member(_ key: String, _ value: some BinaryInteger) {
    self.key(key)
    integer(value)
  }

  /// Writes a key and a number, or null.
  package mutating func member(_ key: String, _ value: Int?) {
    self.key(key)
    if let value { integer(value) } else { null() }
  }

  /// Writes a key and a text, or null.
  package mutating func member(_ key: String, _ value: String?) {
    self.key(key)
    if let value { string(value) } else { null() }
  }
}
