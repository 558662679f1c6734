import CatalogModel
import TestSupport
import Testing

@testable import journal

@Suite struct TextTests {
  @Test func printableTextHasNoControlCharacters() {
    #expect("plain é 漢字".printable == "plain é 漢字")
    #expect("a\u{1B}[31m\nb\tc\r\u{7F}".printable == "a\\u{1b}[31m\\nb\\tc\\r\\u{7f}")
    #expect("x\u{9B}y\u{202E}z\u{2067}".printable == "x\\u{9b}y\\u{202e}z\\u{2067}")
    #expect("a\r\nb".printable == "a\\r\\nb")
  }

  @Test func wideCharactersTakeTwoColumns() {
    #expect("abc".columns == 3)
    #expect("漢字".columns == 4)
    #expect("e\u{301}".columns == 1)
    #expect("👍🏽".columns == 2)
  }

  @Test func shorteningKeepsWholeCharacters() {
    #expect("héllo".shortened(to: 5) == "héllo")
    #expect("héllo!".shortened(to: 5) == "héll…")
  }

  /// `Int.max` ended in a trap.
  @Test func aTextCanBeShortenedToAnyLength() {
    #expect("héllo".shortened(to: .max) == "héllo")
    #expect("".shortened(to: 0) == "" && "h".shortened(to: 0) == "…" && "hé".shortened(to: 1) == "…")
  }

  @Test func asManyElementsAsCanBeAreInCommon() {
    var random = SeededGenerator()
    for _ in 0..<300 {
      let arrays = (0..<2).map { _ in
        (0..<Int.random(in: 0..<40, using: &random)).map { _ in Int.random(in: 0..<5, using: &random) }
      }
      let (old, new) = (arrays[0], arrays[1])
      let pairs = CommonElements.pairs(old, new)
      #expect(pairs.allSatisfy { old[$0.0] == new[$0.1] })
      #expect(zip(pairs, pairs.dropFirst()).allSatisfy { $0.0 < $1.0 && $0.1 < $1.1 })
      #expect(pairs.count == old.count - new.difference(from: old).removals.count)
    }
  }

  /// The difference of the standard library would take gigabytes.
  @Test func ofTooManyDifferencesOnlyTheEndsAreInCommon() {
    let old = Array(0..<40_000)
    let new = [0] + Array(100_000..<140_000) + [39_999]
    let pairs = CommonElements.pairs(old, new)
    #expect(pairs.map(\.0) == [0, 39_999] && pairs.map(\.1) == [0, 40_001])
  }

  @Test func numbersAreGrouped() {
    #expect([0, 999, 1000, -1_234_567].map(\.grouped) == ["0", "999", "1,000", "-1,234,567"])
    #expect(1.counted("entry", "entries") == "1 entry")
    #expect(2000.counted("event") == "2,000 events")
  }

  @Test func differentPathsThatAreNotUTF8HaveDifferentTexts() {
    #expect(GitPath.text(Array("a/é".utf8)) == "a/é")
    #expect(GitPath.text(Array("back\\slash\\x".utf8)) == "back\\slash\\x")
    #expect(GitPath.text([0x61, 0xE9, 0x2F, 0xC3]) == "a\\xe9/\\xc3")
    #expect(GitPath.text(Array("a\\xe9".utf8)) == "a\\x5cxe9")
    #expect(GitPath.text(Array("a\\x5cxe9".utf8)) == "a\\x5cx5cxe9")
    #expect(GitPath.text([0xFF] + Array("\\".utf8) + [0xFE]) == "\\xff\\\\xfe")
    #expect(GitPath.text([0xE2, 0x82, 0x41]) == "\\xe2\\x82A")
  }

  @Test func pathsHaveFoldersAndBaseNames() {
    #expect(GitPath.folder(of: "docs/api/a.md") == "docs/api")
    #expect(GitPath.folder(of: "a.md") == nil)
    #expect(GitPath.baseName(of: "docs/api/a.md") == "a.md")
    #expect(GitPath.baseName(of: "a.md") == "a.md")
  }

  @Test func folderNamesBecomeValidNamesOfACatalog() {
    #expect(EntityName.usable("docs") == "docs")
    #expect(EntityName.usable("  ") == "\\x20\\x20")
    let long = String(repeating: "é", count: 3000)
    #expect(EntityName.usable(long).utf8.count <= 4096)
    #expect(EntityName.usable(long + "a") != EntityName.usable(long + "b"))
  }

  @Test func mediaTypesComeFromTheExtensionOrElseFromTheBytes() {
    #expect(MediaType.of(name: "a.SVG", head: []) == "image/svg+xml")
    #expect(MediaType.of(name: "a", head: [0xFF, 0xD8, 0xFF, 0xE0]) == "image/jpeg")
    #expect(MediaType.of(name: "a.unknown", head: [0]) == "application/octet-stream")
  }

  @Test func templatesNameFilesByKeyAndFields() throws {
    let template = try ImageTemplate("data/{key.lowercased}-{region.uppercased}-{n}.svg")
    let attributes: [String: FieldValue] = ["region": .string("eu"), "n": .integer(4)]
    #expect(template.path(key: "DEU", attributes) == "data/deu-EU-4.svg")
    #expect(template.path(key: "DEU", [:]) == nil)
    #expect(template.mayName("data/x.svg"))
    #expect(!template.mayName("other/x.svg"))
    #expect(!template.mayName("data/x.png"))
    #expect(throws: Failure.self) { try ImageTemplate("data/{key.svg") }
    #expect(throws: Failure.self) { try ImageTemplate("data/}key{.svg") }
    #expect(throws: Failure.self) { try ImageTemplate("data/{}.svg") }
  }

  @Test func textsAreComparedByTheirBytes() {
    let (one, two) = (ExactText("\u{E9}"), ExactText("e\u{301}"))
    #expect(one != two)
    #expect(Set([one, two]).count == 2)
    #expect(one == ExactText("\u{E9}"))
  }
}
