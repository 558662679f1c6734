import CBOR
import Foundation
import TestSupport
import Testing

@Suite struct RecordTests {
  @Test func fieldsAndAttributesAreFoundByName() {
    let record = EntityRecord(
      ["name": .string("Café"), "stars": .integer(4), "none": .null],
      fields: [0: .string("place"), 7: .integer(3)])
    #expect(record["name"] == .string("Café"))
    #expect(record["stars"] == .integer(4))
    #expect(record["none"] == .null)
    #expect(record["absent"] == nil)
    #expect(record["Name"] == nil)
    #expect(record[field: 0] == .string("place"))
    #expect(record[field: 7] == .integer(3))
    #expect(record[field: 1] == nil)
    #expect(record[field: 200] == nil)
    #expect(record.attributes == ["name": .string("Café"), "stars": .integer(4), "none": .null])
  }

  /// They printed the cases of the enumerations, and a record its bytes.
  @Test func valuesAndRecordsAreDescribedForAPerson() {
    #expect("\(FieldKey.attribute("title")) \(FieldKey.field(0))" == "title field 0")
    let values: [(FieldValue, String)] = [
      (.null, "null"), (.bool(true), "true"), (.integer(-4), "-4"), (.unsigned(.max), "\(UInt64.max)"),
      (.double(1), "1.0"), (.string("a \"b\"\n"), #""a \"b\"\n""#), (.data(Data([1, 2])), "<2 bytes>"),
      (.date(Date(timeIntervalSince1970: 1_785_578_400)), "2026-08-01T10:00:00.000000Z"),
      (.array([.integer(1), .null]), "[1, null]"), (.array([]), "[]"), (.dictionary([:]), "{}"),
      (.dictionary(["b": .integer(2), "a": .string("é")]), #"{"a": "é", "b": 2}"#),
    ]
    for (value, text) in values { #expect("\(value)" == text) }
    // Foundation's description of such a date ends the process.
    for seconds in [1e300, -.infinity, .nan] {
      #expect(!FieldValue.date(Date(timeIntervalSinceReferenceDate: seconds)).description.isEmpty)
    }
    let before = EntityRecord(["stars": .integer(4), "title": .string("Dun")], fields: [0: .string("book")])
    #expect("\(before)" == #"{field 0: "book", "stars": 4, "title": "Dun"}"#)
    #expect("\(EntityRecord())" == "{}")
    let changes = RecordChanges(set: ["title": .string("Dune")], remove: ["stars"])
    #expect("\(changes)" == #"{"stars": removed, "title": "Dune"}"#)
  }

  @Test func aDeepValueIsDescribedUpToALimit() {
    var value = FieldValue.null
    for _ in 0..<1_000 { value = .array([value]) }
    #expect(value.description.contains("[…]"))
  }

  @Test func equalContentsHaveEqualBytes() {
    let one = EntityRecord(["a": .integer(1), "b": .integer(2), "aa": .integer(3)])
    let other = EntityRecord(["aa": .integer(3), "b": .integer(2), "a": .integer(1)])
    #expect(one == other)
    #expect(one.changes(to: other) == nil)
    #expect(EntityRecord(["a": .integer(1)]) != EntityRecord(["a": .double(1)]))
    // Composed and decomposed are equal strings, and not the same record.
    #expect(EntityRecord(["name": .string("é")]) != EntityRecord(["name": .string("e\u{301}")]))
  }

  @Test func changesHoldOnlyWhatDiffers() {
    let before = EntityRecord(["a": .integer(1), "b": .integer(2), "c": .null], fields: [0: .string("x")])
    let after = EntityRecord(
      ["a": .integer(1), "b": .integer(3), "d": .bool(true)], fields: [0: .string("x"), 1: .integer(9)])
    let changes = before.changes(to: after)
    var found: [FieldKey: FieldValue] = [:]
    var removed: [FieldKey] = []
    changes?.visit { key, value in
      if let value { found[key] = value } else { removed.append(key) }
    }
    #expect(found == [.attribute("b"): .integer(3), .attribute("d"): .bool(true), .field(1): .integer(9)])
    #expect(removed == [.attribute("c")])
    #expect(
      changes
        == RecordChanges(
          set: ["b": .integer(3), "d": .bool(true)], remove: ["c"], setFields: [1: .integer(9)]))
    #expect(changes.map { before.applying($0) } == after)
  }

  @Test func changesThatFollowEachOtherAreOneChange() {
    var generator = SeededGenerator()
    func record() -> EntityRecord {
      var attributes: [String: FieldValue] = [:]
      for name in ["a", "b", "c", "d"] where Bool.random(using: &generator) {
        attributes[name] = .integer(Int64.random(in: 0...2, using: &generator))
      }
      return EntityRecord(attributes, fields: Bool.random(using: &generator) ? [1: .integer(1)] : [:])
    }
    for _ in 0..<300 {
      let records = (0..<4).map { _ in record() }
      let changes = zip(records, records.dropFirst()).map { $0.changes(to: $1) ?? RecordChanges() }
      let all = changes[0].followed(by: changes[1]).followed(by: changes[2])
      #expect(records[0].applying(all) == records[3], "seed \(generator.seed)")
      #expect(changes[0].followed(by: changes[1].followed(by: changes[2])) == all, "seed \(generator.seed)")
    }
  }

  @Test func applyingAChangeThatRemovesWhatIsNotThereChangesNothing() {
    let record = EntityRecord(["a": .integer(1)])
    #expect(record.applying(RecordChanges(remove: ["z"], removeFields: [3])) == record)
    #expect(record.applying(RecordChanges()) == record)
  }

  @Test func aNameIsRemovedWhileAnotherSpellingOfItIsSetOrRemoved() {
    let old = EntityRecord(["e\u{301}": .integer(1)])
    let new = EntityRecord(["\u{E9}": .integer(1)])
    #expect(old.applying(RecordChanges(set: ["\u{E9}": .integer(1)], remove: ["e\u{301}"])) == new)
    let both = old.applying(RecordChanges(set: ["\u{E9}": .integer(1)]))
    #expect(both.applying(RecordChanges(remove: ["\u{E9}", "e\u{301}"])) == EntityRecord())
    let set = RecordChanges(set: ["e\u{301}": .integer(2)], remove: ["e\u{301}"])
    #expect(old.applying(set) == EntityRecord(["e\u{301}": .integer(2)]))
  }

  @Test func theDifferenceOfTwoRecordsLeadsFromOneToTheOther() throws {
    var generator = SeededGenerator()
    func randomRecord() -> EntityRecord {
      var attributes: [String: FieldValue] = [:]
      for _ in 0..<Int.random(in: 0..<8, using: &generator) {
        let name = ["a", "b", "name", "É", "a rather long name of an attribute", "", "zz"].randomElement(
          using: &generator)!
        attributes[name] = FieldValue.random(using: &generator)
      }
      var fields: [UInt8: FieldValue] = [:]
      for _ in 0..<Int.random(in: 0..<4, using: &generator) {
        fields[UInt8.random(in: 0..<24, using: &generator)] = FieldValue.random(using: &generator)
      }
      return EntityRecord(attributes, fields: fields)
    }
    for _ in 0..<3000 {
      let (before, after) = (randomRecord(), randomRecord())
      let reached = before.changes(to: after).map { before.applying($0) } ?? before
      #expect(reached == after, "seed \(generator.seed)")
      #expect(try EntityRecord(checking: after.bytes) == after)
      if let changes = before.changes(to: after) {
        #expect(try RecordChanges(checking: changes.bytes) == changes)
      }
    }
  }

  @Test func aRecordIsKnownToBeValidExactlyIfTheCheckPasses() {
    func nested(_ depth: Int, _ value: FieldValue) -> FieldValue {
      (0..<depth).reduce(value) { inner, level in
        level % 2 == 0 ? .array([.null, inner]) : .dictionary(["inner": inner])
      }
    }
    var generator = SeededGenerator()
    var validCount = 0
    for _ in 0..<1000 {
      let numbers = (0..<Int.random(in: 0..<4, using: &generator)).map { _ in
        UInt8.random(in: 0..<26, using: &generator)
      }.sorted()
      var attributes: [String: FieldValue] = [:]
      for name in ["a", "b", "name", "É", "a rather long name of an attribute", "", "zz"]
      where Bool.random(using: &generator) {
        let depth = Bool.random(using: &generator) ? 0 : Int.random(in: 120..<130, using: &generator)
        attributes[name] = nested(depth, FieldValue.random(using: &generator))
      }
      var fields = FieldMapBuilder(count: numbers.count + attributes.count)
      for number in numbers { fields.add(number, FieldValue.random(using: &generator)) }
      fields.add(attributes)
      let isValid = fields.isValid
      let record = fields.record()
      #expect(((try? record.checkEncoding()) != nil) == isValid, "seed \(generator.seed)")
      if isValid { validCount += 1 }
    }
    #expect((100..<900).contains(validCount))
  }

  /// Names of one length that begin alike, and more fields than insertion sort is for.
  @Test(arguments: [6, 200]) func fieldsAreSortedByAllBytesOfTheirNames(_ count: Int) throws {
    let names = (0..<count).map { "createdAt\(1_000 + $0 * 7 % count)" }
    for seed in 0..<20 {
      var generator = SeededGenerator(seed: UInt64(seed))
      var fields = FieldMapBuilder(count: count)
      for name in names.shuffled(using: &generator) { fields.add([name: .string(name)]) }
      let record = fields.record()
      try record.checkEncoding()
      #expect(record == EntityRecord(Dictionary(uniqueKeysWithValues: names.map { ($0, .string($0)) })))
    }
  }

  @Test func fieldsThatAreAddedOutOfOrderAreSortedAndNotKnownToBeValid() throws {
    var fields = FieldMapBuilder(count: 3)
    fields.add(["a": .null])
    fields.add(5, .integer(1))
    fields.add(0, .integer(2))
    let isValid = fields.isValid
    #expect(!isValid)
    let record = fields.record()
    try record.checkEncoding()
    #expect(record == EntityRecord(["a": .null], fields: [0: .integer(2), 5: .integer(1)]))
  }

  @Test func aRecordThatHoldsUndefinedIsRefused() {
    let changes = RecordChanges(remove: ["a"])
    #expect(throws: CBORError.self) { try EntityRecord(checking: changes.bytes) }
  }

  @Test(
    arguments: [
      [0x00], [0xA1, 0x18, 0x18, 0x00], [0xA1, 0xF6, 0x00], [0xA2, 0x61, 0x61, 0, 0, 0], [0xA0, 0],
    ] as [[UInt8]])
  func bytesThatAreNoRecordAreRefused(_ bytes: [UInt8]) {
    #expect(throws: CBORError.self) { try EntityRecord(checking: bytes) }
  }
}
