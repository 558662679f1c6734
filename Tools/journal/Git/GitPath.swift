enum GitPath {
  /// Bytes of a file's name as text. An invalid byte of UTF-8 is written in hexadecimal: `\xff`.
  ///
  /// A backslash before `x` and two hexadecimal digits is written `\x5c`, so that different names stay so.
  static func text(_ bytes: some Collection<UInt8>) -> String {
    let bytes = Array(bytes)
    if let text = String(validating: bytes, as: UTF8.self) {
      return text.utf8.contains(backslash) ? escaped(bytes) : text
    }
    return escaped(bytes)
  }

  private static let backslash = UInt8(ascii: "\\")

  private static func escaped(_ bytes: [UInt8]) -> String {
    var text = ""
    var rest = bytes[...]
    while let byte = rest.first {
      // The shortest valid prefix is one scalar.
      let count = (1...4).first { String(validating: rest.prefix($0), as: UTF8.self) != nil }
      if let count, byte != backslash || !looksEscaped(rest) {
        text += String(decoding: rest.prefix(count), as: UTF8.self)
        rest.removeFirst(count)
      } else {
        text += escape(rest.removeFirst())
      }
    }
    return text
  }

  private static func escape(_ byte: UInt8) -> String {
    "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  private static func looksEscaped(_ bytes: ArraySlice<UInt8>) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let letters = UInt8(ascii: "a")...UInt8(ascii: "f")
    let next = bytes.dropFirst().prefix(3)
    return next.count == 3 && next.first == UInt8(ascii: "x")
      && next.dropFirst().allSatisfy { digits.contains($0) || letters.contains($0) }
  }

  /// `docs/api` of `docs/api/Journal.md`; nil at the top level.
  static func folder(of path: String) -> String? {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) }
  }

  /// `Journal.md` of `docs/api/Journal.md`.
  static func baseName(of path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
  }
}
