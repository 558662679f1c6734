import PropertyLists

/// The text of an XML file as UTF-8, and the positions of its parts in the input.
///
/// UTF-16 and UTF-32 are recognized by their byte order mark. A text without a mark has the encoding that it declares
/// (UTF-8, ASCII or ISO 8859-1), or UTF-8 if it declares none. A text that declares another encoding is refused.
struct XMLText {
  /// The text without a byte order mark, as valid UTF-8 without zero bytes.
  let utf8: [UInt8]

  private let encoding: TextEncoding
  private let path: String?

  init(_ bytes: ArchiveBytes) throws(ArchiveError) {
    let input = try bytes.copy(of: 0..<bytes.count)
    path = bytes.path
    encoding =
      if let marked = TextEncoding.marked(input) { marked } else { try declaredEncoding(input, path) }
    let invalid: Int?
    (utf8, invalid) = encoding.decoded(input)
    if let invalid {
      throw error("the text is not valid in its encoding; XML is UTF-8 unless it declares another", invalid)
    }
    if let zero = utf8.firstIndex(of: 0) {
      throw error(
        "the text has a zero byte; if it is UTF-16 or UTF-32, it needs a byte order mark at its start", zero)
    }
  }

  /// An error that names the line and the byte offset in the input.
  func error(
    _ message: String, _ position: Int, _ code: ArchiveError.Code = .malformed
  ) -> ArchiveError {
    var line = 1
    var offset = encoding.mark.count
    for byte in utf8.prefix(position) where byte & 0xC0 != 0x80 {
      if byte == UInt8(ascii: "\n") { line += 1 }
      offset += encoding.byteCount(byte)
    }
    return ArchiveError(code, "line \(line) of the XML: \(message)", offset: offset, path: path)
  }
}

/// The encoding that the XML declaration names; UTF-8 if it names none. Blanks and comments may precede it.
private func declaredEncoding(_ input: [UInt8], _ path: String?) throws(ArchiveError) -> TextEncoding {
  var rest = Substring(String(decoding: input.prefix(4096), as: UTF8.self))
  while true {
    rest = rest.drop { $0.isWhitespace }
    guard rest.hasPrefix("<!--"), let end = rest.firstRange(of: "-->") else { break }
    rest = rest[end.upperBound...]
  }
  guard rest.hasPrefix("<?xml"), let end = rest.firstRange(of: "?>"),
    let word = rest[..<end.lowerBound].firstRange(of: "encoding"),
    case let value = rest[word.upperBound..<end.lowerBound].drop(while: { $0.isWhitespace || $0 == "=" }),
    let quote = value.first, quote == "\"" || quote == "'"
  else { return TextEncoding(form: .utf8) }
  let name = String(value.dropFirst().prefix { $0 != quote }.prefix(40))
  switch name.uppercased() {
  case "UTF-8", "UTF8": return TextEncoding(form: .utf8)
  case "US-ASCII", "ASCII": return TextEncoding(form: .ascii)
  case "ISO-8859-1", "ISO8859-1", "ISO_8859-1", "ISO-LATIN-1", "LATIN1": return TextEncoding(form: .latin1)
  case let wide where wide.hasPrefix("UTF-16") || wide.hasPrefix("UTF-32"):
    throw ArchiveError(
      .unsupportedFormat,
      "the XML declares the encoding \(name), but does not begin with its byte order mark", offset: 0,
      path: path)
  default:
    throw ArchiveError(
      .unsupportedFormat,
      "the XML is in the encoding \(name), which is not supported; convert it and its declaration to UTF-8, with "
        + "`iconv` and an editor, or on a Mac with `plutil -convert xml1 FILE`", offset: 0, path: path)
  }
}
