import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import Examples
@testable import LegacyStores

/// Preferences with archives in them.
@Suite struct PersonsTests {
  private func preferences(_ persons: [UInt8], _ more: [String: Any] = [:]) throws -> Data {
    var preferences = more
    preferences["personsArray"] = Data(persons)
    return try PropertyListSerialization.data(fromPropertyList: preferences, format: .binary, options: 0)
  }

  @Test func theExamplesModelReadsAnImportedJournal() throws {
    try withTemporaryFolder { folder in
      let data = try preferences(
        Made.persons([("Al", "1"), ("Zoë", "2"), ("Al", "1")]), ["launchCount": 3, "seen": ["a", true]])
      let file = try folder.write("app.plist", data)
      let journal = try folder.journal()
      let report = try journal.importStore(.defaults(file))
      #expect(report.added == 3 && report.isComplete)
      try journal.close()
      let list = try PersonList(at: folder.url.appending(path: "J.journal"))
      #expect(try list.persons().values.map(\.name) == ["Al", "Zoë", "Al"])
      #expect(try list.persons().values.map(\.number) == ["1", "2", "1"])
    }
  }

  @Test func otherPreferencesWithLargeDataOrOddKeysAreNoObstacle() throws {
    try withTemporaryFolder { folder in
      // A record of the journal holds at most 16 MiB.
      let large = Data(repeating: 7, count: 20 << 20)
      let more: [String: Any] = [
        "$version": 3, "cache": ["big": large, "icon": Made.png],
        "$nested": ["$a": Data([1, 2]), "others": try Data(Made.persons([("Bo", "2")]))] as [String: Any],
      ]
      let file = try folder.write("app.plist", preferences(Made.persons([("Al", "1")]), more))
      let journal = try folder.journal()
      let report = try journal.importStore(.defaults(file))
      #expect(report.added == 2 && report.isComplete)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.defaults, to: out)
      let back = try #require(try Made.readValue(out.appending(path: "app.plist")) as? [String: Any])
      #expect(back["$version"] as? Int == 3)
      #expect(back["cache"] as? [String: Data] == ["big": large, "icon": Made.png])
      #expect((back["$nested"] as? [String: Any])?["$a"] as? Data == Data([1, 2]))
      // A further preference does not make the items of other keys new ones.
      let later = more.merging(["$a new one": 1]) { $1 }
      let changed = try folder.write("app.plist", preferences(Made.persons([("Al", "1")]), later))
      let again = try journal.importStore(.defaults(changed))
      #expect(again.added == 0 && again.deleted == 0 && again.unchanged == 2)
      #expect(try LegacyStore.defaults(file, key: "personsArray").items.map(\.label) == ["Al"])
    }
  }

  @Test func theOtherPreferencesAreExported() throws {
    try withTemporaryFolder { folder in
      let color = try ArchiveNode.nsColor(red: 1, green: 0, blue: 0).archived()
      let more: [String: Any] = [
        "launchCount": 3, "AppleLanguages": ["en-US", "de"], "window": ["color": Data(color), "width": 3.5],
        "first": Date(timeIntervalSinceReferenceDate: 10),
      ]
      let file = try folder.write("app.plist", preferences(Made.persons([("Al", "1")]), more))
      let journal = try folder.journal()
      try journal.importStore(.defaults(file))
      #expect(journal.state.things.map(\.kind) == ["person"])
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.defaults, to: out)
      let read = try Made.read(out.appending(path: "app.plist"))
      var back = try #require(read as? [String: Any])
      #expect(back.removeValue(forKey: "personsArray") is Data)
      #expect(back as NSDictionary == more as NSDictionary)
      #expect(try journal.importStore(.defaults(out.appending(path: "app.plist"))).revisions.isEmpty)
    }
  }

  @Test func archivesAreFoundWhereverTheyAre() throws {
    try withTemporaryFolder { folder in
      let people = try ["Ana", "Ben"].map { name in
        Data(
          try ArchiveNode(
            ArchivedClass("Person"), ["firstName": .string(name), "lastName": .string("X")]
          ).archived())
      }
      let deep: [String: Any] = ["list": [["persons": Data(try Made.persons([("Al", "1")]))]]]
      let file = try folder.write(
        "app.plist", Made.propertyList(["People": people, "deep": deep, "junk": Data("bplist00 junk".utf8)]))
      let journal = try folder.journal()
      let report = try journal.importStore(.defaults(file))
      #expect(report.added == 3)
      #expect(report.problems.map(\.place) == ["junk"])
      #expect(Set(journal.state.things.map(\.kind)) == ["Person", "person"])
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.defaults, to: out)
      let other = try folder.journal("Other.journal")
      try other.importStore(.defaults(out.appending(path: "app.plist")))
      #expect(other.state.contents.sorted() == journal.state.contents.sorted())
      let read = try Made.read(out.appending(path: "app.plist"))
      #expect(((read as? [String: Any])?["People"] as? [Data])?.count == 2)
    }
  }

  @Test func onlyTheGivenKeyIsReadAndAMissingOneIsAnError() throws {
    try withTemporaryFolder { folder in
      let file = try folder.write(
        "app.plist",
        preferences(Made.persons([("Al", "1")]), ["others": Data(try Made.persons([("Ben", "2")])), "n": 1]))
      #expect(try LegacyStore.defaults(file, key: "others").items.map(\.label) == ["Ben"])
      #expect(throws: LegacyError.self) { try LegacyStore.defaults(file, key: "persons") }
      #expect(throws: LegacyError.self) { try LegacyStore.defaults(file, key: "n") }
      let archive = try folder.write("archive", Made.persons([]))
      #expect(throws: LegacyError.self) { try LegacyStore.defaults(archive) }
      let list = try folder.write("list.plist", Made.propertyList(["a"]))
      #expect(throws: LegacyError.self) { try LegacyStore.defaults(list) }
    }
  }

  /// The export had the damaged or stale bytes of the list and none of its items, and counted these.
  @Test(arguments: ["damaged", "absent", "not selected"])
  func aListThatWasNotReadIsExportedFromTheJournal(_ reason: String) throws {
    try withTemporaryFolder { folder in
      let friends = try Data(Made.persons([("Bo", "2")]))
      let persons = try Made.persons([("Ana", "1")])
      let file = try folder.write("app.plist", preferences(persons, ["friends": friends, "count": 1]))
      let journal = try folder.journal()
      try journal.importStore(.defaults(file))
      var later: [String: Any] = ["count": 2]
      if reason == "damaged" { later["friends"] = Data(friends.dropLast(40)) }
      if reason == "not selected" { later["friends"] = friends }
      try folder.write("app.plist", preferences(persons, later))
      let report = try journal.importStore(
        .defaults(file, key: reason == "not selected" ? "personsArray" : nil))
      #expect(report.isComplete == (reason != "damaged") && report.deleted == 0)
      let bo = try #require(journal.state.things.first { $0["name"] == .string("Bo") })
      try journal.commit { try $0.updateItem(bo.id, set: ["number": "20"]) }
      let out = folder.url.appending(path: "out")
      let exported = try journal.exportStore(.defaults, to: out)
      #expect(exported.items == 2 && exported.isComplete == (reason != "damaged"))
      let back = try LegacyStore.defaults(out.appending(path: "app.plist"))
      #expect(back.items.map { $0.attributes["number"] } == [.string("20"), .string("1")])
      let values = try #require(Made.readValue(out.appending(path: "app.plist")) as? [String: Any])
      #expect(values["count"] as? Int == 2)
    }
  }

  /// The export said that it had written all items.
  @Test func itemsWhoseListIsInNoFileAreReported() throws {
    try withTemporaryFolder { folder in
      func write(_ value: Any) throws -> URL { try folder.write("list.plist", Made.propertyList(value)) }
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([write(["a": [["name": "x"]]])]))
      // The same name is now another list.
      try journal.importStore(.propertyLists([write([["name": "y"]])]))
      let report = try journal.exportStore(.plist, to: folder.url.appending(path: "out"))
      #expect(report.items == 1 && report.problems.map(\.place) == ["list.plist:a"] && !report.isComplete)
    }
  }

  @Test func anEmptyListIsAListToAddTo() throws {
    try withTemporaryFolder { folder in
      let file = try folder.write("app.plist", preferences(Made.persons([])))
      let journal = try folder.journal()
      try journal.importStore(.defaults(file, key: "personsArray"))
      try journal.commit {
        try $0.addItem(kind: "person", attributes: ["name": .string("New"), "number": .string("5")])
      }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.defaults, to: out)
      let store = try LegacyStore.defaults(out.appending(path: "app.plist"))
      #expect(store.items.map(\.className) == ["JSPerson"] && store.items[0].label == "New")
    }
  }

  /// Both lists had one name, so each place got the persons of both.
  @Test func archivesUnderKeysWithSeparatorsStaySeparate() throws {
    try withTemporaryFolder { folder in
      func archive(_ name: String) throws -> Data { Data(try Made.persons([(name, "1")])) }
      let preferences: [String: Any] = [
        "a.b": try archive("outer"), "a": ["b": try archive("inner")],
        "list": [try archive("x"), try archive("y")], "list[0]": try archive("z"),
      ]
      let file = try folder.write("app.plist", Made.propertyList(preferences))
      let journal = try folder.journal()
      try journal.importStore(.defaults(file))
      #expect(try journal.importStore(.defaults(file)).revisions.isEmpty)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.defaults, to: out)
      func names(_ data: Any?) throws -> [String?] {
        let bytes = try #require(data as? Data)
        return try (KeyedArchive(ArchiveBytes(bytes)).root?.array?.elements() ?? []).map { element in
          guard case .object(let person) = element else { return nil }
          return try person["name"]?.string
        }
      }
      let exported = try #require(Made.readValue(out.appending(path: "app.plist")) as? [String: Any])
      #expect(try names(exported["a.b"]) == ["outer"])
      #expect(try names((exported["a"] as? [String: Any])?["b"]) == ["inner"])
      let list = try #require(exported["list"] as? [Any])
      #expect(try list.map { try names($0) } == [["x"], ["y"]])
      #expect(try names(exported["list[0]"]) == ["z"])
    }
  }
}
