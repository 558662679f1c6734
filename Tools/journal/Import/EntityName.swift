import CatalogModel
import SHA256

enum EntityName {
  private static let byteLimit = 4096

  /// A name that follows the catalog's rules, for a category or an image. White space alone is written as its
  /// bytes, `\x20`. A name that is too long ends in a digest, so that long names stay distinct.
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
