/// Reads the texts in which points, sizes, rectangles, insets and transforms are archived, such as `{{0, 0}, {1e+06,
/// 768}}`.
enum GeometryText {
  static let pair = "{n,n}"
  static let rectangle = "{{n,n},{n,n}}"
  static let insets = "{n,n,n,n}"
  static let transform = "[n,n,n,n,n,n]"

  /// The numbers of a text that has exactly the form of `template`, or nil. In a template, `n` stands for a number.
  /// White space is ignored.
  static func numbers(in text: String, template: String) -> [Double]? {
    var rest = Substring(text).utf8
    var numbers: [Double] = []
    for mark in template.utf8 {
      skipSpace(&rest)
      if mark == UInt8(ascii: "n") {
        let token = rest.prefix { !isEnd($0) }
        guard let number = Double(String(Substring(token))) else { return nil }
        numbers.append(number)
        rest = rest.dropFirst(token.count)
      } else {
        guard rest.first == mark else { return nil }
        rest = rest.dropFirst()
      }
    }
    skipSpace(&rest)
    return rest.isEmpty ? numbers : nil
  }

  private static func skipSpace(_ rest: inout Substring.UTF8View) {
    rest = rest.drop { isSpace($0) }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  private static func isEnd(_ byte: UInt8) -> Bool {
    isSpace(byte) || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
  }
}
