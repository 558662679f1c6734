import Testing

@testable import Words

@Suite struct WordBreakerTests {
  private func words(_ text: String) -> [String] {
    var words: [String] = []
    var copy = text
    var breaker = WordBreaker()
    copy.withUTF8 { text in
      unsafe breaker.forEachWord(of: UnsafeRawBufferPointer(text)) { word, position, _, _ in
        #expect(position == words.count)
        // The characters of a run have ends.
        words.append(String(decoding: word, as: UTF8.self).replacing(" ", with: ""))
      }
    }
    return words
  }

  @Test func neitherCaseNorAccentsNorWidthMakeAnotherWord() {
    #expect(words("The Soup, of-the DAY_2 (x86)!") == ["the", "soup", "of", "the", "day", "2", "x86"])
    #expect(words("Äpfel ÄPFEL äpfel A\u{308}pfel ａｐｆｅｌ") == Array(repeating: "apfel", count: 5))
    #expect(words("Straße STRASSE") == ["strasse", "strasse"])
    #expect(words("ΟΔΟΣ οδός") == ["οδοσ", "οδοσ"])
    #expect(words("İstanbul ISTANBUL") == ["istanbul", "istanbul"])
    #expect(words("Ёлка ёлка") == ["елка", "елка"])
    #expect(words("Việt") == ["viet"])
  }

  @Test func marksThatMakeAnotherLetterStayInAWord() {
    #expect(words("हिन्दी भाषा") == ["हिन्दी", "भाषा"])
    // Vowel points are accents.
    #expect(words("שָׁלוֹם") == words("שלום"))
    #expect(words("كِتَاب") == words("كتاب"))
  }

  @Test func runsOfIdeographsAreWordsOfTwoCharactersAndTheLastOne() {
    #expect(words("東京都tower") == ["東京", "京都", "都", "tower"])
    #expect(words("x東") == ["x", "東"])
    #expect(words("カタ ｶﾀ") == ["カタ", "タ", "カタ", "タ"])
    #expect(words("한국").count == 2)
    #expect(words("한국") == words("\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8}"))
    #expect(words("ガ") == words("ｶﾞ") && words("ガ") != words("カ"))
    // Vowels of Thai, Lao and Telugu, which Unicode lists with the accents by their class.
    for (first, other) in [("ปู", "ปุ"), ("ปู", "ป"), ("ກຸ", "ກູ"), ("క\u{0C55}", "క")] {
      #expect(words(first) != words(other), "\(first) \(other)")
    }
    // What Unicode 15 does not have is a letter on every system.
    #expect(words("a\u{1C89}b \u{323B0}").count == 2)
  }

  @Test func noCharacterOfARunBeginsAsAnotherOne() {
    func bytes(_ text: String) -> [UInt8] {
      var (copy, found, breaker) = (text, [UInt8](), WordBreaker())
      copy.withUTF8 { text in
        unsafe breaker.forEachWord(of: UnsafeRawBufferPointer(text)) { word, _, _, _ in found = word }
      }
      return found
    }
    for (first, other) in [("カ", "ガ"), ("하", "한"), ("か", "か\u{309A}"), ("ᄒ", "하")] {
      #expect(!bytes(other).starts(with: bytes(first)), "\(first) \(other)")
    }
  }

  @Test func aLongWordIsCutWhereALongerOneIs() {
    let long = String(repeating: "añb", count: 100)
    let (cut, longer) = (words(long), words(long + "andmore"))
    #expect(cut == longer && cut[0].utf8.count <= WordBreaker.longestByteCount)
    let ideograph = "東" + String(repeating: "\u{0B3E}", count: 200)
    #expect(words(ideograph + ideograph).allSatisfy { $0.utf8.count <= WordBreaker.longestByteCount })
  }

  @Test func placesAreThoseOfTheText() {
    var text = "Ein Äpfel, 東京!"
    var found: [String] = []
    var breaker = WordBreaker()
    text.withUTF8 { bytes in
      unsafe breaker.forEachWord(of: UnsafeRawBufferPointer(bytes)) { _, _, place, _ in
        found.append(unsafe String(decoding: bytes[place], as: UTF8.self))
      }
    }
    #expect(found == ["Ein", "Äpfel", "東京", "京"])
  }

  @Test func bytesThatAreNoTextEndAWord() {
    var found: [[UInt8]] = []
    var breaker = WordBreaker()
    unsafe [UInt8]([0x61, 0xFF, 0x62, 0xC3, 0x63, 0xE4, 0xB8]).withUnsafeBytes { bytes in
      unsafe breaker.forEachWord(of: bytes) { word, _, _, _ in found.append(word) }
    }
    #expect(found == [[0x61], [0x62], [0x63]])
  }
}
