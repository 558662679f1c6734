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

  /// Appends what an index lists of a record: words, or values as words.
  mutating func read(_ record: EntityRecord, for definition: IndexDefinition) {
    if definition.content == .words { return read(record, at: definition.path) }
    record.forEachKey(at: definition.path) { words.append($0.word) }
  }

  package mutating func removeAll() {
    words.removeAll(keepingCapacity: true)
    positions.removeAll(keepingCapacity: true)
  }
}

extension IndexDefinition.Content {
  /// The number of the rules by which an index with words has made them.
  var rules: Int { self == .words ? WordBreaker.rules : 0 }

  init?(rules: Int) {
    switch rules {
    case 0: self = .pastValues
    case WordBreaker.rules: self = .words
    default: return nil
    }
  }
}

extension ValueKey {
  /// This key as a word. Words are in the order of their keys, but long keys that begin alike are the same word.
  var word: [UInt8] {
    let (head, tail) = parts
    var word: [UInt8] = []
    word.append(bigEndian: head)
    return word + (tail ?? []).prefix(WordBreaker.longestByteCount - word.count)
  }
}
