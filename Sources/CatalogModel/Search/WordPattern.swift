import CBOR
import Words

/// What a person types to search for words: `tom* "of the day"`.
///
/// What is between spaces, or between quotation marks, is a phrase: its words must follow each other. A `*` at the end
/// makes its last word a prefix.
package struct WordPattern: Sendable, Hashable {
  struct Phrase: Sendable, Hashable {
    struct Word: Sendable, Hashable {
      let bytes: [UInt8]
      /// The position after that of the first word.
      let offset: Int
      let isPrefix: Bool
    }

    let words: [Word]

    /// The words, without their order.
    var sought: [SoughtWord] { words.map { ($0.bytes, $0.isPrefix) } }
  }

  let phrases: [Phrase]

  package init(_ text: String) {
    var phrases: [Phrase] = []
    // Every second part is between quotation marks.
    for (index, part) in text.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
      if index % 2 == 1 {
        phrases.append(Phrase(part))
      } else {
        phrases += part.split(whereSeparator: \.isWhitespace).map { Phrase($0) }
      }
    }
    self.phrases = phrases.filter { !$0.words.isEmpty }
  }

  /// Whether this pattern has no word, and therefore finds everything.
  package var isEmpty: Bool { phrases.isEmpty }

  /// Whether the texts in a record have all words and phrases. Each may be in another text.
  package func matches(textsOf record: EntityRecord) -> Bool {
    var text = TextWords()
    record.visit { _, value in text.read(value) }
    return phrases.allSatisfy { !$0.starts(in: text).isEmpty }
  }
}

extension TextWords {
  /// Appends the words of the texts in a value. Keys are not read.
  fileprivate mutating func read(_ value: FieldValue) {
    switch value {
    case .string(var text): text.withUTF8 { unsafe read(UnsafeRawBufferPointer($0)) }
    case .array(let elements): for element in elements { read(element) }
    case .dictionary(let members): for member in members.values { read(member) }
    default: break
    }
  }
}

extension WordPattern.Phrase {
  fileprivate init(_ text: Substring) {
    let isPrefix = text.last == "*"
    var words: [(bytes: [UInt8], position: Int, isPrefix: Bool)] = []
    var breaker = WordBreaker()
    var copy = String(text)
    var end = 0
    copy.withUTF8 { text in
      unsafe breaker.forEachWord(of: UnsafeRawBufferPointer(text)) { word, position, place, endsRun in
        // The pair before has the last character of a run. A run of one character can begin a pair.
        if !endsRun || place.lowerBound >= end { words.append((word, position, endsRun)) }
        end = place.upperBound
      }
    }
    let start = words.first?.position ?? 0
    self.words = words.indices.map { index in
      let word = words[index]
      let isLast = index == words.count - 1
      return Word(
        bytes: word.bytes, offset: word.position - start, isPrefix: word.isPrefix || isLast && isPrefix)
    }
  }
}

extension WordPattern.Phrase {
  /// The words of a text at which the phrase begins.
  func starts(in text: TextWords) -> [Int] {
    text.words.indices.filter { start in
      words.allSatisfy { word in
        let place = start + word.offset
        guard place < text.words.count, text.positions[place] == text.positions[start] + word.offset else {
          return false
        }
        return word.isPrefix ? text.words[place].starts(with: word.bytes) : text.words[place] == word.bytes
      }
    }
  }
}
