/// The encodings of XML that a byte order mark can announce.
enum TextEncoding: CaseIterable {
  // The little-endian mark of UTF-32 begins with that of UTF-16, so UTF-32 comes first.
  case utf32BigEndian
  case utf32LittleEndian
  case utf16BigEndian
  case utf16LittleEndian
  case utf8

  /// The byte order mark.
  var mark: [UInt8] {
    switch self {
    case .utf32BigEndian: [0, 0, 0xFE, 0xFF]
    case .utf32LittleEndian: [0xFF, 0xFE, 0, 0]
    case .utf16BigEndian: [0xFE, 0xFF]
    case .utf16LittleEndian: [0xFF, 0xFE]
    case .utf8: [0xEF, 0xBB, 0xBF]
    }
  }

  /// The bytes of one code unit.
  var unitSize: Int {
    switch self {
    case .utf32BigEndian, .utf32LittleEndian: 4
    case .utf16BigEndian, .utf16LittleEndian: 2
    case .utf8: 1
    }
  }

  var isLittleEndian: Bool { self == .utf32LittleEndian || self == .utf16LittleEndian }

  /// The encoding that the first bytes announce, or nil if they are not a byte order mark.
  init?(mark start: [UInt8]) {
    guard let encoding = Self.allCases.first(where: { start.starts(with: $0.mark) }) else { return nil }
    self = encoding
  }

  /// The code units of a text after its byte order mark, without an incomplete one at the end.
  /// - Parameter encoding: that of the mark; nil if there is none.
  static func units<Unit: FixedWidthInteger>(of text: [UInt8], _ encoding: TextEncoding?) -> [Unit] {
    let (size, start) = (encoding?.unitSize ?? 1, encoding?.mark.count ?? 0)
    return stride(from: start, to: text.count - size + 1, by: size).map { start in
      (0..<size).reduce(0) { value, index in
        value << 8 | Unit(text[encoding?.isLittleEndian == true ? start + size - 1 - index : start + index])
      }
    }
  }
}
