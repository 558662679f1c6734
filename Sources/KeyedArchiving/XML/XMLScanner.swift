import PropertyLists

/// Reads the part of XML that property lists use, tag by tag.
///
/// Comments, processing instructions and a document type with all of its declarations are skipped. Only the five
/// entities of XML itself and numeric character references are expanded. Where Apple's programs write what XML forbids,
/// the scanner is more lenient: it accepts control characters, and `--` in comments.
struct XMLScanner {
  enum Tag {
    /// `<name …>` or `<name …/>`, which has no closing tag.
    case opening(Name, isEmpty: Bool)
    /// `</name>`
    case closing(Name)
    case endOfText
  }

  /// The name of an element.
  struct Name: Equatable {
    let bytes: ArraySlice<UInt8>

    static func == (left: Name, right: Name) -> Bool { left.bytes.elementsEqual(right.bytes) }

    /// The name for messages. It is shortened, because a hostile name may be long.
    var words: String { String(decoding: bytes.prefix(32), as: UTF8.self) }
  }

  private let text: XMLText
  let utf8: [UInt8]
  private var position = 0
  /// The position of the tag that was read last.
  private(set) var tagPosition = 0
  /// Whether no element was read yet: a document type is allowed only before the first element.
  private var isBeforeRoot = true

  init(_ text: XMLText) {
    self.text = text
    utf8 = text.utf8
  }

  /// An error at a position; by default at the tag that was read last.
  func error(
    _ message: String, at position: Int? = nil, _ code: ArchiveError.Code = .malformed
  ) -> ArchiveError {
    text.error(message, position ?? tagPosition, code)
  }

  /// Reads the next tag. Only blanks, comments, processing instructions and a document type may precede the tag.
  mutating func nextTag() throws(ArchiveError) -> Tag {
    while true {
      skipBlanks()
      guard position < utf8.count else { return .endOfText }
      guard isNext("<") else { throw error("there is text in the place of a tag", at: position) }
      tagPosition = position
      if try skipRemark() { continue }
      if isBeforeRoot, isNext("<!DOCTYPE") {
        try skipDocumentType()
      } else if take("</") {
        return .closing(try closingName())
      } else {
        position += 1
        isBeforeRoot = false
        return try openingTag()
      }
    }
  }

  /// Reads the text up to the closing tag of an element, which must not contain other elements.
  ///
  /// Carriage returns are kept, although XML converts them to line feeds: Foundation writes and reads them unchanged,
  /// and they count in the runs of an attributed string.
  mutating func content(of name: Name) throws(ArchiveError) -> ArraySlice<UInt8> {
    let start = tagPosition
    // Nearly all content is one piece of the text, which is not copied.
    var joined: [UInt8] = []
    var begin = position
    while true {
      while position < utf8.count, utf8[position] != UInt8(ascii: "<"), utf8[position] != UInt8(ascii: "&") {
        position += 1
      }
      let piece = utf8[begin..<position]
      if isNext("</") {
        tagPosition = position
        position += 2
        guard try closingName() == name else { throw error("<\(name.words)> is closed by another tag") }
        return joined.isEmpty ? piece : joined + piece
      }
      joined += piece
      if isNext("&") {
        joined += try entity()
      } else if isNext("<![CDATA[") {
        let first = position + 9
        try skip(past: "]]>", what: "a CDATA section")
        joined += utf8[first..<position - 3]
      } else if try !skipRemark() {
        guard position < utf8.count else {
          throw error("<\(name.words)> is never closed: the text was truncated", at: start)
        }
        throw error("there is a tag in <\(name.words)>, which contains only text", at: position)
      }
      begin = position
    }
  }

  // MARK: - Tags

  private mutating func openingTag() throws(ArchiveError) -> Tag {
    let name = try name()
    while true {
      let hasBlanks = skipBlanks()
      guard position < utf8.count else { throw error("a tag is never closed") }
      if take(">") { return .opening(name, isEmpty: false) }
      if take("/>") { return .opening(name, isEmpty: true) }
      guard hasBlanks else { throw error("this is not a tag") }
      // An attribute, which is skipped.
      _ = try self.name()
      skipBlanks()
      guard take("=") else { throw error("an attribute has no value") }
      skipBlanks()
      try skipQuoted()
    }
  }

  private mutating func closingName() throws(ArchiveError) -> Name {
    let name = try name()
    skipBlanks()
    guard take(">") else { throw error("a closing tag contains more than a name") }
    return name
  }

  private mutating func name() throws(ArchiveError) -> Name {
    let start = position
    while position < utf8.count, isNameByte(utf8[position]) { position += 1 }
    guard position > start else {
      throw error("`<` does not begin a tag; in text, write it as `&lt;`", at: start)
    }
    return Name(bytes: utf8[start..<position])
  }

  private func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), 0x80...:
      true
    default: false
    }
  }

  // MARK: - Skipping

  @discardableResult
  private mutating func skipBlanks() -> Bool {
    let start = position
    while position < utf8.count, isBlank(utf8[position]) { position += 1 }
    return position > start
  }

  private func isNext(_ prefix: StaticString) -> Bool {
    let count = prefix.utf8CodeUnitCount
    guard position + count <= utf8.count else { return false }
    for index in 0..<count where unsafe utf8[position + index] != prefix.utf8Start[index] { return false }
    return true
  }

  /// Skips these characters if they are next.
  private mutating func take(_ prefix: StaticString) -> Bool {
    guard isNext(prefix) else { return false }
    position += prefix.utf8CodeUnitCount
    return true
  }

  /// Skips a comment or a processing instruction. Returns whether there was one.
  private mutating func skipRemark() throws(ArchiveError) -> Bool {
    if isNext("<!--") {
      try skip(past: "-->", what: "a comment")
    } else if isNext("<?") {
      try skip(past: "?>", what: "a processing instruction")
    } else {
      return false
    }
    return true
  }

  private mutating func skip(past end: StaticString, what: String) throws(ArchiveError) {
    let start = position
    // The end is searched for after the beginning: otherwise `<!-->` would be a whole comment.
    position += isNext("<?") ? 2 : 4
    while position < utf8.count {
      if take(end) { return }
      position += 1
    }
    throw error("\(what) is never closed", at: start)
  }

  private mutating func skipQuoted() throws(ArchiveError) {
    let start = position
    guard isNext("\"") || isNext("'") else { throw error("a value has no quotes") }
    position += 1
    while position < utf8.count, utf8[position] != utf8[start] { position += 1 }
    guard position < utf8.count else { throw error("a quotation is never closed", at: start) }
    position += 1
  }

  private mutating func skipDocumentType() throws(ArchiveError) {
    let start = position
    var isInSubset = false
    while position < utf8.count {
      if try skipRemark() { continue }
      switch utf8[position] {
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        try skipQuoted()
        continue
      case UInt8(ascii: "["): isInSubset = true
      case UInt8(ascii: "]"): isInSubset = false
      case UInt8(ascii: ">") where !isInSubset:
        position += 1
        return
      default: break
      }
      position += 1
    }
    throw error("the document type is never closed", at: start)
  }

  // MARK: - Text

  /// Reads the entity at the position, and returns its character in UTF-8.
  private mutating func entity() throws(ArchiveError) -> [UInt8] {
    let start = position
    // No writer makes a longer reference than 32 bytes, even for a number with leading zeros.
    let nearby = utf8[(start + 1)...].prefix(32)
    guard let end = nearby.firstIndex(of: UInt8(ascii: ";")) else {
      throw error("`&` does not begin an entity; in text, write it as `&amp;`", at: start)
    }
    let name = String(decoding: utf8[start + 1..<end], as: UTF8.self)
    position = end + 1
    switch name {
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "amp": return [UInt8(ascii: "&")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default:
      guard name.hasPrefix("#") else {
        throw error("&\(name); is not one of XML's own entities, and others are not expanded", at: start)
      }
      let isHexadecimal = name.hasPrefix("#x")
      let digits = name.dropFirst(isHexadecimal ? 2 : 1)
      guard digits.first != "+", digits.first != "-",
        let number = UInt32(digits, radix: isHexadecimal ? 16 : 10),
        number != 0, let scalar = Unicode.Scalar(number)
      else { throw error("&\(name); is not a character", at: start) }
      return Array(String(Character(scalar)).utf8)
    }
  }
}

func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
