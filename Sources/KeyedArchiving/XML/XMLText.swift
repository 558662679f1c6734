import PropertyLists

/// The text of an XML file as UTF-8, and the positions of its parts in the input.
///
/// UTF-16 and UTF-32 are recognized by their byte order mark. A text without a mark has the encoding that it declares
/// (UTF-8, ASCII or ISO 8859-1), or UTF-8 if it declares none. A text that declares another encoding is refused.
struct XMLText {
  /// The text without a byte order mark, as valid UTF-8 without zero bytes.
  let utf8: [UInt8]

  private let markSize: Int
  /// How many bytes a scalar has in the input, by the first byte of its UTF-8.
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
      let declared = encoding == nil ? declaredEncoding(input) : nil
      switch declared.map({ DeclaredEncoding($0) }) {
      case .latin1?:
        inputSize = { _ in 1 }
        (utf8, invalid) = decoded(input.map { UInt32($0) }, UTF32.self)
      case .ascii?:
        inputSize = { _ in 1 }
        utf8 = input
        invalid = input.firstIndex { $0 >= 0x80 }
      case .utf8?, nil:
        inputSize = { $0 < 0x80 ? 1 : $0 < 0xE0 ? 2 : $0 < 0xF0 ? 3 : 4 }
        utf8 = mark == 0 ? input : Array(input[mark...])
        invalid = firstInvalidByte(utf8)
      case .wide?:
        // Real UTF-16 without a mark is detected below by its zero bytes.
        throw ArchiveError(
          .unsupportedFormat,
          "the XML declares the encoding \(declared ?? ""), but does not begin with its byte order mark",
          offset: 0, path: bytes.path)
      case .other?:
        let name = declared ?? ""
        throw ArchiveError(
          .unsupportedFormat,
          "the XML is in the encoding \(name), which is not supported; convert it and its declaration to UTF-8, with "
            + "`iconv` and an editor, or on a Mac with `plutil -convert xml1 FILE`", offset: 0,
          path: bytes.path)
      }
    }
    if let invalid {
      throw error("the text is not valid in its encoding; XML is UTF-8 unless it declares another", invalid)
    }
    if (input.count - mark) % (encoding?.unitSize ?? 1) != 0 {
      throw error("the text ends inside a character", utf8.count)
    }
    if let zero = utf8.firstIndex(of: 0) {
      throw error(
        "the text has a zero byte; if it is UTF-16 or UTF-32, it needs a byte order mark at its start", zero)
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
    return ArchiveError(code, "line \(line) of the XML: \(message)", offset: offset, path: path)
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

/// The text in UTF-8 up to the first invalid code unit, and the position of that unit, if there is one.
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

/// How a reader treats a declared encoding.
private enum DeclaredEncoding {
  case utf8, ascii, latin1
  /// An encoding with several bytes for each character, which requires a byte order mark.
  case wide
  case other

  init(_ name: String) {
    switch name.uppercased() {
    case "UTF-8", "UTF8": self = .utf8
    case "US-ASCII", "ASCII": self = .ascii
    case "ISO-8859-1", "ISO8859-1", "ISO_8859-1", "ISO-LATIN-1", "LATIN1": self = .latin1
    case let wide where wide.hasPrefix("UTF-16") || wide.hasPrefix("UTF-32"): self = .wide
    default: self = .other
    }
  }
}

/// The encoding that the declaration names, if there is one. Blanks and comments may come before it.
private func declaredEncoding(_ input: [UInt8]) -> String? {
  var rest = Substring(String(decoding: input.prefix(4096), as: UTF8.self))
  while true {
    rest = rest.drop { $0.isWhitespace }
    guard rest.hasPrefix("<!--"), let end = rest.firstRange(of: "-->") else { break }
    rest = rest[end.upperBound...]
  }
  guard rest.hasPrefix("<?xml"), let end = rest.firstRange(of: "?>"),
    let name = rest[..<end.lowerBound].firstRange(of: "encoding")
  else { return nil }
  let value = rest[name.upperBound..<end.lowerBound].drop { $0.isWhitespace || $0 == "=" }
  guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
  return String(value.dropFirst().prefix { $0 != quote }.prefix(40))
}
