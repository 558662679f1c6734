/// The grammar of RFC 8259, strictly. Reading a value and splitting an array begin with the same check.
extension JSONCursor {
  /// - Returns: where the text's value begins and, if the value is an array, the ranges of its elements.
  mutating func check(depthLimit: Int = .max) throws(JSONError) -> (start: Int, elements: [Range<Int>]) {
    if self[0] == 0xEF, self[1] == 0xBB, self[2] == 0xBF { position = 3 }
    skipWhitespace()
    let start = position
    let elements = try checkValue(depthLimit: depthLimit)
    skipWhitespace()
    guard isAtEnd else {
      throw error(
        .trailingText, at: position, "\(name(of: byte)) after the value; a text has only one value")
    }
    return (start, elements)
  }

  /// Checks the value at the position, and moves past it. Open containers are kept in an array, so that nesting
  /// can't exhaust the stack.
  /// - Returns: the ranges of the elements, if the value is an array; otherwise none.
  mutating func checkValue(depthLimit: Int = .max) throws(JSONError) -> [Range<Int>] {
    let isArray = byte == UInt8(ascii: "[")
    var elements: [Range<Int>] = []
    var elementStart = position
    var closings: [UInt8] = []
    while true {
      if closings.count == 1 { elementStart = position }
      switch byte {
      case UInt8(ascii: "\""): _ = try readString()
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try readNumber()
      case UInt8(ascii: "t"): try readLiteral("true")
      case UInt8(ascii: "f"): try readLiteral("false")
      case UInt8(ascii: "n"): try readLiteral("null")
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        guard closings.count < depthLimit else {
          throw error(.tooDeep, at: position, "more than \(depthLimit) nested arrays and objects")
        }
        let closing = byte + 2
        enter()
        if byte == closing {
          position += 1
          break
        }
        closings.append(closing)
        if closing == UInt8(ascii: "}") { _ = try readKey(orElse: "a key in quotation marks or '}'") }
        continue
      default: throw unexpected(expecting: "a value")
      }
      // Closing delimiters may follow, then a comma.
      while true {
        if isArray, closings.count == 1 { elements.append(elementStart..<position) }
        guard let closing = closings.last else { return elements }
        skipWhitespace()
        if byte == UInt8(ascii: ",") {
          enter()
          if closing == UInt8(ascii: "}") { _ = try readKey(orElse: "a key in quotation marks") }
          break
        }
        guard byte == closing else {
          throw unexpected(expecting: "',' or '\(Character(Unicode.Scalar(closing)))'")
        }
        position += 1
        closings.removeLast()
      }
    }
  }

  /// Moves past a delimiter and white space.
  mutating func enter() {
    position += 1
    skipWhitespace()
  }

  /// Reads a key and the colon after it.
  mutating func readKey(orElse expected: String) throws(JSONError) -> StringToken {
    guard byte == UInt8(ascii: "\"") else { throw unexpected(expecting: expected) }
    let token = try readString()
    skipWhitespace()
    guard byte == UInt8(ascii: ":") else { throw unexpected(expecting: "':'") }
    enter()
    return token
  }
}
