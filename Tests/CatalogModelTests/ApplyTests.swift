import CBOR
import CatalogModel
import Foundation
import Journaling
import Testing

/// Which events a replay accepts from a log, and which it refuses.
struct ApplyTests {
  private let item = EntityRecord(fields: [0: .string("book")])

  /// item:1 is added at revision 1 and changed at 2, item:2 is added at 1 and deleted at 3, item:3 is added at 2.
  private func sample() throws -> Catalog {
    var catalog = Catalog()
    try catalog.apply(JournalEvent(entity: .item(1), previous: 0, change: .add(item)), at: 1)
    try catalog.apply(JournalEvent(entity: .item(2), previous: 0, change: .add(item)), at: 1)
    let changes = RecordChanges(set: ["a": .integer(1)])
    try catalog.apply(JournalEvent(entity: .item(1), previous: 1, change: .update(changes)), at: 2)
    try catalog.apply(JournalEvent(entity: .item(3), previous: 0, change: .add(item)), at: 2)
    try catalog.apply(JournalEvent(entity: .item(2), previous: 1, change: .delete), at: 3)
    return catalog
  }

  /// Checks that an event is refused as damage at its revision, and that it changes nothing.
  private func refuse(
    _ entity: EntityKey, _ previous: Revision, _ change: JournalEvent.Change, _ words: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var catalog = try sample()
    let before = catalog.json
    let error = #expect(throws: JournalError.self, sourceLocation: sourceLocation) {
      try catalog.apply(JournalEvent(entity: entity, previous: previous, change: change), at: 4)
    }
    #expect(error?.code == .damaged, sourceLocation: sourceLocation)
    #expect(error?.revision == 4, sourceLocation: sourceLocation)
    #expect(error?.message.contains(words) == true, sourceLocation: sourceLocation)
    #expect(catalog.json == before, sourceLocation: sourceLocation)
    #expect(catalog.problems() == [], sourceLocation: sourceLocation)
  }

  @Test func anEventMustFollowFromTheState() throws {
    try refuse(.item(1), 2, .add(item), "item:1 can't be added: it exists")
    try refuse(.item(0), 0, .add(item), "item:0 can't be added: numbers go from 1")
    try refuse(.item(-5), 0, .add(item), "item:-5 can't be added: numbers go from 1")
    try refuse(.item(4), 1, .add(item), "item:4 follows its revision 1, but the newest one is 0")
    try refuse(.item(2), 0, .add(item), "item:2 follows its revision 0, but the newest one is 3")
    try refuse(.item(2), 3, .delete, "item:2 can't be changed or deleted: it does not exist")
    try refuse(.item(9), 0, .update(RecordChanges()), "item:9 can't be changed or deleted")
    try refuse(.item(1), 1, .delete, "item:1 follows its revision 1, but the newest one is 2")
    try refuse(.item(1), 0, .update(RecordChanges()), "item:1 follows its revision 0")
    try refuse(.category(1), 0, .delete, "category:1 can't be changed")
    try refuse(.image(1), 0, .delete, "image:1 can't be changed")
    let unknown = EntityKey(kind: EntityKind(rawValue: 5), number: 1)
    try refuse(unknown, 0, .add(item), "kind5:1, but a catalog has no such kind")
  }

  @Test func anUnusedNumberBelowTheHighestIsReportedAsDeleted() throws {
    var catalog = try sample()
    try catalog.apply(JournalEvent(entity: .item(6), previous: 0, change: .add(item)), at: 4)
    #expect(throws: JournalError.self) {
      try catalog.apply(JournalEvent(entity: .item(5), previous: 0, change: .add(item)), at: 4)
    }
    #expect(catalog.itemCount == 3)
  }

  @Test func aDeletedEntityComesBackUnderItsNumber() throws {
    var catalog = try sample()
    #expect(catalog.revision(of: .item(2)) == 3)
    try catalog.apply(JournalEvent(entity: .item(2), previous: 3, change: .add(item)), at: 9)
    #expect(catalog.item(2)?.created == 9)
    #expect(catalog.revision(of: .item(2)) == 9)
    #expect(catalog.items.map(\.id) == [1, 2, 3])
    #expect(catalog.problems() == [])
  }

  @Test func recordsMustHoldTheFieldsOfTheirKind() throws {
    let words = "lacks a field or has one of another type"
    for fields: [UInt8: FieldValue] in [
      [:], [1: .integer(1)], [0: .integer(1)], [0: .string("a"), 1: .string("b")],
      [0: .string("a"), 1: .integer(0)], [0: .string("a"), 1: .integer(-1)], [0: .string("a"), 1: .null],
    ] {
      try refuse(.item(4), 0, .add(EntityRecord(["a": .null], fields: fields)), words)
    }
    for fields: [UInt8: FieldValue] in [
      [:], [0: .data(Data("a".utf8))], [0: .string("a"), 1: .string("#FFFFFFFF")],
      [0: .string("a"), 1: .array([.double(1), .double(1), .double(1)])],
      [0: .string("a"), 1: .array([.double(1), .double(1), .double(1), .integer(1)])],
    ] {
      try refuse(.category(1), 0, .add(EntityRecord(fields: fields)), words)
    }
    let image: [UInt8: FieldValue] = [
      0: .integer(1), 1: .string("a"), 2: .string("b"), 3: .data(Data(count: 32)), 4: .integer(5),
    ]
    var catalog = try sample()
    try catalog.apply(
      JournalEvent(entity: .image(1), previous: 0, change: .add(EntityRecord(fields: image))), at: 4)
    for number in UInt8(0)...4 {
      var fields = image
      fields[number] = nil
      try refuse(.image(1), 0, .add(EntityRecord(fields: fields)), words)
      fields[number] = .bool(true)
      try refuse(.image(1), 0, .add(EntityRecord(fields: fields)), words)
    }
    var fields = image
    fields[3] = .data(Data(count: 31))
    try refuse(.image(1), 0, .add(EntityRecord(fields: fields)), words)
  }

  @Test func anUpdateMustLeaveARecordOfItsKind() throws {
    let words = "item:1 lacks a field or has one of another type"
    try refuse(.item(1), 2, .update(RecordChanges(removeFields: [0])), words)
    try refuse(.item(1), 2, .update(RecordChanges(setFields: [1: .null])), words)
    // With so many changes, the head before the field has two bytes.
    let many = Dictionary(uniqueKeysWithValues: (0..<30).map { ("name\($0)", FieldValue.null) })
    try refuse(.item(1), 2, .update(RecordChanges(set: many, removeFields: [0])), words)
  }

  @Test func unknownFieldsAreKept() throws {
    var catalog = Catalog()
    let record = EntityRecord(["a": .integer(1)], fields: [0: .string("book"), 7: .string("later")])
    try catalog.apply(JournalEvent(entity: .item(1), previous: 0, change: .add(record)), at: 1)
    #expect(catalog.item(1)?.attributes == ["a": .integer(1)])
    var draft = CatalogHistory()
    try draft.commit { try $0.add(.item(1), record) }
    try draft.commit { try $0.replaceAttributes(ofItem: 1, with: ["b": .null]) }
    #expect(
      draft.state.item(1)?.record
        == EntityRecord(["b": .null], fields: [0: .string("book"), 7: .string("later")]))
  }

  @Test func problemsNameMissingObjects() throws {
    var catalog = Catalog()
    let inCategory = EntityRecord(fields: [0: .string("book"), 1: .integer(5)])
    try catalog.apply(JournalEvent(entity: .item(1), previous: 0, change: .add(inCategory)), at: 1)
    let image: [UInt8: FieldValue] = [
      0: .integer(8), 1: .string("a"), 2: .string("b"), 3: .data(Data(count: 32)), 4: .integer(5),
    ]
    try catalog.apply(
      JournalEvent(entity: .image(1), previous: 0, change: .add(EntityRecord(fields: image))), at: 1)
    #expect(
      catalog.problems() == [
        "item:1 is in category:5, which does not exist", "image:1 belongs to item:8, which does not exist",
      ])
  }
}
