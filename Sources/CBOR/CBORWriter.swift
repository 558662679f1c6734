import Foundation

/// Writes deterministic CBOR (RFC 8949 §4.2) into a growing buffer.
package struct CBORWriter: ~Copyable {
  /// The bytes written so far.
  package private(set) var bytes: [UInt8] = []

  package init(reserving capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  /// Returns the bytes and ends the writer.
  package consuming func finish() -> [UInt8] { bytes }

  package mutating func append(integer: Int64) {
    if integer >= 0 {
      head(.unsigned, UInt64(integer))
    } else {
      head(.negative, ~UInt64(bitPattern: integer))
    }
  }

  package mutating func append(unsigned: UInt64) { head(.unsigned, unsigned) }

  package mutating func append(text: String) {
    var text = text
    text.withUTF8 { utf8 in
      head(.text, UInt64(utf8.count))
      unsafe bytes.append(contentsOf: utf8)
    }
  }

  /// Appends a text from UTF-8.
  package mutating func append(utf8 content: UnsafeRawBufferPointer) {
    head(.text, UInt64(content.count))
    unsafe bytes.append(contentsOf: content)
  }

  package mutating func append(bytes content: UnsafeRawBufferPointer) {
    head(.bytes, UInt64(content.count))
    unsafe bytes.append(contentsOf: content)
  }

  /// The head of a byte string whose content is appended next, as encoded bytes.
  package mutating func appendBytesHead(count: Int) { head(.bytes, UInt64(count)) }
  package mutating func appendArrayHead(count: Int) { head(.array, UInt64(count)) }
  package mutating func appendMapHead(count: Int) { head(.map, UInt64(count)) }
  /// The tag of the item that is appended next.
  package mutating func append(tag: UInt64) { head(.tag, tag) }
  package mutating func appendNull() { bytes.append(CBORByte.null) }
  /// Marks a removed field in the changes of an update; never a value.
  package mutating func appendUndefined() { bytes.append(CBORByte.undefined) }
  package mutating func append(bool: Bool) { bytes.append(bool ? CBORByte.true : CBORByte.false) }

  package mutating func append(double: Double) {
    switch CBORFloat(double) {
    case .half(let bits):
      bytes.append(CBORByte.half)
      append(bigEndian: bits)
    case .single(let bits):
      bytes.append(CBORByte.single)
      append(bigEndian: bits)
    case .double(let bits):
      bytes.append(CBORByte.double)
      append(bigEndian: bits)
    }
  }

  /// A date, in seconds since 2001 began.
  package mutating func append(foundationDate seconds: Double) {
    head(.tag, CBORTag.foundationDate)
    append(double: seconds)
  }

  /// Appends encoded items.
  package mutating func append(encoded: UnsafeRawBufferPointer) { unsafe bytes.append(contentsOf: encoded) }
  package mutating func append(encoded: [UInt8]) { bytes.append(contentsOf: encoded) }

  /// Appends a value of any kind. A value that is nested deeper than any reader accepts is cut off, so that the
  /// recursion is bounded; readers reject the result as too deep.
  package mutating func append(_ value: FieldValue) { append(value, depth: 0) }

  private mutating func append(_ value: FieldValue, depth: Int) {
    switch value {
    case .null: appendNull()
    case .bool(let bool): append(bool: bool)
    case .integer(let integer): append(integer: integer)
    case .unsigned(let unsigned): append(unsigned: unsigned)
    case .double(let double): append(double: double)
    case .string(let string): append(text: string)
    case .data(let data):
      head(.bytes, UInt64(data.count))
      bytes.append(contentsOf: data)
    case .date(let date):
      append(foundationDate: date.timeIntervalSinceReferenceDate)
    case .array where depth > CBORLimits.depth: appendArrayHead(count: 0)
    case .dictionary where depth > CBORLimits.depth: appendArrayHead(count: 0)
    case .array(let elements):
      appendArrayHead(count: elements.count)
      for element in elements { append(element, depth: depth + 1) }
    case .dictionary(let dictionary):
      appendMapHead(count: dictionary.count)
      for (key, value) in dictionary.sorted(by: { CBORKeyOrder.precedes($0.key, $1.key) }) {
        append(text: key)
        append(value, depth: depth + 1)
      }
    }
  }

  private mutating func head(_ major: CBORMajor, _ argument: UInt64) {
    let high = major.rawValue << 5
    switch argument {
    case 0..<24: bytes.append(high | UInt8(truncatingIfNeeded: argument))
    case 24...0xFF:
      bytes.append(high | 24)
      bytes.append(UInt8(truncatingIfNeeded: argument))
    case 0x100...0xFFFF:
      bytes.append(high | 25)
      append(bigEndian: UInt16(truncatingIfNeeded: argument))
    case 0x1_0000...0xFFFF_FFFF:
      bytes.append(high | 26)
      append(bigEndian: UInt32(truncatingIfNeeded: argument))
    default:
      bytes.append(high | 27)
      append(bigEndian: argument)
    }
  }

  private mutating func append<T: FixedWidthInteger & Sendable>(bigEndian value: T) {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }
}

/// The order of the text keys of a map: by their encoded bytes, so shorter ones first.
enum CBORKeyOrder {
  static func precedes(_ left: String, _ right: String) -> Bool {
    let (leftCount, rightCount) = (left.utf8.count, right.utf8.count)
    if leftCount != rightCount { return leftCount < rightCount }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
