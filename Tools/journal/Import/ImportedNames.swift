import CatalogModel
import SHA256

/// The identity of an item in its source: a text, or a number by its value. `1` equals `1.0`, not `"1"`.
struct ItemKey: Hashable, Comparable, Sendable {
  private let exact: ExactText
  private let isNumber: Bool

  /// Makes the key of a value; nil if the value is neither a text nor a number.
  init?(_ value: FieldValue?) {
    guard let text = value?.keyText else { return nil }
    switch value {
    case .string: isNumber = false
    default: isNumber = true
    }
    var number: String?
    if case .double(let double) = value {
      number = Int64(exactly: double).map { String($0) } ?? UInt64(exactly: double).map { String($0) }
    }
    exact = ExactText(number ?? text)
  }

  init(path: String) {
    exact = ExactText(path)
    isNumber = false
  }

  var text: String { exact.text }

  static func < (left: ItemKey, right: ItemKey) -> Bool {
    left.exact == right.exact ? left.isNumber && !right.isNumber : left.exact < right.exact
  }
}

/// A text that compares by its bytes.
///
/// Swift's `String` equates an "é" of one scalar with an "é" of two scalars, which are different names for git.
struct ExactText: Hashable, Comparable, Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ExactText, right: ExactText) -> Bool {
    left.text.utf8.count == right.text.utf8.count && left.text.utf8.elementsEqual(right.text.utf8)
  }

  static func < (left: ExactText, right: ExactText) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  // Texts that are equal byte by byte are equal as strings, so they have the same hash.
  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

enum EntityName {
  private static let byteLimit = 4096

  /// Turns a text into a name that the catalog's rules allow for a category or an image. White space alone is written
  /// as its bytes, `\x20`. A text that is too long is cut and ends in a digest, so that long names stay distinct.
  static func usable(_ text: String) -> String {
    if text.allSatisfy(\.isWhitespace) {
      return text.utf8.map(GitPath.escape).joined()
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
