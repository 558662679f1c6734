import CatalogModel
import SHA256

/// Names of folders and files as names of categories and images, which follow the catalog's rules.
enum EntityName {
  private static let byteLimit = 4096

  /// The text itself nearly always. White space alone is written as its bytes, `\x20`; what is too long ends
  /// in a digest, so that two long names stay two.
  static func usable(_ text: String) -> String {
    if text.allSatisfy(\.isWhitespace) {
      return text.utf8.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    guard text.utf8.count > byteLimit else { return text }
    let digest = SHA256Hash.digest(Array(text.utf8)).hex
    var head = ""
    for character in text where head.utf8.count + character.utf8.count <= byteLimit - 80 {
      head.append(character)
    }
    return "\(head)…\(digest)"
  }
}
