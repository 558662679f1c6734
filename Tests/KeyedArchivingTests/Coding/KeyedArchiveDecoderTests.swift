import Foundation
import KeyedArchiving
import Testing

@Suite struct KeyedArchiveDecoderTests {
  private struct Category: Decodable {
    var title: String
    var color: ArchivedValue?
  }

  private struct Place: Decodable {
    var name: String
    var note: String?
    var latitude: Float
    var visited: Bool
    var category: Category?
    var seen: Date?
    var link: URL?
    var id: UUID?
    var photo: Data?
    var tags: [String]?
    var ratings: [String: Int]?
  }

  private func placeArchive() throws -> KeyedArchive {
    try makeArchive(
      object(2, ["NS.objects": list(uid(3))]), classEntry("NSMutableArray", "NSArray"),
      object(
        4,
        [
          "locationName": uid(5), "note": uid(0), "latitude": real("0.1"), "visited": yes, "category": uid(6),
          "seen": uid(9), "link": uid(11), "id": uid(13), "photo": data([7]), "tags": uid(15),
          "ratings": uid(17),
        ]), classEntry("POI"), text("Pier 39"), object(7, ["categoryName": text("Food"), "color": uid(8)]),
      classEntry("Categories"), object(19, ["UIWhite": real("0.5")]), object(10, ["NS.time": real("100")]),
      classEntry("NSDate"), object(12, ["NS.base": uid(0), "NS.relative": text("https://example.com")]),
      classEntry("NSURL"), object(14, ["NS.uuidbytes": data([UInt8](repeating: 1, count: 16))]),
      classEntry("NSUUID"), object(16, ["NS.objects": list(text("a"), text("b"))]), classEntry("NSSet"),
      object(18, ["NS.keys": list(text("x"), int(5)), "NS.objects": list(int(1), int(2))]),
      classEntry("NSDictionary"), classEntry("UIColor"))
  }

  private var decoder: KeyedArchiveDecoder {
    var decoder = KeyedArchiveDecoder()
    decoder.name(Place.self, keys: ["name": ["placeName", "locationName"]])
    decoder.name(Category.self, keys: ["title": "categoryName"])
    return decoder
  }

  @Test func structsAreMadeOfTheArchivesOfOldClasses() throws {
    let places = try decoder.decode([Place].self, from: placeArchive())
    let place = try #require(places.first)
    #expect(places.count == 1)
    #expect(place.name == "Pier 39")
    #expect(place.note == nil)
    #expect(place.latitude == 0.1)
    #expect(place.visited)
    #expect(place.category?.title == "Food")
    #expect(try place.category?.color?.color?.components == [0.5])
    #expect(place.seen == Date(timeIntervalSinceReferenceDate: 100))
    #expect(place.link == URL(string: "https://example.com"))
    #expect(place.id?.uuidString == "01010101-0101-0101-0101-010101010101")
    #expect(place.photo == Data([7]))
    #expect(place.tags == ["a", "b"])
    #expect(place.ratings == ["x": 1, "5": 2])
  }

  @Test func theDecoderReadsWhatTheEncoderWrites() throws {
    struct Bug: Codable, Equatable {
      var title: String
      var rating: Float
      var found: Date
      var related: [Bug]
      var parts: Set<String>
    }
    let bug = Bug(
      title: "Potato Bug", rating: 4.2, found: Date(timeIntervalSinceReferenceDate: 5),
      related: [
        Bug(title: "Ü", rating: 0, found: Date(timeIntervalSinceReferenceDate: 0), related: [], parts: [])
      ],
      parts: ["a", "b"])
    let keys = ["title": "Title", "rating": "Rating"]
    var encoder = KeyedArchiveEncoder()
    encoder.name(Bug.self, ArchivedClass("ScaryBugData"), keys: keys)
    let archive = try KeyedArchive(ArchiveBytes(encoder.encode(bug, forKey: "Data")))
    var decoder = KeyedArchiveDecoder()
    decoder.name(Bug.self, keys: keys)
    #expect(try decoder.decode(Bug.self, from: archive) == bug)
  }

  private class Base: Decodable {
    let name: String
    private enum CodingKeys: String, CodingKey { case name }
    required init(from decoder: any Decoder) throws {
      name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
    }
  }

  private final class Derived: Base {
    let count: Int
    private enum CodingKeys: String, CodingKey { case count }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      count = try container.decode(Int.self, forKey: .count)
      try super.init(from: container.superDecoder())
    }
  }

  @Test func aSuperclassFindsItsFieldsInTheSameObject() throws {
    let archive = try makeArchive(
      object(2, ["name": text("x"), "count": int(3)]), classEntry("Derived", "Base"))
    let object = try KeyedArchiveDecoder().decode(Derived.self, from: archive)
    #expect(object.name == "x" && object.count == 3)
  }

  private struct Wrong: Decodable {
    var value: Int8
  }

  @Test func aNumberIsDecodedAsAnyTypeThatItFits() throws {
    func decoded<T: Decodable>(_ type: T.Type, _ number: ArchiveNode) throws -> T {
      try KeyedArchiveDecoder().decode(type, from: KeyedArchive(ArchiveBytes(number.archived())))
    }
    #expect(try decoded(UInt64.self, .number(1e19)) == 10_000_000_000_000_000_000)
    #expect(try decoded(UInt64.self, .number(UInt64.max)) == .max)
    #expect(try decoded(UInt8.self, .number(255.0)) == 255)
    #expect(try decoded(Float.self, .number(0.1)) == 0.1)
    #expect(try decoded(Float.self, .number(Double.infinity)) == .infinity)
    #expect(throws: DecodingError.self) { _ = try decoded(Float.self, .number(1e300)) }
    #expect(throws: DecodingError.self) { _ = try decoded(Int64.self, .number(1e19)) }
    #expect(throws: DecodingError.self) { _ = try decoded(Int64.self, .number(UInt64.max)) }
    #expect(throws: DecodingError.self) { _ = try decoded(UInt8.self, .number(Int64(-1))) }
    #expect(throws: DecodingError.self) { _ = try decoded(UInt64.self, .number(2e19)) }
    #expect(throws: DecodingError.self) { _ = try decoded(Int.self, .number(0.5)) }
  }

  @Test func errorsNameTheCodingPath() throws {
    func problem(_ field: String) throws -> String {
      let archive = try makeArchive(
        object(2, ["NS.objects": list(uid(3))]), classEntry("NSArray"), object(4, ["value": field]),
        classEntry("C"))
      do {
        _ = try KeyedArchiveDecoder().decode([Wrong].self, from: archive)
        return "none"
      } catch let error as DecodingError {
        switch error {
        case .typeMismatch(_, let context): return "mismatch \(context.codingPath.map(\.stringValue))"
        case .valueNotFound(_, let context): return "nil \(context.codingPath.map(\.stringValue))"
        case .dataCorrupted(let context):
          let code = (context.underlyingError as? ArchiveError)?.code.rawValue ?? "corrupted"
          return "\(code) \(context.codingPath.map(\.stringValue))"
        case .keyNotFound(let key, _): return "no key \(key.stringValue)"
        @unknown default: return "other"
        }
      }
    }
    #expect(try problem(text("x")) == #"mismatch ["0", "value"]"#)
    #expect(try problem(uid(0)) == #"nil ["0", "value"]"#)
    #expect(try problem(int(1000)) == #"corrupted ["0", "value"]"#)
    #expect(try problem(uid(99)) == #"danglingReference ["0", "value"]"#)
    #expect(try problem(int(100)) == "none")
  }

  private final class Node: Decodable {
    let next: Node?
  }

  @Test func valuesInsideThemselvesAreRefused() throws {
    let archive = try makeArchive(object(2, ["next": uid(1)]), classEntry("Node"))
    #expect(throws: DecodingError.self) { _ = try KeyedArchiveDecoder().decode(Node.self, from: archive) }
  }

  private struct Tree: Decodable {
    var children: [Tree]?
  }

  @Test func sharedObjectsBeyondTheLimitAreRefused() throws {
    var limits = ArchiveLimits()
    limits.valueCount = 10_000
    var entries = [classEntry("Tree")]
    for level in 0..<20 {
      let child = uid(level + 3)
      entries.append(object(1, ["children": list(child, child, child, child)]))
    }
    entries.append(object(1))
    let archive = try makeArchive(topText: key("root") + uid(2), limits: limits, entries)
    #expect(throws: DecodingError.self) { _ = try KeyedArchiveDecoder().decode(Tree.self, from: archive) }
  }

  @Test func aValueCanBeDecodedAsAnArchivedValue() throws {
    let archive = try makeArchive(object(2), classEntry("Anything"))
    let value = try KeyedArchiveDecoder().decode(ArchivedValue.self, from: archive)
    #expect(value.kind == "Anything")
    #expect(throws: DecodingError.self) {
      _ = try JSONDecoder().decode([ArchivedValue].self, from: Data("[1]".utf8))
    }
  }
}
