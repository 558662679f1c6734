import Words

extension String {
  /// Where the words of a pattern are in this text, in order and without overlaps, for a highlight.
  ///
  /// ```swift
  /// for range in recipe.title.ranges(matching: "tom* soup") { … }
  /// ```
  /// - Parameter pattern: the words, as `matching` of ``ItemQuery`` takes them. Each that is in the text is found.
  /// - Complexity: O(n) in the length of the text, for each word of the pattern.
  public func ranges(matching pattern: String) -> [Range<String.Index>] {
    var (copy, text, places) = (self, TextWords(), [Range<Int>]())
    copy.withUTF8 { bytes in
      unsafe text.read(UnsafeRawBufferPointer(bytes))
      var breaker = WordBreaker()
      unsafe breaker.forEachWord(of: UnsafeRawBufferPointer(bytes)) { _, _, place, _ in
        places.append(place)
      }
    }
    var found: [Range<Int>] = []
    for phrase in WordPattern(pattern).phrases {
      guard let word = phrase.words.last else { continue }
      for start in phrase.starts(in: text) {
        let last = start + word.offset
        var end = places[last].upperBound
        // A single ideograph begins a pair. The word after a pair begins with the pair's second character.
        if text.words[last] != word.bytes, last + 1 < places.count {
          end = Swift.min(end, places[last + 1].lowerBound)
        }
        found.append(places[start].lowerBound..<end)
      }
    }
    var ranges: [Range<Int>] = []
    for range in found.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let before = ranges.last, range.lowerBound < before.upperBound {
        ranges[ranges.count - 1] = before.lowerBound..<Swift.max(before.upperBound, range.upperBound)
      } else {
        ranges.append(range)
      }
    }
    return ranges.map { range in
      utf8.index(startIndex, offsetBy: range.lowerBound)..<utf8.index(startIndex, offsetBy: range.upperBound)
    }
  }
}
