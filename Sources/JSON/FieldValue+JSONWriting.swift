package import CBOR
import Foundation

extension FieldValue {
  /// The value as JSON on one line. Equal values give equal texts.
  ///
  /// Keys are in the order of their UTF-8 bytes. A double is written as the shortest number that reads back as the same
  /// value, always with a point or an exponent. A value that JSON lacks is an object with one key. A date is
  /// `{"$date":"2026-08-01T10:00:00.000000Z"}` (UTC; outside of the years 0001 to 9999 `{"$date":"<seconds since
  /// 2001>"}`), data is `{"$data":"<base64>"}`, and an infinite double or NaN is `{"$double":"inf"}`, `"-inf"` or
  /// `"nan"`. A dictionary that has only such a key gets another `$`: `{"$$date":…}`.
  /// ``init(json:decodingWrappers:)-(String,_)`` reads all of them, dates to the microsecond.
  ///
  /// - Complexity: O(*n*) in the size of the value, and O(*k* log *k*) for a dictionary of *k* keys.
  package var json: String {
    var bytes: [UInt8] = []
    bytes.append(json: self)
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension [UInt8] {
  /// Appends a value as JSON.
  ///
  /// This keeps the open containers in a list instead of calling itself, because a program can make a value that is
  /// nested too deeply for the stack.
  mutating func append(json value: FieldValue) {
    if append(jsonScalar: value) { return }
    var open = [OpenContainer(value)]
    append(open[0].delimiters.opening)
    while let last = open.indices.last {
      guard let (key, element, isFirst) = open[last].next() else {
        append(open.removeLast().delimiters.closing)
        continue
      }
      if !isFirst { append(UInt8(ascii: ",")) }
      if let key {
        appendQuoted(key)
        append(UInt8(ascii: ":"))
      }
      if append(jsonScalar: element) { continue }
      let container = OpenContainer(element)
      append(container.delimiters.opening)
      open.append(container)
    }
  }

  /// Appends a value that is not a container.
  ///
  /// - Returns: false, with nothing appended, if it is a container.
  private mutating func append(jsonScalar value: FieldValue) -> Bool {
    switch value {
    case .null: append(contentsOf: "null".utf8)
    case .bool(let bool): append(contentsOf: (bool ? "true" : "false").utf8)
    case .integer(let integer): append(contentsOf: String(integer).utf8)
    case .unsigned(let integer): append(contentsOf: String(integer).utf8)
    case .double(let double) where double.isFinite: append(contentsOf: double.description.utf8)
    case .double(let double):
      appendWrapper("double", double.isNaN ? "nan" : double < 0 ? "-inf" : "inf")
    case .string(let string): appendQuoted(string)
    case .data(let data): appendWrapper("data", data.base64EncodedString())
    case .date(let date): appendWrapper("date", JSONWrapper.content(for: date))
    case .array, .dictionary: return false
    }
    return true
  }

  private mutating func appendWrapper(_ name: String, _ content: String) {
    append(contentsOf: "{\"$\(name)\":\"\(content)\"}".utf8)
  }

  /// Appends a string in quotation marks. Only what JSON requires is escaped.
  mutating func appendQuoted(_ string: String) {
    append(UInt8(ascii: "\""))
    var string = string
    string.withUTF8 { bytes in
      var runStart = 0
      for index in 0..<bytes.count {
        let byte = unsafe bytes[index]
        guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
        unsafe append(contentsOf: bytes[runStart..<index])
        appendEscape(byte)
        runStart = index + 1
      }
      unsafe append(contentsOf: bytes[runStart...])
    }
    append(UInt8(ascii: "\""))
  }

  private mutating func appendEscape(_ byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    case 0x00..<0x20:
      let digits = Array("0123456789abcdef".utf8)
      append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
      append(digits[Int(byte >> 4)])
      append(digits[Int(byte & 15)])
    default: append(byte)
    }
  }
}

/// An array or dictionary that is partly written.
private struct OpenContainer {
  private enum Content {
    case array([FieldValue])
    /// In the order of the keys' bytes.
    case dictionary([(key: String, value: FieldValue)])
  }

  private let content: Content
  private var position = 0

  init(_ value: FieldValue) {
    switch value {
    case .array(let elements): content = .array(elements)
    case .dictionary(let members): content = .dictionary(Self.ordered(members))
    default: preconditionFailure("only arrays and dictionaries contain values")
    }
  }

  private static func ordered(_ members: [String: FieldValue]) -> [(key: String, value: FieldValue)] {
    if members.count == 1, let (key, value) = members.first, JSONWrapper.isReserved(key) {
      return [("$" + key, value)]
    }
    // Bytes are compared because strings compare by normalized characters, which depend on the version of Unicode.
    return members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
  }

  var delimiters: (opening: UInt8, closing: UInt8) {
    switch content {
    case .array: (UInt8(ascii: "["), UInt8(ascii: "]"))
    case .dictionary: (UInt8(ascii: "{"), UInt8(ascii: "}"))
    }
  }

  /// The next element, with its key in a dictionary.
  mutating func next() -> (key: String?, value: FieldValue, isFirst: Bool)? {
    defer { position += 1 }
    switch content {
    case .array(let elements):
      guard position < elements.count else { return nil }
      return (nil, elements[position], position == 0)
    case .dictionary(let members):
      guard position < members.count else { return nil }
      return (members[position].key, members[position].value, position == 0)
    }
  }
}
