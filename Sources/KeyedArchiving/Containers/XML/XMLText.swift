/// The text of an XML file as UTF-8, and where its parts stand in the input.
///
/// UTF-16 and UTF-32 are told by their byte order mark, ISO 8859-1 by its declaration; all else must be UTF-8.
struct XMLText {
  /// The text, without a byte order mark. Valid UTF-8 without zeros.
  let utf8: [UInt8]

  private let markSize: Int
  /// The bytes that a scalar takes in the input, by the first byte of its UTF-8.
  private let inputSize: @Sendable (UInt8) -> Int
  private let path: String?

  init(_ bytes: ArchiveBytes) throws(ArchiveError) {
    let input = try bytes.copy(of: 0..<bytes.count)
    let encoding = TextEncoding(mark: input)
    let mark = encoding?.mark.count ?? 0
    path = bytes.path
    markSize = mark
    var invalid: Int?
    switch encoding {
    case .utf16BigEndian, .utf16LittleEndian:
      inputSize = { $0 < 0xF0 ? 2 : 4 }
      (utf8, invalid) = decoded(units(input[mark...], 2, encoding), UTF16.self)
    case .utf32BigEndian, .utf32LittleEndian:
      inputSize = { _ in 4 }
      (utf8, invalid) = decoded(units(input[mark...], 4, encoding), UTF32.self)
    case .utf8, nil:
      if encoding == nil, declaresLatin1(input) {
        inputSize = { _ in 1 }
        (utf8, invalid) = decoded(input.map { UInt32($0) }, UTF32.self)
      } else {
        inputSize = { $0 < 0x80 ? 1 : $0 < 0xE0 ? 2 : $0 < 0xF0 ? 3 : 4 }
        utf8 = mark == 0 ? input : Array(input[mark...])
        invalid = firstInvalidByte(utf8)
      }
    }
    if let invalid {
      throw error("The text is not valid in its encoding; XML is UTF-8 unless it says otherwise", invalid)
    }
    if (input.count - mark) % (encoding?.unitSize ?? 1) != 0 {
      throw error("The text ends inside a character", utf8.count)
    }
    if let zero = utf8.firstIndex(of: 0) {
      throw error(
        "The text holds a zero byte. If it is UTF-16 or UTF-32, it needs a byte order mark at its start", zero
      )
    }
  }

  /// An error that names the line, and the byte of the input.
  func error(
    _ message: String, _ position: Int, _ code: ArchiveError.Code = .malformed
  ) -> ArchiveError {
    var line = 1
    var offset = markSize
    for byte in utf8.prefix(position) where byte & 0xC0 != 0x80 {
      if byte == UInt8(ascii: "\n") { line += 1 }
      offset += inputSize(byte)
    }
    return ArchiveError(code, "Line \(line) of the XML: \(message)", offset: offset, path: path)
  }
}

private func units<Unit: FixedWidthInteger>(
  _ bytes: ArraySlice<UInt8>, _ size: Int, _ encoding: TextEncoding?
) -> [Unit] {
  let isLittleEndian = encoding?.isLittleEndian ?? false
  return stride(from: bytes.startIndex, to: bytes.endIndex - size + 1, by: size).map { start in
    (0..<size).reduce(0) { unit, index in
      unit << 8 | Unit(bytes[isLittleEndian ? start + size - 1 - index : start + index])
    }
  }
}

/// The text in UTF-8, up to the first code unit that is not valid, and the position there.
private func decoded<Encoding: Unicode.Encoding>(
  _ units: [Encoding.CodeUnit], _ encoding: Encoding.Type
) -> ([UInt8], Int?) {
  var utf8: [UInt8] = []
  utf8.reserveCapacity(units.count)
  let failed = transcode(units.makeIterator(), from: encoding, to: UTF8.self, stoppingOnError: true) {
    utf8.append($0)
  }
  return (utf8, failed ? utf8.count : nil)
}

private func firstInvalidByte(_ utf8: [UInt8]) -> Int? {
  if String(validating: utf8, as: UTF8.self) != nil { return nil }
  return decoded(utf8, UTF8.self).1
}

/// Whether the text begins with a declaration that names ISO 8859-1.
private func declaresLatin1(_ input: [UInt8]) -> Bool {
  let start = String(decoding: input.prefix(200), as: UTF8.self)
  let trimmed = start.drop { $0.isWhitespace }
  guard trimmed.hasPrefix("<?xml"), let end = trimmed.firstRange(of: "?>") else { return false }
  let declaration = trimmed[..<end.lowerBound].lowercased()
  return declaration.contains("\"iso-8859-1\"") || declaration.contains("'iso-8859-1'")
}
