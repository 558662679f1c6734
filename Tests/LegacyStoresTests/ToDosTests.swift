import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import Examples
@testable import LegacyStores

/// Property lists of dictionaries, the to-do app's first.
@Suite struct ToDosTests {
  private let milk: [String: Any] = [
    "titleKey": "Buy milk", "itemDescriptionKey": "2 %", "timestampKey": 1_474_329_600.0,
    "locationKey": ["nameKey": "Shop", "latitudeKey": 51.225556, "longitudeKey": 6.782778],
  ]

  private func write(_ folder: TemporaryFolder, toDo: [[String: Any]], done: [[String: Any]]? = nil) throws
    -> URL
  {
    try folder.write("Documents/toDoItems.plist", Made.propertyList(toDo))
    if let done { try folder.write("Documents/doneItems.plist", Made.propertyList(done)) }
    return folder.url.appending(path: "Documents")
  }

  private func titles(_ journal: CatalogJournal, done: Bool) -> [String] {
    journal.state.items(ofKind: "toDo").filter { $0["done"] == .bool(done) }
      .sorted { left, right in
        guard case .integer(let first)? = left["order"], case .integer(let second)? = right["order"] else {
          return false
        }
        return first < second
      }.compactMap { if case .string(let title)? = $0["title"] { title } else { nil } }
  }

  @Test func theExamplesModelReadsAnImportedJournal() throws {
    try withTemporaryFolder { folder in
      let documents = try write(
        folder, toDo: [milk, ["titleKey": "Nap"]],
        done: [["titleKey": "Rise", "locationKey": ["nameKey": "Home"]]])
      let journal = try folder.journal()
      let report = try journal.importStore(.propertyLists([documents]))
      #expect(report.added == 3 && report.isComplete && report.problems.isEmpty)
      try journal.close()
      let manager = try ToDoManager(at: folder.url.appending(path: "J.journal"))
      let shop = ToDo.Location(name: "Shop", latitude: 51.225556, longitude: 6.782778)
      #expect(
        try manager.toDos() == [
          ToDo(title: "Buy milk", description: "2 %", timestamp: 1_474_329_600, location: shop),
          ToDo(title: "Nap"),
        ])
      #expect(try manager.doneToDos() == [ToDo(title: "Rise", location: ToDo.Location(name: "Home"))])
    }
  }

  /// An entry has a limit, 128 MiB in a shared journal. Ten thousand items used to make one, whatever their size.
  @Test func manyLargeItemsAreImportedInSeveralEntries() throws {
    try withTemporaryFolder { folder in
      let text = String(repeating: "x", count: 1 << 20)
      let toDos = (1...40).map { ["titleKey": "\($0)", "itemDescriptionKey": text] }
      let documents = try write(folder, toDo: toDos)
      let journal = try folder.journal()
      let report = try journal.importStore(.propertyLists([documents]))
      #expect(report.revisions == [1, 2, 3] && report.added == 40)
      #expect(titles(journal, done: false) == (1...40).map { "\($0)" })
      #expect(try journal.importStore(.propertyLists([documents])).revisions.isEmpty)
    }
  }

  @Test func picturesAndLargeDataOfDictionariesAreImages() throws {
    try withTemporaryFolder { folder in
      let large = Data(repeating: 7, count: 20 << 20)
      let album: [String: Any] = [
        "icon": Made.png, "photos": [["name": "x", "photo": Made.jpeg], ["name": "y", "photo": large]],
      ]
      let file = try folder.write("Album.plist", Made.propertyList(album))
      let journal = try folder.journal()
      let report = try journal.importStore(.propertyLists([file]))
      #expect(report.isComplete && report.added == 2)
      #expect(journal.state.things[0]["photo"] == .dictionary(["$image": .string("photo")]))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      let exported = try #require(Made.readValue(out.appending(path: "Album.plist")) as? [String: Any])
      #expect(Set(exported.keys) == ["icon", "photos"] && exported["icon"] as? Data == Made.png)
      let photos = try #require(exported["photos"] as? [[String: Any]])
      #expect(photos.allSatisfy { Set($0.keys) == ["name", "photo"] })
      #expect(photos.map { $0["name"] as? String } == ["x", "y"])
      #expect(photos.map { $0["photo"] as? Data } == [Made.jpeg, large])
      #expect(try journal.importStore(.propertyLists([out.appending(path: "Album.plist")])).revisions.isEmpty)
    }
  }

  /// They were taken for the form in which the import stores a dictionary whose keys are not texts.
  @Test func keysThatArchivesUseForDictionariesAreExportedUnchanged() throws {
    try withTemporaryFolder { folder in
      let items: [[String: Any]] = [
        ["name": "x", "pairs": ["NS.keys": ["a", "b"], "NS.objects": [1, 2]]],
        ["name": "y", "pairs": ["NS.keys": ["a", "b"], "NS.objects": [1]]],
      ]
      let bytes = try PropertyListSerialization.data(fromPropertyList: items, format: .binary, options: 0)
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([folder.write("Pairs.plist", bytes)]))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      #expect(try Made.read(out.appending(path: "Pairs.plist")) == items as NSArray)
    }
  }

  /// The page about NSCoding lists these.
  @Test func whatIsNotRestoredExactlyIsAsDocumented() throws {
    try withTemporaryFolder { folder in
      // A binary list of one dictionary: a set, a null, and half of a surrogate pair.
      let odd = try #require(
        Data(
          base64Encoded:
            "YnBsaXN0MDChAdQCAwQFBgcICVV0aXRsZVFzUW5RaFFBwQYAYdgAAAgACgATABkAGwAdAB8AIQAjACQA"
            + "AAAAAAACAQAAAAAAAAAKAAAAAAAAAAAAAAAAAAAAJw=="))
      let dotted: [[String: Any]] = [["titleKey": "x\u{1}", "locationKey.nameKey": "Home"]]
      let files = [
        try folder.write("Odd.plist", odd), try folder.write("Dotted.plist", Made.propertyList(dotted)),
      ]
      let journal = try folder.journal()
      try journal.importStore(.propertyLists(files))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      #expect(
        try Made.read(out.appending(path: "Odd.plist"))
          == [["title": "A", "s": ["A"], "n": "", "h": "\u{FFFD}"] as [String: Any]] as NSArray)
      let dottedOut = out.appending(path: "Dotted.plist")
      #expect(try Data(contentsOf: dottedOut).starts(with: Data("bplist00".utf8)))
      #expect(
        try Made.read(dottedOut)
          == [["titleKey": "x\u{1}", "locationKey": ["nameKey": "Home"]] as [String: Any]] as NSArray)
    }
  }

  /// One of both values was lost.
  @Test func aFieldWithTheNameThatAnotherOneGetsIsExported() throws {
    try withTemporaryFolder { folder in
      let toDos: [[String: Any]] = [
        ["titleKey": "a", "done": "maybe", "toDo.done": 7], ["titleKey": "b", "done": "no"],
      ]
      let documents = try write(folder, toDo: toDos)
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([documents]))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      #expect(try Made.read(out.appending(path: "toDoItems.plist")) == toDos as NSArray)
    }
  }

  /// Both lists had one name, so each place got the items of both.
  @Test func listsUnderKeysWithSeparatorsStaySeparate() throws {
    try withTemporaryFolder { folder in
      let lists: [String: Any] = ["a:b": [["y": 2]], "a": ["b": [["z": 3]]]]
      let file = try folder.write("Lists.plist", Made.propertyList(lists))
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([file]))
      #expect(try journal.importStore(.propertyLists([file])).revisions.isEmpty)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      #expect(try Made.read(out.appending(path: "Lists.plist")) == lists as NSDictionary)
    }
  }

  @Test func manyListsAreMergedInATimeThatGrowsWithTheirNumber() throws {
    func time(_ count: Int) throws -> Double {
      try withTemporaryFolder { folder in
        func store(_ more: Int) throws -> LegacyStore {
          var lists: [String: Any] = [:]
          for number in 0..<count { lists["list \(number)"] = [["name": "x\(number)", "more": more]] }
          return try LegacyStore.propertyLists([folder.write("Lists.plist", Made.propertyList(lists))])
        }
        let journal = try folder.journal()
        let (first, second) = try (store(1), store(2))
        return try processorTime {
          let added = try journal.importStore(first).added
          let updated = try journal.importStore(second).updated
          #expect(added == count && updated == count)
        } / .seconds(1)
      }
    }
    #expect(try leastRatio(3_000, to: 500, of: time) < 15)
  }

  @Test func aToDoWithoutATitleIsReportedAndExported() throws {
    try withTemporaryFolder { folder in
      let odd: [String: Any] = ["itemDescriptionKey": "missing title"]
      let documents = try write(folder, toDo: [odd, milk])
      let journal = try folder.journal()
      let report = try journal.importStore(.propertyLists([documents]))
      #expect(
        report.added == 1 && report.problems.map(\.place) == ["toDoItems.plist[0]"] && report.isComplete)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      let read = try Made.read(out.appending(path: "toDoItems.plist"))
      #expect(read == [odd, milk] as NSArray)
    }
  }

  /// They came after all items.
  @Test func whatIsNoItemKeepsItsPlaceInTheExport() throws {
    try withTemporaryFolder { folder in
      func toDo(_ title: String) -> [String: Any] { ["titleKey": title] }
      func odd(_ number: Int) -> [String: Any] { ["itemDescriptionKey": "odd \(number)"] }
      let journal = try folder.journal()
      let documents = try write(
        folder, toDo: [odd(1), toDo("a"), odd(2), odd(3), toDo("b"), odd(4), toDo("c"), toDo("d"), odd(5)])
      try journal.importStore(.propertyLists([documents]))
      func exported() throws -> NSArray? {
        let out = folder.url.appending(path: "out")
        try journal.exportStore(.plist, to: out, replacing: true)
        return try Made.read(out.appending(path: "toDoItems.plist")) as? NSArray
      }
      let first = try exported()
      #expect(
        first == [odd(1), toDo("a"), odd(2), odd(3), toDo("b"), odd(4), toDo("c"), toDo("d"), odd(5)]
          as NSArray
      )
      // Importing the files that were exported changes nothing.
      let out = folder.url.appending(path: "out")
      #expect(try journal.importStore(.propertyLists([out])).revisions.isEmpty)
      // What followed an item that is not in the list any more follows the one before.
      try journal.commit { draft in
        try draft.deleteItem(2)
        try draft.updateItem(4, set: ["done": true])
        _ = try draft.addItem(kind: "toDo", attributes: ["title": "e", "done": false, "order": 9_000])
      }
      let second = try exported()
      #expect(
        second == [odd(1), toDo("a"), odd(2), odd(3), odd(4), toDo("c"), odd(5), toDo("e")] as NSArray)
      // The app had no file of done items. The export wrote none either, and lost the item.
      let done = try Made.read(out.appending(path: "doneItems.plist"))
      #expect(done == [toDo("d")] as NSArray)
    }
  }

  @Test func checkingAToDoOffChangesItAndAddsNone() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(
        .propertyLists([write(folder, toDo: [milk, ["titleKey": "Nap"], ["titleKey": "Read"]])]))
      let report = try journal.importStore(
        .propertyLists([write(folder, toDo: [milk, ["titleKey": "Read"]], done: [["titleKey": "Nap"]])]))
      #expect(report.updated == 1 && report.added == 0 && report.deleted == 0)
      #expect(titles(journal, done: false) == ["Buy milk", "Read"])
      #expect(titles(journal, done: true) == ["Nap"])
    }
  }

  @Test func aFileMissingFromTheFolderIsAnEmptyListAndAFileNotGivenIsIgnored() throws {
    try withTemporaryFolder { folder in
      let documents = try write(folder, toDo: [milk], done: [["titleKey": "Nap"]])
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([documents]))
      let toDo = documents.appending(path: "toDoItems.plist")
      #expect(try journal.importStore(.propertyLists([toDo])).revisions.isEmpty)
      // The app removes the file of an empty list.
      try FileManager.default.removeItem(at: toDo)
      #expect(try journal.importStore(.propertyLists([documents])).deleted == 1)
      #expect(titles(journal, done: true) == ["Nap"] && titles(journal, done: false).isEmpty)
    }
  }

  @Test func insertingAnElementChangesNoOther() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let names = ["a", "b", "c", "d"]
      try journal.importStore(.propertyLists([write(folder, toDo: names.map { ["titleKey": $0] })]))
      let more = ["new", "a", "b", "between", "c", "d", "last"]
      try journal.importStore(.propertyLists([write(folder, toDo: more.map { ["titleKey": $0] })]))
      #expect(titles(journal, done: false) == more)
      for id in 1...4 { #expect(try journal.history(of: .item(id)).count == 1) }
      let moved = ["d", "new", "a", "b", "between", "c", "last"]
      try journal.importStore(.propertyLists([write(folder, toDo: moved.map { ["titleKey": $0] })]))
      #expect(titles(journal, done: false) == moved)
      let touched = try (1...4).map { try journal.history(of: .item($0)).count }
      #expect(touched == [1, 1, 1, 2])
    }
  }

  @Test func anExportIsWhatTheAppWouldHaveWritten() throws {
    try withTemporaryFolder { folder in
      let documents = try write(folder, toDo: [milk, ["titleKey": "Ein <b>\n& 東京"]], done: [])
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([documents]))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      for name in LegacyStore.toDoFiles {
        let (old, new) = (documents.appending(path: name), out.appending(path: name))
        let (was, isNow) = try (Made.read(old), Made.read(new))
        #expect(was == isNow)
        #expect(try Data(contentsOf: new).starts(with: Data("<?xml".utf8)))
      }
      // A string that XML can't represent is written in the binary form, which the app reads as well.
      try journal.commit { try $0.updateItem(2, set: ["title": .string("bell \u{7}")]) }
      try journal.exportStore(.plist, to: out, replacing: true)
      let read = try Made.read(out.appending(path: "toDoItems.plist"))
      #expect(((read as? NSArray)?[1] as? [String: Any])?["titleKey"] as? String == "bell \u{7}")
    }
  }

  @Test func anOrderChangedInTheJournalStays() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let documents = try write(folder, toDo: ["a", "b", "c"].map { ["titleKey": $0] })
      try journal.importStore(.propertyLists([documents]))
      try journal.commit { try $0.updateItem(1, set: ["order": .integer(9_000)]) }
      #expect(titles(journal, done: false) == ["b", "c", "a"])
      #expect(try journal.importStore(.propertyLists([documents])).revisions.isEmpty)
      try journal.importStore(
        .propertyLists([write(folder, toDo: ["a", "b", "c", "d"].map { ["titleKey": $0] })]))
      #expect(titles(journal, done: false).filter { $0 != "d" } == ["b", "c", "a"])
    }
  }

  @Test func otherDictionariesAreItemsUnderTheirFilesName() throws {
    try withTemporaryFolder { folder in
      let file = try folder.write(
        "shelf.plist",
        Made.propertyList([
          "books": [
            ["isbn": 1, "tags": ["a"]], ["isbn": 2, "when": Date(timeIntervalSinceReferenceDate: 5)],
          ],
          "version": 4,
        ]))
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([file]))
      #expect(journal.state.things.map(\.kind) == ["books", "books"])
      #expect(journal.state.item(1)?["tags"] == .array([.string("a")]))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      let (was, isNow) = try (Made.read(file), Made.read(out.appending(path: "shelf.plist")))
      #expect(was == isNow)
    }
  }

  /// A megabyte can refer to a value a million times, and each would become an item.
  @Test func aFileWithTooManyItemsIsRefusedBeforeTheyAreMade() throws {
    for (count, isRefused) in [(LegacyStore.itemLimit + 1, true), (2, false)] {
      var reader = PropertyListReader(store: LegacyStore(.plist), mapping: FieldMapping())
      let value = FieldValue.dictionary([
        "few": [["a": 1]], "list": .array(Array(repeating: ["a": 1], count: count - 1)),
      ])
      let result = Result { () throws(LegacyError) in
        try reader.layout(of: value, list: "x", isTop: true)
      }
      switch result {
      case .success: #expect(!isRefused)
      case .failure(let error):
        #expect(isRefused && error.description.contains("split it into several files"))
      }
      #expect(reader.store.items.count == (isRefused ? 1 : 2))
    }
  }
}
