/// An encoding of text: the form of its characters, and the byte order mark before them.
struct TextEncoding {
  enum Form { case utf8, ascii, latin1, utf16, utf32 }

  let form: Form
  var mark: [UInt8] = []
  var isLittleEndian = false

  /// The encodings with a mark. UTF-32 precedes UTF-16, because UTF-32's little-endian mark begins with UTF-16's.
  private static let marked = [
    TextEncoding(form: .utf32, mark: [0, 0, 0xFE, 0xFF]),
    TextEncoding(form: .utf32, mark: [0xFF, 0xFE, 0, 0], isLittleEndian: true),
    TextEncoding(form: .utf16, mark: [0xFE, 0xFF]),
    TextEncoding(form: .utf16, mark: [0xFF, 0xFE], isLittleEndian: true),
    TextEncoding(form: .utf8, mark: [0xEF, 0xBB, 0xBF]),
  ]

  /// The encoding that the first bytes announce with a byte order mark; nil if there is no mark.
  static func marked(_ start: [UInt8]) -> TextEncoding? { marked.first { start.starts(with: $0.mark) } }

  /// The bytes of one code unit.
  private var unitSize: Int { form == .utf16 ? 2 : form == .utf32 ? 4 : 1 }

  /// The code units of a text after its byte order mark, without an incomplete unit at the end.
  func units<Unit: FixedWidthInteger>(of text: [UInt8]) -> [Unit] {
    let size = unitSize
    return stride(from: mark.count, to: text.count - size + 1, by: size).map { start in
      (0..<size).reduce(0) { $0 << 8 | Unit(text[isLittleEndian ? start + size - 1 - $1 : start + $1]) }
    }
  }

  /// The text in UTF-8, and the position of its first invalid part, up to which it is usable; nil if all is valid.
  func decoded(_ text: [UInt8]) -> (utf8: [UInt8], invalid: Int?) {
    switch form {
    case .utf8:
      let utf8 = mark.isEmpty ? text : Array(text.dropFirst(mark.count))
      return (
        utf8, String(validating: utf8, as: UTF8.self) == nil ? transcoded(utf8, UTF8.self).invalid : nil
      )
    case .ascii: return (text, text.firstIndex { $0 >= 0x80 })
    case .latin1: return transcoded(units(of: text), UTF32.self)
    case .utf16, .utf32:
      let (utf8, invalid) =
        form == .utf16 ? transcoded(units(of: text), UTF16.self) : transcoded(units(of: text), UTF32.self)
      return (utf8, invalid ?? (text.count % unitSize == 0 ? nil : utf8.count))
    }
  }

  private func transcoded<Encoding: Unicode.Encoding>(
    _ units: [Encoding.CodeUnit], _ encoding: Encoding.Type
  ) -> (utf8: [UInt8], invalid: Int?) {
    var utf8: [UInt8] = []
    utf8.reserveCapacity(units.count)
    let failed = transcode(units.makeIterator(), from: encoding, to: UTF8.self, stoppingOnError: true) {
      utf8.append($0)
    }
    return (utf8, failed ? utf8.count : nil)
  }

  /// The number of bytes that a scalar takes in this encoding, from the first byte of the scalar's UTF-8.
  func byteCount(_ first: UInt8) -> Int {
    switch form {
    case .utf8, .ascii: first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    case .latin1: 1
    case .utf16: first < 0xF0 ? 2 : 4
    case .utf32: 4
    }
  }
}
