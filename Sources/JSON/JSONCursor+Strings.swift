struct StringToken {
  /// The range between the quotation marks.
  let range: Range<Int>
  let hasEscapes: Bool
}

extension JSONCursor {
  @inline(__always) mutating func skipWhitespace() {
    // The common case: a compact text has hardly any white space.
    guard byte <= 0x20 else { return }
    while true {
      switch byte {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      default: return
      }
    }
  }

  mutating func readLiteral(_ literal: StaticString) throws(JSONError) {
    let text = literal.description
    for (index, expected) in text.utf8.enumerated() where self[position + index] != expected {
      position += index
      throw unexpected(expecting: "the rest of '\(text)'")
    }
    position += text.utf8.count
  }

  /// Reads a string. The opening quotation mark must be at the position.
  mutating func readString() throws(JSONError) -> StringToken {
    let opening = position
    position += 1
    var hasEscapes = false
    while true {
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return StringToken(range: opening + 1..<position - 1, hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        try skipEscape()
      case 0x80...: try skipMultibyteScalar()
      case 0x00..<0x20:
        guard !isAtEnd else {
          throw error(.unexpectedEnd, at: opening, "the string that starts here has no end")
        }
        throw error(
          .invalidString, at: position,
          "\(name(of: byte)) inside a string; it must be written as an escape, such as \\n")
      default:
        position += 1
      }
    }
  }

  private mutating func skipEscape() throws(JSONError) {
    let start = position
    switch self[start + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 2
    case UInt8(ascii: "u"):
      guard codeUnit(at: start + 2) != nil else {
        throw error(.invalidString, at: start, "\\u without four hexadecimal digits")
      }
      position += 6
    default:
      throw error(
        .invalidString, at: start,
        #"a backslash that does not start an escape; \" \\ \/ \b \f \n \r \t \u0000 are known"#)
    }
  }

  private func codeUnit(at offset: Int) -> UInt16? {
    var unit: UInt16 = 0
    for index in offset..<offset + 4 {
      let digit: UInt8
      switch self[index] {
      case let byte where byte &- UInt8(ascii: "0") < 10: digit = byte - UInt8(ascii: "0")
      case let byte where (byte | 0x20) &- UInt8(ascii: "a") < 6:
        digit = (byte | 0x20) - UInt8(ascii: "a") + 10
      default: return nil
      }
      unit = unit << 4 | UInt16(digit)
    }
    return unit
  }

  /// Skips one scalar of two to four bytes.
  private mutating func skipMultibyteScalar() throws(JSONError) {
    var bytes = (position..<position + 4).lazy.map { [self] in self[$0] }.makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    guard case .valid(let scalar) = parser.parseScalar(from: &bytes) else {
      throw error(
        .invalidUTF8, at: position, "bytes that are not UTF-8; JSON is read only as UTF-8")
    }
    position += scalar.count
  }

  /// The text of a token, and the offset of its first unpaired surrogate, which becomes U+FFFD; nil if there is none.
  func text(of token: StringToken) -> (text: String, half: Int?) {
    guard token.hasEscapes else { return (text(in: token.range), nil) }
    var half: Int?
    var result: [UInt8] = []
    result.reserveCapacity(token.range.count)
    var place = token.range.lowerBound
    var runStart = place
    while place < token.range.upperBound {
      guard self[place] == UInt8(ascii: "\\") else {
        place += 1
        continue
      }
      append(runStart..<place, to: &result)
      place = appendEscape(at: place, to: &result, &half)
      runStart = place
    }
    append(runStart..<place, to: &result)
    return (String(decoding: result, as: UTF8.self), half)
  }

  /// Appends the character of the escape at `place`, and returns the position after the escape.
  private func appendEscape(at place: Int, to result: inout [UInt8], _ half: inout Int?) -> Int {
    switch self[place + 1] {
    case UInt8(ascii: "b"): result.append(0x08)
    case UInt8(ascii: "f"): result.append(0x0C)
    case UInt8(ascii: "n"): result.append(0x0A)
    case UInt8(ascii: "r"): result.append(0x0D)
    case UInt8(ascii: "t"): result.append(0x09)
    case UInt8(ascii: "u"):
      let (scalar, end) = escapedScalar(at: place)
      if scalar == nil { half = half ?? place }
      result.append(contentsOf: UTF8.encode(scalar ?? "\u{FFFD}")!)
      return end
    case let byte: result.append(byte)
    }
    return place + 2
  }

  /// The scalar of a `\u` escape, or of two escapes that form a surrogate pair, and the position after them. The scalar
  /// is nil for an unpaired surrogate.
  private func escapedScalar(at place: Int) -> (scalar: Unicode.Scalar?, end: Int) {
    let unit = UInt32(codeUnit(at: place + 2) ?? 0)
    if 0xD800...0xDBFF ~= unit, self[place + 6] == UInt8(ascii: "\\"), self[place + 7] == UInt8(ascii: "u"),
      let low = codeUnit(at: place + 8), 0xDC00...0xDFFF ~= low,
      let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + UInt32(low) - 0xDC00)
    {
      return (scalar, place + 12)
    }
    return (Unicode.Scalar(unit), place + 6)
  }
}
