import Foundation
import TestSupport
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

private struct Shelf: Codable, Equatable {
  var name: String
  var owner: String?
  var count: Int?
  var books: [Book]
  var tags: Set<String>
  var byYear: [Int: Book]
  var byName: [String: [Double]]
  var holes: [Int?]
  var opened: Date
  var cover: Data
  var link: URL
  var id: UUID
  var nested: [[Bool]]
}

private struct Book: Codable, Equatable {
  var title: String
  var price: Float
  var pages: UInt64
  var sign: Int8
}

@Suite struct CodingRoundTripTests {
  private func word(_ generator: inout SeededGenerator) -> String {
    ["", "a", "é", "e\u{301}", "$null", "😀", "$class", "NS.keys"].randomElement(using: &generator)!
  }

  private func book(_ generator: inout SeededGenerator) -> Book {
    Book(
      title: word(&generator), price: Float(Int.random(in: -9...9, using: &generator)) / 7,
      pages: generator.next(), sign: Int8(truncatingIfNeeded: generator.next()))
  }

  private func shelf(_ generator: inout SeededGenerator) -> Shelf {
    let count = Int.random(in: 0..<20, using: &generator)
    return Shelf(
      name: word(&generator), owner: generator.chance(1, in: 2) ? word(&generator) : nil,
      count: generator.chance(1, in: 2) ? Int(truncatingIfNeeded: generator.next()) : nil,
      books: (0..<count).map { _ in book(&generator) }, tags: Set((0..<count).map { "tag \($0)" }),
      byYear: Dictionary(uniqueKeysWithValues: (0..<count).map { ($0 - 3, book(&generator)) }),
      byName: Dictionary(uniqueKeysWithValues: (0..<count).map { ("name \($0)", [Double($0) / 3]) }),
      holes: (0..<count).map { $0 % 3 == 0 ? nil : $0 },
      opened: Date(timeIntervalSinceReferenceDate: Double(generator.next() >> 30) / 7),
      cover: Data(generator.bytes(count)), link: URL(string: "https://example.org/\(count)?q=é")!, id: UUID(),
      nested: (0..<count).map { Array(repeating: $0 % 2 == 0, count: $0) })
  }

  @Test(arguments: [false, true]) func encodedValuesAreDecodedUnchanged(isNamed: Bool) throws {
    var generator = SeededGenerator()
    var encoder = KeyedArchiveEncoder()
    var decoder = KeyedArchiveDecoder()
    if isNamed {
      encoder.name(Shelf.self, ArchivedClass("OldShelf"), keys: ["name": "$shelfName"])
      encoder.name(Book.self, ArchivedClass("OldBook"), keys: ["title": "Title"])
      decoder.name(Shelf.self, keys: ["name": "$shelfName"])
      decoder.name(Book.self, keys: ["title": "Title"])
    }
    for _ in 0..<30 {
      let shelves = (0..<3).map { _ in shelf(&generator) }
      let archive = try KeyedArchive(ArchiveBytes([UInt8](encoder.encode(shelves))))
      let decoded = try decoder.decode([Shelf].self, from: archive)
      #expect(decoded == shelves)
    }
  }
}
