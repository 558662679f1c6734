import CBOR

struct GitCommit {
  let hash: String
  /// The author's name, or the address if the name is empty.
  let author: String
  let authored: GitDate
  let committed: GitDate
  /// The message without the line breaks at its end.
  let message: String
  let changes: [GitChange]
}

struct GitChange {
  let path: String
  /// The file before the commit; nil if the commit added it.
  let old: GitFile?
  /// The file after the commit; nil if the commit deleted it.
  let file: GitFile?
}

struct GitFile: Equatable {
  /// Six octal digits: `100644`, `100755`, `120000` for a symbolic link, `160000` for a submodule.
  let mode: String
  let hash: String

  init(mode: some Collection<UInt8>, hash: some Collection<UInt8>) {
    self.mode = String(decoding: mode, as: UTF8.self)
    self.hash = String(decoding: hash, as: UTF8.self)
  }

  /// Whether the repository has the content. That of a submodule is in another repository.
  var hasContent: Bool { mode != "160000" }
}

struct GitDate {
  private static let textLimit = 100

  /// The first 100 characters of the date in git: seconds since 1970 and a zone, or anything else.
  let text: String
  /// The date; nil if it is missing, no number, or outside of the years 1 to 9999, which a journal's dates have.
  let timestamp: Timestamp?

  init(_ text: String) {
    self.text = String(text.prefix(Self.textLimit))
    let seconds = text.split(separator: " ").first.flatMap { Int64($0) }
    let (microseconds, overflows) = (seconds ?? 0).multipliedReportingOverflow(by: 1_000_000)
    let stamp = Timestamp(microseconds: microseconds)
    timestamp = seconds != nil && !overflows && stamp.hasFourDigitYear ? stamp : nil
  }

  /// The date as text for metadata; nil if it is missing.
  var description: String? { timestamp?.description ?? (text.isEmpty ? nil : text) }
}

enum GitPath {
  /// The bytes of a file's path as text. A byte that is not valid UTF-8 is written in hexadecimal: `\xff`.
  ///
  /// A backslash before `x` and two hexadecimal digits is written `\x5c`, so that different paths stay different.
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

  static func escape(_ byte: UInt8) -> String {
    "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  private static func looksEscaped(_ bytes: ArraySlice<UInt8>) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let letters = UInt8(ascii: "a")...UInt8(ascii: "f")
    let next = bytes.dropFirst().prefix(3)
    return next.count == 3 && next.first == UInt8(ascii: "x")
      && next.dropFirst().allSatisfy { digits.contains($0) || letters.contains($0) }
  }

  /// The folder of a path, such as `docs/api` of `docs/api/Journal.md`; nil at the top level.
  static func folder(of path: String) -> String? {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) }
  }

  /// The last part of a path, such as `Journal.md` of `docs/api/Journal.md`.
  static func baseName(of path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
  }
}
