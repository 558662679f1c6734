import Foundation
import TestSupport
import Testing

@testable import KeyedArchiving

/// What the encoder writes the decoder makes the same of, for Foundation's types too.
@Suite struct FoundationTypesTests {
  private enum Suit: String, Codable { case hearts, spades }

  private struct Things: Codable, Equatable {
    var price: Decimal
    var point: CGPoint
    var size: CGSize
    var rect: CGRect
    var path: IndexPath
    var selection: IndexSet
    var points: [CGPoint]
    var sizes: Set<CGFloat>
    var rects: [String: CGRect]
    var bySuit: [Suit: Int]
    var byNumber: [UInt8: String?]
    var byPoint: [IndexPath: CGSize]
    var prices: [Decimal]
    var nested: [Suit: [Suit: IndexSet]]
  }

  private func things(_ generator: inout SeededGenerator) -> Things {
    func number() -> Double { Double(Int64(truncatingIfNeeded: generator.next()) >> 20) / 1024 }
    func decimal() -> Decimal {
      let digits = Decimal(string: "\(generator.next())\(generator.next() >> 8)")!
      let scaled = Decimal(
        sign: generator.chance(1, in: 2) ? .minus : .plus,
        exponent: Int.random(in: -40...40, using: &generator),
        significand: digits)
      return generator.chance(1, in: 8) ? 0 : scaled
    }
    func path() -> IndexPath {
      IndexPath(
        indexes: (0..<Int.random(in: 0..<4, using: &generator)).map { _ in
          Int(truncatingIfNeeded: generator.next() >> UInt64.random(in: 1..<64, using: &generator))
        })
    }
    func indexes() -> IndexSet {
      var set = IndexSet()
      for _ in 0..<Int.random(in: 0..<4, using: &generator) {
        set.insert(
          integersIn: Range(start: Int(generator.next() >> 40), length: 1 + Int(generator.next() >> 54))!)
      }
      return set
    }
    func rect() -> CGRect { CGRect(x: number(), y: number(), width: abs(number()), height: abs(number())) }
    return Things(
      price: decimal(), point: CGPoint(x: number(), y: -0.5), size: CGSize(width: number(), height: 1e300),
      rect: generator.chance(1, in: 4) ? .null : rect(), path: path(), selection: indexes(),
      points: (0..<3).map { _ in CGPoint(x: number(), y: number()) }, sizes: [number(), number()],
      rects: ["a": rect(), "b": .zero], bySuit: [.hearts: 1, .spades: 2], byNumber: [1: "a", 255: nil],
      byPoint: [path(): CGSize(width: 1, height: 2)], prices: [decimal(), decimal(), 0.1],
      nested: [.hearts: [.spades: indexes()], .spades: [:]])
  }

  @Test(arguments: [false, true]) func whatWasEncodedIsDecoded(isNamed: Bool) throws {
    var generator = SeededGenerator()
    var encoder = KeyedArchiveEncoder()
    if isNamed { encoder.name(Things.self, ArchivedClass("OldThings")) }
    for _ in 0..<50 {
      let things = things(&generator)
      let archive = try KeyedArchive(ArchiveBytes(encoder.encode(things)))
      #expect(try KeyedArchiveDecoder().decode(Things.self, from: archive) == things)
      let top = try KeyedArchive(ArchiveBytes(encoder.encodeTop(things)))
      #expect(try KeyedArchiveDecoder().decodeTop(Things.self, of: top) == things)
    }
  }

  @Test func aDecimalThatIsNoNumberComesBack() throws {
    let archive = try KeyedArchive(ArchiveBytes(KeyedArchiveEncoder().encode([Decimal.nan])))
    #expect(try KeyedArchiveDecoder().decode([Decimal].self, from: archive)[0].isNaN)
  }

  @Test func theFieldsOfAStructCanBeTheTopOfAnArchive() throws {
    struct Document: Codable, Equatable {
      var title: String
      var pages: Int
      var tags: [String]
      var author: String?
    }
    let document = Document(title: "T", pages: 3, tags: ["a"], author: nil)
    var encoder = KeyedArchiveEncoder()
    encoder.name(Document.self, ArchivedClass("Document"), keys: ["title": "Title"])
    encoder.archiver = "DocumentArchiver"
    let archive = try KeyedArchive(ArchiveBytes(encoder.encodeTop(document)))
    #expect(archive.archiver == "DocumentArchiver")
    #expect(try archive.topKeys == ["Title", "pages", "tags", "author"])
    #expect(try archive.top("pages")?.integer == 3)
    #expect(try archive.reference(forTopKey: "pages") == nil)
    #expect(try archive.reference(forTopKey: "Title") == 1)
    #expect(try archive.reference(forTopKey: "author") == 0)
    var decoder = KeyedArchiveDecoder()
    decoder.name(Document.self, keys: ["title": "Title"])
    #expect(try decoder.decodeTop(Document.self, of: archive) == document)
    #expect(throws: EncodingError.self) { _ = try encoder.encodeTop([1, 2]) }
  }
}
