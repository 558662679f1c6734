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

  let text: XMLText
  private(set) var position = 0
  /// The position of the newest tag.
  private(set) var tagPosition = 0
  /// A document type may occur only before the first element.
  private var isBeforeRoot = true

  init(_ text: XMLText) { self.text = text }

  private var utf8: [UInt8] { text.utf8 }

  /// The next tag. Only blanks, comments and the like may come before it.
  mutating func nextTag() throws(ArchiveError) -> Tag {
    while true {
      skipBlanks()
      guard position < utf8.count else { return .endOfText }
      guard utf8[position] == UInt8(ascii: "<") else {
        throw text.error("there is text in the place of a tag", position)
      }
      tagPosition = position
      if starts(with: "<!--") {
        try skip(past: "-->", what: "a comment")
      } else if starts(with: "<?") {
        try skip(past: "?>", what: "a processing instruction")
      } else if isBeforeRoot, starts(with: "<!DOCTYPE") {
        try skipDocumentType()
      } else if starts(with: "</") {
        position += 2
        return try closingTag()
      } else {
        position += 1
        isBeforeRoot = false
        return try openingTag()
      }
    }
  }

  /// The text up to the closing tag of an element that must not contain other elements.
  ///
  /// Carriage returns are kept, although XML converts them to line feeds: Foundation writes and reads them unchanged,
  /// and they count in the runs of an attributed string.
  mutating func content(of name: Name) throws(ArchiveError) -> [UInt8] {
    let start = tagPosition
    var content: [UInt8] = []
    while position < utf8.count {
      switch utf8[position] {
      case UInt8(ascii: "<"):
        if starts(with: "</") {
          tagPosition = position
          position += 2
          guard case .closing(let closed) = try closingTag(), closed == name else {
            throw text.error("<\(name.words)> is closed by another tag", tagPosition)
          }
          return content
        } else if starts(with: "<![CDATA[") {
          let begin = position + 9
          try skip(past: "]]>", what: "a CDATA section")
          content += utf8[begin..<position - 3]
        } else if starts(with: "<!--") {
          try skip(past: "-->", what: "a comment")
        } else if starts(with: "<?") {
          try skip(past: "?>", what: "a processing instruction")
        } else {
          throw text.error("there is a tag in <\(name.words)>, which contains only text", position)
        }
      case UInt8(ascii: "&"):
        try appendEntity(to: &content)
      default:
        let begin = position
        while position < utf8.count, utf8[position] != UInt8(ascii: "<"), utf8[position] != UInt8(ascii: "&")
        {
          position += 1
        }
        content += utf8[begin..<position]
      }
    }
    throw text.error("<\(name.words)> is never closed: the text was truncated", start)
  }

  // MARK: - Tags

  private mutating func openingTag() throws(ArchiveError) -> Tag {
    let name = try name()
    while true {
      let hasBlanks = skipBlanks()
      guard position < utf8.count else { throw text.error("a tag is never closed", tagPosition) }
      if utf8[position] == UInt8(ascii: ">") {
        position += 1
        return .opening(name, isEmpty: false)
      }
      if starts(with: "/>") {
        position += 2
        return .opening(name, isEmpty: true)
      }
      guard hasBlanks else { throw text.error("this is not a tag", tagPosition) }
      try skipAttribute()
    }
  }

  private mutating func closingTag() throws(ArchiveError) -> Tag {
    let name = try name()
    skipBlanks()
    guard position < utf8.count, utf8[position] == UInt8(ascii: ">") else {
      throw text.error("a closing tag contains more than a name", tagPosition)
    }
    position += 1
    return .closing(name)
  }

  private mutating func name() throws(ArchiveError) -> Name {
    let start = position
    while position < utf8.count, isNameByte(utf8[position]) { position += 1 }
    guard position > start else {
      throw text.error("`<` does not begin a tag; in text, write it as `&lt;`", start)
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

  private mutating func skipAttribute() throws(ArchiveError) {
    _ = try name()
    skipBlanks()
    guard position < utf8.count, utf8[position] == UInt8(ascii: "=") else {
      throw text.error("an attribute has no value", tagPosition)
    }
    position += 1
    skipBlanks()
    try skipQuoted()
  }

  // MARK: - Skipping

  @discardableResult
  private mutating func skipBlanks() -> Bool {
    let start = position
    while position < utf8.count, isBlank(utf8[position]) { position += 1 }
    return position > start
  }

  private func starts(with prefix: StaticString) -> Bool {
    let count = prefix.utf8CodeUnitCount
    guard position + count <= utf8.count else { return false }
    for index in 0..<count where unsafe utf8[position + index] != prefix.utf8Start[index] { return false }
    return true
  }

  private mutating func skip(past end: StaticString, what: String) throws(ArchiveError) {
    let start = position
    // The end is searched for after the beginning: otherwise `<!-->` would be a whole comment.
    position += what == "a comment" ? 4 : 2
    while position < utf8.count {
      if starts(with: end) {
        position += end.utf8CodeUnitCount
        return
      }
      position += 1
    }
    throw text.error("\(what) is never closed", start)
  }

  private mutating func skipQuoted() throws(ArchiveError) {
    let start = position
    guard position < utf8.count, utf8[position] == UInt8(ascii: "\"") || utf8[position] == UInt8(ascii: "'")
    else { throw text.error("a value has no quotes", tagPosition) }
    let quote = utf8[position]
    position += 1
    while position < utf8.count, utf8[position] != quote { position += 1 }
    guard position < utf8.count else { throw text.error("a quotation is never closed", start) }
    position += 1
  }

  private mutating func skipDocumentType() throws(ArchiveError) {
    let start = position
    var isInSubset = false
    while position < utf8.count {
      switch utf8[position] {
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        try skipQuoted()
        continue
      case UInt8(ascii: "[") where !isInSubset: isInSubset = true
      case UInt8(ascii: "]") where isInSubset: isInSubset = false
      case UInt8(ascii: "<") where starts(with: "<!--"):
        try skip(past: "-->", what: "a comment")
        continue
      case UInt8(ascii: "<") where starts(with: "<?"):
        try skip(past: "?>", what: "a processing instruction")
        continue
      case UInt8(ascii: ">") where !isInSubset:
        position += 1
        return
      default: break
      }
      position += 1
    }
    throw text.error("the document type is never closed", start)
  }

  // MARK: - Text

  private mutating func appendEntity(to content: inout [UInt8]) throws(ArchiveError) {
    let start = position
    // The longest reference is a number with leading zeros; no writer makes a longer one than this.
    let nearby = utf8[(start + 1)...].prefix(32)
    guard let end = nearby.firstIndex(of: UInt8(ascii: ";")) else {
      throw text.error("`&` does not begin an entity; in text, write it as `&amp;`", start)
    }
    let name = String(decoding: utf8[start + 1..<end], as: UTF8.self)
    position = end + 1
    switch name {
    case "lt": content.append(UInt8(ascii: "<"))
    case "gt": content.append(UInt8(ascii: ">"))
    case "amp": content.append(UInt8(ascii: "&"))
    case "quot": content.append(UInt8(ascii: "\""))
    case "apos": content.append(UInt8(ascii: "'"))
    default:
      guard name.hasPrefix("#") else {
        throw text.error("&\(name); is not one of XML's own entities, and others are not expanded", start)
      }
      let isHexadecimal = name.hasPrefix("#x")
      let digits = name.dropFirst(isHexadecimal ? 2 : 1)
      guard digits.first != "+", digits.first != "-",
        let number = UInt32(digits, radix: isHexadecimal ? 16 : 10),
        number != 0, let scalar = Unicode.Scalar(number)
      else { throw text.error("&\(name); is not a character", start) }
      content += Array(String(Character(scalar)).utf8)
    }
  }
}

func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
