/// Detects formats of text by their first characters.
struct TextFormatSniffer {
  /// The first characters after the byte order mark, with `?` for each character that is not ASCII.
  private let text: [UInt8]

  /// - Parameter start: the first bytes of the data.
  init(_ start: [UInt8]) {
    let units: [UInt32] = (TextEncoding.marked(start) ?? TextEncoding(form: .utf8)).units(of: start)
    text = units.map { $0 < 0x80 ? UInt8($0) : UInt8(ascii: "?") }
  }

  var format: DataFormat {
    let start = skipBlanks(0)
    guard start < text.count else { return .unknown }
    switch text[start] {
    case UInt8(ascii: "<"):
      // OpenStep writes data as <0fbd77 1c2735ae>. GNUstep also writes <[D713]>, and numbers as <*I5>.
      guard start + 1 < text.count else { return .xmlPropertyList }
      if text[start + 1] == UInt8(ascii: "*") || text[start + 1] == UInt8(ascii: "[") {
        return .openStepPropertyList
      }
      return isHexadecimal(text[start + 1]) && closesAsData(start + 1)
        ? .openStepPropertyList : .xmlPropertyList
    case UInt8(ascii: "["): return .json
    case UInt8(ascii: "("): return .openStepPropertyList
    case UInt8(ascii: "{"): return dictionary(after: start + 1)
    case UInt8(ascii: "/"), UInt8(ascii: "\""), UInt8(ascii: "'"):
      // A string or a comment. With an assignment, it is a .strings file.
      return text.contains(UInt8(ascii: "=")) ? .openStepPropertyList : .unknown
    default: return .unknown
    }
  }

  /// `{` begins a dictionary in JSON and OpenStep. JSON continues with a string and a colon.
  private func dictionary(after start: Int) -> DataFormat {
    var position = skipBlanks(start)
    guard position < text.count else { return .unknown }
    if text[position] == UInt8(ascii: "}") { return .json }
    guard text[position] == UInt8(ascii: "\"") else { return .openStepPropertyList }
    position += 1
    while position < text.count, text[position] != UInt8(ascii: "\"") {
      position += text[position] == UInt8(ascii: "\\") ? 2 : 1
    }
    position = skipBlanks(position + 1)
    return position < text.count && text[position] == UInt8(ascii: ":") ? .json : .openStepPropertyList
  }

  private func closesAsData(_ start: Int) -> Bool {
    for byte in text[start...] where !isHexadecimal(byte) && byte > 0x20 {
      return byte == UInt8(ascii: ">")
    }
    return false
  }

  private func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  private func skipBlanks(_ start: Int) -> Int {
    var position = start
    while position < text.count, text[position] <= 0x20 { position += 1 }
    return position
  }
}
