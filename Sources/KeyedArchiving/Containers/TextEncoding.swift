/// The encodings that XML is read in, as their marks of byte order tell them.
enum TextEncoding: CaseIterable {
  // UTF-32's mark begins with UTF-16's, so it comes first.
  case utf32BigEndian
  case utf32LittleEndian
  case utf16BigEndian
  case utf16LittleEndian
  case utf8

  /// The bytes at the start of a text that tell its encoding.
  var mark: [UInt8] {
    switch self {
    case .utf32BigEndian: [0, 0, 0xFE, 0xFF]
    case .utf32LittleEndian: [0xFF, 0xFE, 0, 0]
    case .utf16BigEndian: [0xFE, 0xFF]
    case .utf16LittleEndian: [0xFF, 0xFE]
    case .utf8: [0xEF, 0xBB, 0xBF]
    }
  }

  /// The bytes of a code unit.
  var unitSize: Int {
    switch self {
    case .utf32BigEndian, .utf32LittleEndian: 4
    case .utf16BigEndian, .utf16LittleEndian: 2
    case .utf8: 1
    }
  }

  var isLittleEndian: Bool { self == .utf32LittleEndian || self == .utf16LittleEndian }

  /// The encoding of the byte order mark, if the first bytes are one.
  init?(mark start: [UInt8]) {
    guard let encoding = Self.allCases.first(where: { start.starts(with: $0.mark) }) else { return nil }
    self = encoding
  }
}
