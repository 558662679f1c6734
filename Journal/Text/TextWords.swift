package import CBOR
import Words

/// The words of a record's texts, in order.
package struct TextWords {
  package private(set) var words: [[UInt8]] = []
  /// The position of each word. Between two texts a position is left out, so that no phrase goes across.
  package private(set) var positions: [Int] = []
  private var breaker = WordBreaker()

  package init() {}

  /// Appends the words of the texts at a path.
  package mutating func read(_ record: EntityRecord, at path: AttributePath) {
    unsafe record.forEachText(at: path) { unsafe read($0) }
  }

  /// Appends the words of a text in UTF-8.
  package mutating func read(_ text: UnsafeRawBufferPointer) {
    let start = positions.last.map { $0 + 2 } ?? 0
    unsafe breaker.forEachWord(of: text, from: start) { word, position, _, _ in
      words.append(word)
      positions.append(position)
    }
  }

  package mutating func removeAll() {
    words.removeAll(keepingCapacity: true)
    positions.removeAll(keepingCapacity: true)
  }
}
