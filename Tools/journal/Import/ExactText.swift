/// A text that compares by its bytes.
///
/// Swift's `String` equates an "é" of one scalar with one of two; for git they are two names.
struct ExactText: Hashable, Comparable, Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ExactText, right: ExactText) -> Bool {
    left.text.utf8.count == right.text.utf8.count && left.text.utf8.elementsEqual(right.text.utf8)
  }

  static func < (left: ExactText, right: ExactText) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  // Texts that are equal byte by byte are equal as strings, so the string's hash fits.
  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
