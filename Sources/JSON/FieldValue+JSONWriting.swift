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
  /// Appends a value's JSON. Recursion is bounded: no reader or decoder makes a value nested more than 512 deep.
  mutating func append(json value: FieldValue) {
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
    case .array(let elements):
      append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { append(UInt8(ascii: ",")) }
        append(json: element)
      }
      append(UInt8(ascii: "]"))
    case .dictionary(let members):
      append(UInt8(ascii: "{"))
      for (index, member) in Self.ordered(members).enumerated() {
        if index > 0 { append(UInt8(ascii: ",")) }
        appendQuoted(member.key)
        append(UInt8(ascii: ":"))
        append(json: member.value)
      }
      append(UInt8(ascii: "}"))
    }
  }

  private static func ordered(_ members: [String: FieldValue]) -> [(key: String, value: FieldValue)] {
    if members.count == 1, let (key, value) = members.first, JSONWrapper.isReserved(key) {
      return [("$" + key, value)]
    }
    // Bytes are compared because strings compare by normalized characters, which depend on the version of Unicode.
    return members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
  }

  private mutating func appendWrapper(_ name: String, _ content: String) {
    append(contentsOf: "{\"$\(name)\":\"\(content)\"}".utf8)
  }

  /// Appends a string in quotation marks. Escapes only the characters for which JSON requires it.
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
