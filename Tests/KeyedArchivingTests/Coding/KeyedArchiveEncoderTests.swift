import Foundation
import TestSupport
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

private struct Bug: Codable, Hashable {
  var title: String
  var rating: Float
}

private struct Record: Codable {
  var flag = true
  var integer = -5_000_000_000
  var real = 0.1
  var date = Date(timeIntervalSinceReferenceDate: 1_234.5)
  var data = Data([1, 2, 3])
  var url = URL(string: "https://example.org/a/b?c")!
  var uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!
  var tags = ["é😀", "$null"]
  var bug = Bug(title: "Potato Bug", rating: 4)
  var note: String?
  var special = "dollar"

  enum CodingKeys: String, CodingKey {
    case flag, integer, real, date, data, url, uuid, tags, bug, note
    case special = "$special"
  }
}

private final class Person: Encodable {
  var name: String
  var friend: Person?
  var group: Set<Pet> = []

  init(_ name: String) { self.name = name }
}

private struct Pet: Encodable, Hashable {
  var name: String
}

private class Base: Encodable {
  var kind = "base"
}

private final class Derived: Base {
  var extra = 3

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(extra, forKey: .extra)
    try super.encode(to: container.superEncoder())
  }

  enum Keys: CodingKey { case extra }
}

/// Encodes with everything that an encoder offers.
private struct Nesting: Encodable {
  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Keys.self)
    try fields.encodeNil(forKey: .a)
    var nested = fields.nestedContainer(keyedBy: Keys.self, forKey: .b)
    try nested.encode(UInt64.max, forKey: .a)
    var list = nested.nestedUnkeyedContainer(forKey: .b)
    try list.encodeNil()
    try list.encode(true)
    var inner = list.nestedContainer(keyedBy: Keys.self)
    try inner.encode(Int8(-1), forKey: .a)
    var innerList = list.nestedUnkeyedContainer()
    try innerList.encode(contentsOf: [1, 2])
    try fields.encode("first", forKey: .c)
    try fields.encode("last", forKey: .c)
  }

  enum Keys: CodingKey { case a, b, c }
}

private struct Nothing: Encodable {
  func encode(to encoder: any Encoder) {}
}

@Suite struct KeyedArchiveEncoderTests {
  private var encoder: KeyedArchiveEncoder {
    var encoder = KeyedArchiveEncoder()
    encoder.name(Bug.self, ArchivedClass("ScaryBugData"), keys: ["title": "Title", "rating": "Rating"])
    encoder.name(Record.self, ArchivedClass("Record"))
    return encoder
  }

  private func read(_ data: Data, forKey key: String = "root") throws -> NSObject? {
    try expectSound([UInt8](data))
    return try unarchived(
      [UInt8](data), forKey: key, classes: ["Record": RecordObject.self, "ScaryBugData": BugObject.self])
  }

  @Test func aStructIsReadAsAnObjectOfItsClass() throws {
    let data = try encoder.encode(Bug(title: "Potato Bug", rating: 4.1), forKey: "Data")
    let bug = try #require(read(data, forKey: "Data") as? BugObject)
    #expect(bug.title == "Potato Bug" && bug.rating == 4.1)
  }

  @Test func fieldsOfEveryKindAreRead() throws {
    let record = Record()
    let read = try #require(read(encoder.encode(record)) as? RecordObject)
    #expect(read.flag && read.integer == -5_000_000_000 && read.real == 0.1 && !read.hasNote)
    #expect(read.date?.timeIntervalSinceReferenceDate == 1_234.5)
    #expect(read.data == NSData(data: record.data))
    #expect(read.url?.absoluteString == record.url.absoluteString)
    #expect(read.uuid?.uuidString == record.uuid.uuidString)
    #expect(read.tags == record.tags)
    #expect(read.bug?.title == "Potato Bug" && read.bug?.rating == 4)
    #expect(read.special == "dollar")
  }

  private struct Absences: Encodable {
    enum Level: Int, Encodable { case low }
    var text: String?
    var bug: Bug?
    var number: Double?
    var flag: Bool?
    var level: Level?
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func absentObjectsAreNilAndAbsentNumbersAreLeftOut() throws {
    var encoder = KeyedArchiveEncoder()
    let dictionary = try read(encoder.encode(Absences())) as? NSDictionary
    #expect(dictionary == NSDictionary())
    encoder.name(Absences.self, ArchivedClass("Absences"))
    let text = try pythonTexts([[UInt8](encoder.encode(Absences()))])[0]
    for key in ["text", "bug"] { #expect(text.contains(pythonText(key) + "=u0")) }
    for key in ["number", "flag", "level"] { #expect(!text.contains(pythonText(key) + "=")) }
  }

  @Test func arraysHoldObjectsOfTheirClasses() throws {
    let bugs = (0..<300).map { Bug(title: "\($0)", rating: Float($0)) }
    let array = try #require(read(encoder.encode(bugs)) as? NSArray)
    #expect(array.compactMap { ($0 as? BugObject)?.title } == bugs.map(\.title))
  }

  @Test func typesWithoutAClassBecomeDictionaries() throws {
    let data = try KeyedArchiveEncoder().encode(["b": [Bug(title: "x", rating: 0.5)], "a": []])
    let dictionary = try #require(read(data) as? NSDictionary)
    let expected: NSDictionary = [
      "a": NSArray(),
      "b": NSArray(array: [
        NSDictionary(
          objects: [NSNumber(value: Float(0.5)), NSString(string: "x")],
          forKeys: [NSString(string: "rating"), NSString(string: "title")])
      ]),
    ]
    #expect(dictionary == expected)
  }

  @Test func collectionsTakeTheClassesTheyAreNamedFor() throws {
    var encoder = KeyedArchiveEncoder()
    encoder.name([Int].self, .mutableArray)
    encoder.name([String: [Int]].self, .mutableDictionary)
    encoder.name(Set<Int>.self, .mutableSet)
    #expect(try read(encoder.encode(["a": [1, 2]])) as? NSMutableDictionary == ["a": [1, 2]])
    #expect(try read(encoder.encode(Set([3]))) as? NSMutableSet == NSMutableSet(array: [3]))
  }

  @Test func setsAndDictionariesAreEncodedInOrder() throws {
    // Sets of different capacities hold the same elements in different orders.
    let names = (0..<200).map { "name \($0)" }
    func make(_ capacity: Int) throws -> [Data] {
      var strings = Set<String>(minimumCapacity: capacity)
      var sets = Set<Set<Int>>(minimumCapacity: capacity)
      var byBug = [Bug: Int](minimumCapacity: capacity)
      var byName = [String: Int](minimumCapacity: capacity)
      for (index, name) in names.enumerated() {
        strings.insert(name)
        sets.insert(Set(index..<(index + 5)))
        byBug[Bug(title: name, rating: 0)] = index
        byName[name] = index
      }
      return try [
        encoder.encode(strings), encoder.encode(sets), encoder.encode(byBug), encoder.encode(byName),
      ]
    }
    let small = try make(0)
    let large = try make(5_000)
    #expect(small == large)
    let strings = try read(small[0]) as? NSSet
    #expect(strings == NSSet(array: names.map { NSString(string: $0) }))
    let byName = try #require(read(small[3]) as? NSDictionary)
    #expect(byName.count == 200)
    for (index, name) in names.enumerated() { #expect((byName[name] as? NSNumber)?.intValue == index) }
  }

  @Test func aChainTooDeepForADecoderIsAnErrorAndDoesNotEndTheProcess() throws {
    func chain(_ count: Int) -> Person {
      var person = Person("last")
      for _ in 1..<count {
        let next = Person("a")
        next.friend = person
        person = next
      }
      return person
    }
    #expect(throws: Never.self) { try KeyedArchiveEncoder().encode(chain(100)) }
    let long = chain(2_000)
    #expect(throws: EncodingError.self) { try KeyedArchiveEncoder().encode(long) }
    // Releasing a chain recurses as well.
    var next: Person? = long
    while let person = next { (next, person.friend) = (person.friend, nil) }
  }

  @Test func theBytesAreTheSameInEveryProcess() throws {
    // The expected hash is frozen, because another process computed it.
    var encoder = encoder
    encoder.name(Set<Bug>.self, .mutableSet)
    let bugs: Set = [Bug(title: "a", rating: 1), Bug(title: "b", rating: 2), Bug(title: "c", rating: 3)]
    let data = try encoder.encode(["set": bugs, "empty": []])
    #expect(data.count == 576)
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in data { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    #expect(hash == 401_290_232_095_202_545)
  }

  @Test func anInstanceIsEncodedEachTimeAndMustNotContainItself() throws {
    let first = Person("a")
    let second = Person("b")
    (first.friend, first.group) = (second, [Pet(name: "x"), Pet(name: "y")])
    let persons = try #require(read(KeyedArchiveEncoder().encode([first, second, first])) as? NSArray)
    #expect(persons.count == 3 && persons[0] as? NSDictionary == persons[2] as? NSDictionary)
    #expect((persons[0] as? NSDictionary)?["friend"] as? NSDictionary == persons[1] as? NSDictionary)
    second.friend = first
    defer { second.friend = nil }
    #expect(throws: EncodingError.self) { try KeyedArchiveEncoder().encode(first) }
  }

  @Test func aSuperclassAddsItsFieldsToTheSameObject() throws {
    let dictionary = try read(KeyedArchiveEncoder().encode(Derived())) as? NSDictionary
    #expect(dictionary == ["extra": 3, "kind": "base"])
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func nestedContainersAreNested() throws {
    let data = try KeyedArchiveEncoder().encode(Nesting())
    try expectSound([UInt8](data))
    let text = try pythonTexts([[UInt8](data)])[0]
    #expect(text.contains(pythonText("last")) && !text.contains(pythonText("first")))
    #expect(text.contains("i18446744073709551615") && text.contains("i-1"))
    #expect(text.contains(pythonText("NSNull")))
  }

  @Test func singleValuesAtTheTopBecomeObjects() throws {
    #expect(try read(KeyedArchiveEncoder().encode(5)) == NSNumber(value: 5))
    #expect(try read(KeyedArchiveEncoder().encode("x")) == NSString(string: "x"))
    #expect(try read(KeyedArchiveEncoder().encode(Int?.none)) == nil)
    #expect(
      try read(KeyedArchiveEncoder().encode(Date(timeIntervalSinceReferenceDate: 1)))
        == NSDate(timeIntervalSinceReferenceDate: 1))
  }

  @Test func nilInACollectionIsNSNull() throws {
    #expect(try read(KeyedArchiveEncoder().encode([1, nil, 3])) == NSArray(array: [1, NSNull(), 3]))
    #expect(
      try read(KeyedArchiveEncoder().encode(["a": Int?.none])) == NSDictionary(dictionary: ["a": NSNull()]))
  }

  @Test func aValueThatEncodesNothingIsAnError() {
    #expect(throws: EncodingError.self) { try KeyedArchiveEncoder().encode(Nothing()) }
  }
}
