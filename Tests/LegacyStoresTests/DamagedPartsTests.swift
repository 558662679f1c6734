import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// Archives with parts that can't be read, or that were made to take much time or memory.
@Suite struct DamagedPartsTests {
  private func uid(_ number: Int) -> String { "<dict><key>CF$UID</key><integer>\(number)</integer></dict>" }

  /// An archive in XML with these entries after `$null`. Two more entries describe the classes NSArray and Person.
  private func archive(top: String? = nil, _ entries: [String]) -> [UInt8] {
    func described(_ name: String) -> String {
      "<dict><key>$classname</key><string>\(name)</string><key>$classes</key><array><string>\(name)</string>"
        + "<string>NSObject</string></array></dict>"
    }
    let text =
      "<plist><dict><key>$version</key><integer>100000</integer><key>$archiver</key>"
      + "<string>NSKeyedArchiver</string><key>$top</key><dict>\(top ?? "<key>root</key>\(uid(1))")</dict>"
      + "<key>$objects</key><array><string>$null</string>\(entries.joined())\(described("NSArray"))"
      + "\(described("Person"))</array></dict></plist>"
    return Array(text.utf8)
  }

  private func person(_ name: String, _ more: String = "", of count: Int) -> String {
    "<dict><key>$class</key>\(uid(count + 2))<key>name</key><string>\(name)</string>\(more)</dict>"
  }

  private func list(_ elements: [Int], of count: Int) -> String {
    "<dict><key>$class</key>\(uid(count + 1))<key>NS.objects</key><array>\(elements.map(uid).joined())</array></dict>"
  }

  @Test func oneBadElementLosesNoOther() throws {
    try withTemporaryFolder { folder in
      let file = try folder.write(
        "persons", archive([list([2, 77, 3], of: 3), person("Ana", of: 3), person("Bo", of: 3)]))
      let store = try LegacyStore.archives([file])
      #expect(store.items.map(\.label) == ["Ana", "Bo"])
      #expect(store.problems.map(\.place) == ["persons[1]"])
      #expect(store.problems.allSatisfy { $0.isLoss })
    }
  }

  /// A binary archive of `count` lists that share their bytes. Each has all of them as elements, so there are more
  /// references than bytes.
  private func overlappingLists(_ count: Int) -> [UInt8] {
    func reference(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
    func text(_ text: String) -> [UInt8] {
      let count = UInt8(text.utf8.count)
      let head: [UInt8] = count < 15 ? [0x50 | count] : [0x5F, 0x10, count]
      return head + Array(text.utf8)
    }
    func array(_ numbers: [Int]) -> [UInt8] {
      [0xAF, 0x11] + reference(numbers.count) + numbers.flatMap(reference)
    }
    func dictionary(_ numbers: [Int]) -> [UInt8] {
      [0xD0 | UInt8(numbers.count / 2)] + numbers.flatMap(reference)
    }
    let (uids, lists) = (22, 22 + count)
    var objects: [[UInt8]] = [dictionary([1, 2, 3, 4, 5, 6, 7, 8])]
    objects += ["$archiver", "$version", "$top", "$objects", "NSKeyedArchiver"].map(text)
    objects += [[0x12, 0x00, 0x01, 0x86, 0xA0], dictionary([9, 10])]
    objects += [array([11, 20, 12] + Array(lists..<lists + count)), text("root"), [0x80, 1], text("$null")]
    objects += [dictionary([13, 14, 15, 16]), text("$classname"), text("$classes"), text("NSArray")]
    objects += [[0xA1] + reference(15), text("NS.objects"), text("$class"), [0x80, 2]]
    // The bytes of all lists.
    let shared = objects.count
    objects += [dictionary([17, 18, 21, 19]), array(Array(uids..<uids + count))]
    objects += (0..<count).map { [0x81] + reference(3 + $0) }
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for object in objects {
      offsets.append(bytes.count)
      bytes += object
    }
    offsets += Array(repeating: offsets[shared], count: count)
    let table = bytes.count
    bytes += offsets.flatMap(reference)
    bytes += [0, 0, 0, 0, 0, 0, 2, 2]
    for number in [offsets.count, 0, table] {
      bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    return bytes
  }

  @Test func oneArchiveThatCanNotBeReadLosesNoOther() throws {
    try withTemporaryFolder { folder in
      let good = try folder.write("persons", archive([list([2], of: 2), person("Ana", of: 2)]))
      let bad = try folder.write("lists", overlappingLists(300))
      let store = try LegacyStore.archives([bad, good])
      #expect(store.items.map(\.label) == ["Ana"])
      #expect(store.problems.map(\.place) == ["lists"])
      #expect(throws: LegacyError.self) { try LegacyStore.archives([bad]) }
    }
  }

  @Test func oneBadFieldLosesNoOtherFieldOfItsItem() throws {
    try withTemporaryFolder { folder in
      let bad = "<key>note</key>\(uid(99))<key>tags</key>\(uid(3))"
      let file = try folder.write(
        "persons",
        archive([list([2], of: 4), person("Ana", bad, of: 4), list([4, 98], of: 4), "<string>tag</string>"]))
      let store = try LegacyStore.archives([file])
      #expect(store.items.map(\.label) == ["Ana"])
      #expect(store.items[0].attributes["tags"] == .array([.string("tag")]))
      #expect(store.problems.map(\.place) == ["persons[0].note", "persons[0].tags[1]"])
    }
  }

  @Test func anElementThatCanNoLongerBeReadIsNotDeleted() throws {
    try withTemporaryFolder { folder in
      let note = "<key>note</key>\(uid(4))"
      let whole = archive([
        list([2, 3], of: 4), person("Ana", note, of: 4), person("Bo", of: 4), "<string>a note</string>",
      ])
      let journal = try folder.journal()
      try journal.importStore(.archives([folder.write("persons", whole)]))
      #expect(journal.state.things.count == 2)
      let damaged = archive([
        list([2, 77], of: 4), person("Ana", "<key>note</key>\(uid(99))", of: 4), person("Bo", of: 4),
        "<string>a note</string>",
      ])
      let report = try journal.importStore(.archives([folder.write("persons", damaged)]))
      #expect(report.deleted == 0 && !report.isComplete)
      #expect(journal.state.things.count == 2)
      #expect(journal.state.things.first { $0["name"] == .string("Ana") }?["note"] == .string("a note"))
    }
  }

  @Test func oneBadValueAtTheTopLosesNoOther() throws {
    try withTemporaryFolder { folder in
      let top = "<key>bad</key>\(uid(99))<key>good</key>\(uid(1))"
      let file = try folder.write("persons", archive(top: top, [list([2], of: 2), person("Ana", of: 2)]))
      let store = try LegacyStore.archives([file])
      #expect(store.items.map(\.label) == ["Ana"])
      #expect(store.problems.map(\.place) == ["persons:bad"])
    }
  }

  /// Its items were in no file.
  @Test func aValueAtTheTopThatCanNoLongerBeReadIsExportedFromTheJournal() throws {
    try withTemporaryFolder { folder in
      func file(_ second: Int) throws -> LegacyStore {
        let top = "<key>one</key>\(uid(1))<key>two</key>\(uid(second))"
        let entries = [list([2], of: 4), person("Ana", of: 4), list([4], of: 4), person("Bo", of: 4)]
        return try .archives([folder.write("persons", archive(top: top, entries))])
      }
      let journal = try folder.journal()
      try journal.importStore(file(3))
      #expect(try !journal.importStore(file(99)).isComplete)
      let out = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.archive, to: out).items == 2)
      let back = try LegacyStore.archives([out.appending(path: "persons")])
      #expect(back.items.map(\.label) == ["Ana", "Bo"] && back.lists == ["persons:one", "persons:two"])
    }
  }

  /// A list of Ana and another person. 3 is Bo, and there is no object with a higher number.
  private func persons(in folder: TemporaryFolder, second: Int) throws -> LegacyStore {
    let entries = [list([2, second], of: 3), person("Ana", of: 3), person("Bo", of: 3)]
    return try .archives([folder.write("people/persons", archive(entries))])
  }

  /// With `replacing`, the export removed what the import had not read from the file, and did not say so.
  @Test func aFileThatWasNotReadCompletelyIsNotReplaced() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(persons(in: folder, second: 77))
      let people = folder.url.appending(path: "people")
      let before = try Data(contentsOf: people.appending(path: "persons"))
      let error = #expect(throws: LegacyError.self) {
        try journal.exportStore(.archive, to: people, replacing: true)
      }
      #expect(error?.code == .alreadyExists && error?.message.contains("name another folder") == true)
      #expect(try Data(contentsOf: people.appending(path: "persons")) == before)
      let report = try journal.exportStore(.archive, to: folder.url.appending(path: "out"))
      #expect(report.problems.map(\.place) == ["persons"] && !report.isComplete && report.written == 1)
      // Now it can be read.
      #expect(try journal.importStore(persons(in: folder, second: 3)).isComplete)
      #expect(try journal.exportStore(.archive, to: people, replacing: true).isComplete)
    }
  }

  /// The export has the items of the earlier import in its place.
  @Test func anArchiveInPreferencesThatCanNoLongerBeReadIsNotReplaced() throws {
    try withTemporaryFolder { folder in
      let whole = Data(try Made.persons([("Ana", "1"), ("Bo", "2")]))
      func file(_ archive: Data) throws -> URL {
        try folder.write(
          "preferences/app.plist", Made.propertyList(["people": archive, "launches": 1] as [String: Any]))
      }
      let journal = try folder.journal()
      #expect(try journal.importStore(.defaults(file(whole))).isComplete)
      let damaged = try file(whole.prefix(whole.count / 2))
      let before = try Data(contentsOf: damaged)
      let report = try journal.importStore(.defaults(damaged))
      #expect(!report.isComplete && report.deleted == 0)
      let preferences = damaged.deletingLastPathComponent()
      let error = #expect(throws: LegacyError.self) {
        try journal.exportStore(.defaults, to: preferences, replacing: true)
      }
      #expect(error?.code == .alreadyExists)
      #expect(try Data(contentsOf: damaged) == before)
      let out = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.defaults, to: out).items == 2)
      // Now it can be read.
      #expect(try journal.importStore(.defaults(file(whole))).isComplete)
      #expect(try journal.exportStore(.defaults, to: preferences, replacing: true).isComplete)
    }
  }

  /// Both containers had the number -1, so the new one was exported as the old one.
  @Test func aKeptContainerDoesNotReplaceANewOne() throws {
    try withTemporaryFolder { folder in
      /// An archive of a dictionary in which two keys have the same container.
      func file(_ className: String, _ keys: [String], _ names: [String]) throws -> LegacyStore {
        let persons = names.map { ArchiveNode.Value.node(Made.person($0, "1")) }
        let container = ArchiveNode(ArchivedClass(className), ["list": .array(persons)])
        let pairs = keys.map { (key: ArchiveNode.Value.string($0), value: ArchiveNode.Value.node(container)) }
        return try .archives([folder.write("store", ArchiveNode.dictionary(pairs).archived())])
      }
      let journal = try folder.journal()
      try journal.importStore(file("Store", ["a", "b"], ["Ana", "Bo"]))
      let second = try file("Shop", ["c", "d"], ["Cy", "Di"])
      try journal.importStore(second)
      #expect(try journal.importStore(second).revisions.isEmpty)
      let out = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.archive, to: out).items == 4)
      let root = try KeyedArchive(ArchiveBytes(contentsOf: out.appending(path: "store"))).root
      var classes: [String: String] = [:]
      for (key, value) in try root?.dictionary?.pairs() ?? [] {
        if let key = try key.string, case .object(let object) = value { classes[key] = object.className }
      }
      #expect(classes["a"] == "Store" && classes["c"] == "Shop" && classes["d"] == "Shop")
    }
  }

  /// They stayed, and the export wrote them again.
  @Test func theItemsOfANestedListThatBecameEmptyAreDeleted() throws {
    try withTemporaryFolder { folder in
      func list(_ second: [[String: Int]]) throws -> LegacyStore {
        try .propertyLists([
          folder.write("Lists.plist", Made.propertyList(["a": [["x": 1]], "b": second]))
        ])
      }
      func container(_ names: [String]) throws -> LegacyStore {
        let container = ArchiveNode(
          ArchivedClass("Store"),
          [
            "friends": .array(names.map { .node(Made.person($0, "1")) }),
            "others": .array([.node(Made.person("Cy", "3"))]),
          ])
        return try .archives([folder.write("store", container.archived())])
      }
      for (number, (source, first, second)) in [
        (LegacyStore.Source.plist, try list([["y": 2], ["y": 3]]), try list([])),
        (.archive, try container(["Ana", "Bo"]), try container([])),
      ].enumerated() {
        let journal = try folder.journal("\(number).journal")
        #expect(try journal.importStore(first).added == 3)
        #expect(try journal.importStore(second).deleted == 2)
        #expect(try journal.importStore(second).revisions.isEmpty)
        let out = folder.url.appending(path: "out\(number)")
        let report = try journal.exportStore(source, to: out)
        #expect(report.items == 1 && report.isComplete)
      }
    }
  }

  /// The list was exported in its place.
  @Test func aValueInPlaceOfANestedListIsExported() throws {
    try withTemporaryFolder { folder in
      func write(_ value: Any) throws -> URL {
        try folder.write("Lists.plist", Made.propertyList(["a": [["x": 1]], "b": value] as [String: Any]))
      }
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([write([["y": 2], ["y": 3]])]))
      #expect(try journal.importStore(.propertyLists([write(5)])).deleted == 0)
      let out = folder.url.appending(path: "out")
      let report = try journal.exportStore(.plist, to: out)
      #expect(report.problems.map(\.place) == ["Lists.plist:b"] && !report.isComplete)
      let values = try #require(Made.readValue(out.appending(path: "Lists.plist")) as? [String: Any])
      #expect(values["b"] as? Int == 5)
    }
  }

  @Test func anExportOfAnEarlierStateDoesNotReplaceAFileThatWasNotReadCompletely() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(persons(in: folder, second: 3))
      let earlier = journal.head.revision
      #expect(try !journal.importStore(persons(in: folder, second: 77)).isComplete)
      let people = folder.url.appending(path: "people")
      let before = try Data(contentsOf: people.appending(path: "persons"))
      #expect(throws: LegacyError.self) {
        try journal.exportStore(.archive, asOf: .revision(earlier), to: people, replacing: true)
      }
      #expect(try Data(contentsOf: people.appending(path: "persons")) == before)
    }
  }

  @Test func anItemThatIsTooLargeIsNotRemovedFromItsFile() throws {
    try withTemporaryFolder { folder in
      let large = String(repeating: "text", count: 5 << 20)
      let list = try Made.propertyList([["name": "small"], ["name": "large", "note": large]])
      let file = try folder.write("notes/Notes.plist", list)
      let journal = try folder.journal()
      #expect(try !journal.importStore(.propertyLists([file])).isComplete)
      #expect(throws: LegacyError.self) {
        try journal.exportStore(.plist, to: file.deletingLastPathComponent(), replacing: true)
      }
      #expect(try Data(contentsOf: file) == list)
    }
  }

  @Test func manyPicturesWithEqualNamesAreImportedQuickly() throws {
    func time(_ count: Int) throws -> Double {
      try withTemporaryFolder { folder in
        // Pictures under keys that are not texts get equal names.
        let pairs = (0..<count).map { number in
          (
            key: ArchiveNode.Value.node(.array([.integer(Int64(number))])),
            value: ArchiveNode.Value.data(Made.png + Data("\(number)".utf8))
          )
        }
        let thing = ArchiveNode(ArchivedClass("Album"), ["pictures": .node(.dictionary(pairs))])
        let file = try folder.write("albums", try ArchiveNode.array([.node(thing)]).archived())
        return try processorTime {
          let store = try LegacyStore.archives([file])
          #expect(store.items.first?.images.count == count)
          #expect(Set(store.items.first?.images.map(\.name) ?? []).count == count)
        } / .seconds(1)
      }
    }
    #expect(try leastRatio(3_000, to: 500, of: time) < 20)
  }

  @Test func textsThatAllItemsShareAreRefusedWhereTheyWouldGrowTooLarge() throws {
    try withTemporaryFolder { folder in
      let text = ArchiveNode.string(String(repeating: "text", count: 25_000))
      let persons = (0..<4_000).map { _ in
        ArchiveNode.Value.node(ArchiveNode(ArchivedClass("Person"), ["name": .node(text)]))
      }
      let file = try folder.write("persons", try ArchiveNode.array(persons).archived())
      let store = try LegacyStore.archives([file])
      // Each item would have its own copy, 400 MB in all from a file of 0.2 MB.
      #expect(!store.items.isEmpty && store.items.count < 800)
      #expect(store.problems.count == 4_000 - store.items.count)
      #expect(store.problems[0].reason.contains("shared so often"))
    }
  }

  /// Converters of libplist write references as dictionaries. One with another number was an item `CF$UID`.
  @Test func aReferenceAtTheTopThatIsNoIntegerIsRefused() throws {
    try withTemporaryFolder { folder in
      for reference: Any in [1.5, "1", ["CF$UID": "1"]] {
        let top: Any = reference is [String: Any] ? reference : ["root": ["CF$UID": reference]]
        let archive: [String: Any] = [
          "$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": top, "$objects": ["$null", "text"],
        ]
        for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
          let bytes = try PropertyListSerialization.data(
            fromPropertyList: archive, format: format, options: 0)
          let file = try folder.write("things", bytes)
          #expect(throws: LegacyError.self) { try LegacyStore.archives([file]) }
        }
      }
    }
  }

  /// The other list counted as incomplete, so an item that was removed from it stayed.
  @Test func anUnreadableListDoesNotMakeAnotherOfItsNameIncomplete() throws {
    try withTemporaryFolder { folder in
      // The dictionary under `a` has a list under `b`, so both lists want the name `persons:a:b`.
      func bytes(_ isDamaged: Bool) -> [UInt8] {
        let dictionary =
          "<dict><key>$class</key>\(uid(9))<key>NS.keys</key><array>\(uid(2))</array>"
          + "<key>NS.objects</key><array>\(uid(3))</array></dict>"
        let kind =
          "<dict><key>$classname</key><string>NSDictionary</string><key>$classes</key><array>"
          + "<string>NSDictionary</string><string>NSObject</string></array></dict>"
        let entries = [
          dictionary, "<string>b</string>", list(isDamaged ? [4] : [4, 7], of: 9), person("Ana", of: 9),
          list([6], of: 9),
          person("Bo", of: 9), person("Cy", of: 9), "<string>y</string>", kind,
        ]
        let top = "<key>a</key>\(uid(1))<key>a:b</key>\(uid(isDamaged ? 77 : 5))"
        return archive(top: top, entries)
      }
      let journal = try folder.journal()
      try journal.importStore(.archives([folder.write("persons", bytes(false))]))
      let report = try journal.importStore(.archives([folder.write("persons", bytes(true))]))
      #expect(!report.isComplete && report.deleted == 1)
      #expect(Set(journal.state.things.map { $0["name"]?.string }) == ["Ana", "Bo"])
    }
  }

  @Test func aContainerWithManyReferencesToItselfIsEnteredOnce() throws {
    try withTemporaryFolder { folder in
      let store = ArchiveNode(
        ArchivedClass("Store"),
        ["list": .array([.node(Made.person("Ana", "1")), .node(Made.person("Bo", "2"))])])
      // Some of the references come before the list, and some after it.
      for number in 0..<12 { store.set(number < 6 ? "a\(number)" : "self\(number)", .node(store)) }
      let file = try folder.write("store", store.archived())
      let journal = try folder.journal()
      // Each level would have twelve times the containers of the previous one.
      let report = try journal.importStore(.archives([file]))
      #expect(report.isComplete && report.added == 2)
      #expect(journal.state.things.map { $0["name"]?.string } == ["Ana", "Bo"])
      let out = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.archive, to: out).isComplete)
      let object = try Made.root(of: out.appending(path: "store"))
      #expect(
        try (0..<12).allSatisfy {
          try object.reference(forKey: $0 < 6 ? "a\($0)" : "self\($0)") == object.uid
        })
      #expect(try journal.importStore(.archives([out.appending(path: "store")])).revisions.isEmpty)
    }
  }

  @Test func aMappingToAnAbsentKeyIsRefusedForEverySource() throws {
    try withTemporaryFolder { folder in
      var mapping = FieldMapping()
      try mapping.add("bar=nothing")
      let list = try folder.write(
        "toDoItems.plist", try Made.propertyList([["titleKey": "Buy", "timestampKey": 1.0]]))
      let defaults = try folder.write(
        "Preferences.plist", try Made.propertyList(["personsArray": Data(Made.persons([("Ana", "1")]))]))
      let archive = try folder.write("persons", try Made.persons([("Ana", "1")]))
      for read in [
        { try LegacyStore.propertyLists([list], mapping: mapping) },
        { try LegacyStore.defaults(defaults, mapping: mapping) },
        { try LegacyStore.archives([archive], mapping: mapping) },
      ] {
        do {
          _ = try read()
          Issue.record("it was ignored")
        } catch let error as LegacyError {
          #expect(error.code == .wrongUse && error.message.contains("nothing"))
        }
      }
      var right = FieldMapping()
      try right.add("title=titleKey")
      #expect(try LegacyStore.propertyLists([list], mapping: right).items.first?.label == "Buy")
    }
  }
}
