/// Splits texts into words, without regard to case, accents and width.
///
/// A word is a run of letters, numbers and marks. In scripts without spaces (Han, kana, Hangul), each character and the
/// next one make a word; the last one is a word by itself. So a text contains a run of these characters if it contains
/// all of their pairs, one after the other. Each of the characters is followed by ``characterEnd``, so that a search for
/// words that begin with か finds neither が nor か with another mark.
///
/// Used by one thread, for any number of texts.
package struct WordBreaker {
  /// The number of the rules by which texts are split and folded. Words of other rules can't be compared.
  package static let rules = 1
  /// What is after these bytes of a word, or of a character in a run, does not count.
  private static let byteLimit = 128
  /// No word has more bytes.
  package static let longestByteCount = 512
  private static let characterEnd = UInt8(ascii: " ")

  /// For each ASCII character, the character in a word; 0 for a separator.
  private static let ascii: [UInt8] = (0..<128).map { byte in
    switch UInt8(byte) {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt8(byte) | 0x20
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): UInt8(byte)
    default: 0
    }
  }

  /// The folded bytes of the word in progress. Of a run of ideographs: its last character.
  private var word: [UInt8] = []
  private var place = 0..<0
  /// The character before it in a run of ideographs.
  private var first: [UInt8] = []
  private var firstPlace = 0..<0
  private var isRun = false
  /// The position of the next word.
  private var position = 0

  package init() {}

  /// - Parameters:
  ///   - word: the folded word.
  ///   - position: its position among the words.
  ///   - place: its place among the bytes of the text.
  ///   - endsRun: whether it is the last character of a run.
  package typealias Body = (_ word: [UInt8], _ position: Int, _ place: Range<Int>, _ endsRun: Bool) -> Void

  /// Calls `body` with each word of a text in UTF-8. The first one gets the position `start`.
  package mutating func forEachWord(of text: UnsafeRawBufferPointer, from start: Int = 0, _ body: Body) {
    position = start
    var offset = 0
    while offset < text.count {
      let byte = unsafe text[offset]
      if byte < 0x80 {
        let folded = Self.ascii[Int(byte)]
        if folded == 0 || isRun { end(body) }
        if folded != 0 {
          extend(offset..<offset + 1)
          if word.count < Self.byteLimit { word.append(folded) }
        }
        offset += 1
      } else {
        let (scalar, count) = unsafe Self.scalar(text, at: offset)
        append(Folding.of(scalar), offset..<offset + count, body)
        offset += count
      }
    }
    end(body)
  }

  private mutating func append(_ folding: Folding, _ range: Range<Int>, _ body: Body) {
    switch folding.role {
    case .separator: end(body)
    case .ignored: if !word.isEmpty { extend(range) }
    case .mark: if !word.isEmpty { append(folding.bytes, range) }
    case .letter:
      if isRun { end(body) }
      append(folding.bytes, range)
    case .ideograph:
      if isRun { endCharacter(body) } else { end(body) }
      isRun = true
      append(folding.bytes, range)
    }
  }

  private mutating func append(_ bytes: [UInt8], _ range: Range<Int>) {
    extend(range)
    if word.count < Self.byteLimit { word += bytes }
  }

  private mutating func extend(_ range: Range<Int>) {
    place = word.isEmpty ? range : place.lowerBound..<range.upperBound
  }

  /// Passes the pair of the last two characters of a run, if there are two.
  private mutating func endCharacter(_ body: Body) {
    word.append(Self.characterEnd)
    if !first.isEmpty {
      body(first + word, position, firstPlace.lowerBound..<place.upperBound, false)
      position += 1
    }
    (first, firstPlace, word) = (word, place, [])
  }

  private mutating func end(_ body: Body) {
    if word.isEmpty { return }
    if isRun { endCharacter(body) }
    body(isRun ? first : word, position, isRun ? firstPlace : place, isRun)
    position += 1
    word.removeAll(keepingCapacity: true)
    first.removeAll(keepingCapacity: true)
    isRun = false
  }

  /// The scalar at an offset, and its bytes. A faulty byte counts as a separator.
  private static func scalar(
    _ text: UnsafeRawBufferPointer, at offset: Int
  ) -> (Unicode.Scalar, count: Int) {
    let lead = unsafe text[offset]
    let count = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1
    guard count > 1, offset + count <= text.count else { return (" ", 1) }
    var value = UInt32(lead) & (0x7F >> UInt32(count))
    for place in offset + 1..<offset + count {
      guard unsafe text[place] & 0xC0 == 0x80 else { return (" ", 1) }
      value = unsafe value << 6 | UInt32(text[place] & 0x3F)
    }
    guard let scalar = Unicode.Scalar(value) else { return (" ", 1) }
    return (scalar, count)
  }
}
