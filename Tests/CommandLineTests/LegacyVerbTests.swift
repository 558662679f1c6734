import CatalogModel
import Foundation
import JSON
import KeyedArchiving
import TestSupport
import Testing

@testable import journal

/// `import` of the files of older apps, and `export`.
@Suite struct LegacyVerbTests {
  private func makeBugs(_ folder: TemporaryFolder) throws -> String {
    for (number, title) in [(1, "Potato Bug"), (3, "Lady Bug")] {
      let bug = ArchiveNode(ArchivedClass("ScaryBugData"), ["Title": .string(title), "Rating": .float(4)])
      let path = folder.path("bugs/\(number).scarybug")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try Data(ArchiveNode.archive(["Data": .node(bug)])).write(to: URL(filePath: "\(path)/data.plist"))
    }
    let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    try png.write(to: URL(filePath: folder.path("bugs/1.scarybug/thumbImage.jpg")))
    return folder.path("bugs")
  }

  private func withoutTime(_ text: String) -> String {
    text.replacing(/[0-9]+\.[0-9]{2} s\n/, with: "<t> s\n")
  }

  @Test func bugsAreImportedOnceAndExportedAsOfAnyRevision() throws {
    try withTemporaryFolder { folder in
      let (path, bugs) = (folder.path("Bugs.journal"), try makeBugs(folder))
      let first = try journal("import", path, "scarybugs", bugs)
      #expect(first.code == 0 && first.error == "")
      #expect(
        withoutTime(first.output)
          == "imported scarybugs: entry 1; items: 2 added, 1 image change; 0 not read, <t> s\n")
      #expect(try journal("log", path, "--json").output.contains("\"author\":\"\(NSUserName())\""))
      let again = try journal("import", path, "scarybugs", bugs)
      #expect(
        withoutTime(again.output)
          == "imported scarybugs: nothing has changed; items: 2 as before; 0 not read, <t> s\n")
      try FileManager.default.removeItem(atPath: "\(bugs)/3.scarybug")
      #expect(try journal("import", path, "scarybugs", bugs, "--by", "ana").output.contains("1 deleted"))
      #expect(try journal("log", path, "-n", "1").output.contains("ana"))

      let out = try journal("export", path, "scarybugs", "--at", "1", "--to", folder.path("then"))
      #expect(out.output == "exported scarybugs as of revision 1: 2 items, 3 files written, 0 as before\n")
      #expect(out.code == 0)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder.path("then")).sorted()
          == ["1.scarybug", "3.scarybug"])
      let refused = try journal("export", path, "scarybugs", "--to", folder.path("then"))
      #expect(refused.code == 2 && refused.output == "" && refused.error.contains("3.scarybug"))
      #expect(try journal("export", path, "scarybugs", "--to", folder.path("then"), "--force").code == 0)
    }
  }

  /// The journal did not open any more.
  @Test func nothingIsExportedIntoAJournal() throws {
    try withTemporaryFolder { folder in
      let (path, bugs) = (folder.path("Bugs.journal"), try makeBugs(folder))
      #expect(try journal("import", path, "scarybugs", bugs).code == 0)
      let link = folder.path("link")
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "\(path)/images")
      for place in [path, "\(path)/out", "\(path)/images", "\(path)/images/out", link, "\(link)/out"] {
        let result = try journal("export", path, "scarybugs", "--to", place, "--force")
        #expect(result.code == 2 && result.output.isEmpty, "\(place): \(result)")
        #expect(result.error.contains("its files would be inside the journal "), "\(place): \(result)")
      }
      #expect(try journal("log", path).code == 0)
      #expect(try journal("export", path, "scarybugs", "--to", folder.path("out")).code == 0)
    }
  }

  @Test func unreadableFilesAreReportedAndTheRestIsImported() throws {
    try withTemporaryFolder { folder in
      let bugs = try makeBugs(folder)
      try Data("bplist00".utf8).write(to: URL(filePath: "\(bugs)/1.scarybug/data.plist"))
      let outcome = try check("import", folder.path("J.journal"), "scarybugs", bugs, code: 1)
      #expect(outcome.error.hasPrefix("not read: 1.scarybug: ") && outcome.error.count { $0 == "\n" } == 1)
      #expect(outcome.output.contains("1 added") && outcome.output.contains("1 not read"))
      let json = try journal("import", folder.path("J.journal"), "scarybugs", bugs, "--json")
      guard case .dictionary(let report) = try FieldValue(json: Array(json.output.utf8)),
        case .array(let problems)? = report["problems"], case .dictionary(let problem)? = problems.first
      else {
        Issue.record("the report is not an object with problems: \(json.output)")
        return
      }
      #expect(report["entries"] == .array([]) && report["unchanged"] == .integer(1))
      #expect(problem["place"] == .string("1.scarybug") && problem["lost"] == .bool(true))
    }
  }

  @Test func amountsOfAnArchiveAreSearchedAsNumbers() throws {
    try withTemporaryFolder { folder in
      let things = ["2.99", "3", "19.9"].map { text in
        ArchiveNode(ArchivedClass("Thing"), ["price": .node(.decimal(Decimal(string: text) ?? 0))])
      }
      let path = folder.path("J.journal")
      try Data(ArchiveNode.array(things.map { .node($0) }).archived()).write(
        to: URL(filePath: folder.path("things")))
      #expect(try journal("import", path, "archive", folder.path("things")).code == 0)
      let found = try journal("find", path, "--where", "price>=3", "--json").output
      let entities = found.matches(of: /"entity":"([^"]*)"/).map(\.output.1)
      #expect(entities == ["item:2", "item:3"], "\(found)")
      #expect(try journal("show", path, "item:3").output.contains("price         19.9\n"))
    }
  }

  @Test func inspectingAnArchiveMakesNoJournal() throws {
    try withTemporaryFolder { folder in
      let person = ArchiveNode(
        ArchivedClass("JSPerson"), ["name": .string("Al"), "number": .string("1"), "age": .integer(7)])
      try Data(ArchiveNode.array([.node(person)]).archived()).write(to: URL(filePath: folder.path("people")))
      let outcome = try journal(
        "import", folder.path("J.journal"), "archive", folder.path("people"), "--inspect")
      #expect(outcome.code == 0)
      #expect(
        outcome.output == """
          files       people
          items       1 of kind "person"
          categories  0
          images      0

          JSPerson, 1 object: items of kind "person"
            KEY     COUNT  HOLDS     BECOMES
            age         1  integer   age
            name        1  NSString  name
            number      1  NSString  number

          """)
      #expect(!FileManager.default.fileExists(atPath: folder.path("J.journal")))
      let json = try journal(
        "import", folder.path("J.journal"), "archive", folder.path("people"), "--inspect", "--json")
      guard case .dictionary(let look) = try FieldValue(json: Array(json.output.utf8)) else {
        Issue.record("the output is not an object: \(json.output)")
        return
      }
      #expect(look["items"] == .dictionary(["person": .integer(1)]))
    }
  }

  @Test func importUsesTheGivenKeysAndKind() throws {
    try withTemporaryFolder { folder in
      let spot = ArchiveNode(ArchivedClass("Spot"), ["label": .string("Home"), "y": .real(1), "x": .real(2)])
      try Data(ArchiveNode.array([.node(spot)]).archived()).write(to: URL(filePath: folder.path("spots")))
      let path = folder.path("J.journal")
      let outcome = try journal(
        "import", path, "archive", folder.path("spots"), "--map", "name=label", "--map", "latitude=y",
        "--map=longitude=x")
      #expect(outcome.code == 0)
      let item = try #require(CatalogJournal.open(at: URL(filePath: path), mode: .readOnly).state.item(1))
      #expect(item.kind == "place")
      #expect(item.attributes == ["name": .string("Home"), "latitude": .double(1), "longitude": .double(2)])
      let kind = try journal(
        "import", folder.path("K.journal"), "archive", folder.path("spots"), "--kind", "den")
      #expect(kind.code == 0)
      #expect(
        try CatalogJournal.open(at: URL(filePath: folder.path("K.journal")), mode: .readOnly).state.kinds
          .contains(
            "den"))
    }
  }

  @Test func severalFilesCanBeImportedAtOnce() throws {
    try withTemporaryFolder { folder in
      for (name, title) in [("toDoItems", "Nap"), ("doneItems", "Rise")] {
        let list = try PropertyListSerialization.data(
          fromPropertyList: [["titleKey": title]], format: .xml, options: 0)
        try list.write(to: URL(filePath: folder.path("\(name).plist")))
      }
      let outcome = try journal(
        "import", folder.path("J.journal"), "plist", folder.path("toDoItems.plist"),
        folder.path("doneItems.plist"))
      #expect(outcome.code == 0 && outcome.output.contains("2 added"))
      #expect(
        try journal("import", folder.path("J.journal"), "plist", folder.path("")).output.contains(
          "2 as before"))
    }
  }

  /// Elements without a title came last, and items in a list that had no file were lost.
  @Test func exportedToDosAreAllThereInTheOrderOfTheImport() throws {
    try withTemporaryFolder { folder in
      let list = [["itemDescriptionKey": "no title"], ["titleKey": "Nap"], ["titleKey": "Rise"]]
      let (path, file) = (folder.path("J.journal"), folder.path("toDoItems.plist"))
      try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0).write(
        to: URL(filePath: file))
      #expect(try journal("import", path, "plist", file).code == 0)
      let app = try CatalogJournal.open(at: URL(filePath: path))
      try app.commit { try $0.updateItem(2, set: ["done": true]) }
      try app.close()
      func exported(_ name: String, at point: String) throws -> [[String: String]]? {
        try check("export", path, "plist", "--at", point, "--to", folder.path("out\(point)"))
        let data = try Data(contentsOf: URL(filePath: folder.path("out\(point)/\(name)")))
        return try unsafe PropertyListSerialization.propertyList(from: data, options: [], format: nil)
          as? [[String: String]]
      }
      #expect(try exported("toDoItems.plist", at: "1") == list)
      #expect(try exported("toDoItems.plist", at: "2") == Array(list.prefix(2)))
      #expect(try exported("doneItems.plist", at: "2") == [["titleKey": "Rise"]])
    }
  }

  /// Each round added the to-do once more.
  @Test func whatWasAddedInTheJournalAndExportedIsNotAddedAgain() throws {
    try withTemporaryFolder { folder in
      let (path, documents) = (folder.path("J.journal"), folder.path("Documents"))
      try FileManager.default.createDirectory(atPath: documents, withIntermediateDirectories: true)
      try PropertyListSerialization.data(
        fromPropertyList: [["titleKey": "Nap"], ["titleKey": "Rise"]], format: .xml, options: 0
      ).write(to: URL(filePath: "\(documents)/toDoItems.plist"))
      #expect(try journal("import", path, "plist", documents).code == 0)
      let app = try CatalogJournal.open(at: URL(filePath: path))
      // One has the same text as an imported one, on purpose.
      try app.commit { draft in
        for title in ["new", "Nap"] {
          try draft.addItem(kind: "toDo", attributes: ["title": .string(title), "timestamp": 5])
        }
        try draft.addItem(kind: "toDo", attributes: ["title": "Nap", "done": false])
      }
      try app.close()
      for _ in 1...3 {
        #expect(try journal("export", path, "plist", "--to", documents, "--force").code == 0)
        let again = try journal("import", path, "plist", documents)
        #expect(again.code == 0 && again.error == "", "\(again)")
        #expect(again.output.contains("items: 5 as before"), "\(again)")
      }
      let state = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly).state
      let titles = state.items(ofKind: "toDo").compactMap { $0["title"]?.string }
      #expect(titles == ["Nap", "Rise", "new", "Nap", "Nap"])
    }
  }

  /// The import replaced the edits without a word, and deleted edited to-dos.
  @Test func editsInACopyWithoutHistoryStayOrAreReported() throws {
    try withTemporaryFolder { folder in
      let (path, copy, file) = (
        folder.path("J.journal"), folder.path("Copy.journal"), folder.path("toDoItems.plist")
      )
      func write(_ toDos: [(title: String, text: String)]) throws {
        let list = toDos.map { ["titleKey": $0.title, "itemDescriptionKey": $0.text] }
        try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0).write(
          to: URL(filePath: file))
      }
      // The import is not the first entry, so the revisions of the copy differ.
      #expect(try journal("init", path).code == 0)
      for name in ["a", "b", "c"] { #expect(try journal("tag", path, name).code == 0) }
      try write([("Nap", "old"), ("Rise", "old"), ("Eat", "old"), ("Run", "old")])
      #expect(try journal("import", path, "plist", file).code == 0)
      #expect(try journal("replay", path, "--no-history", "--to", copy).code == 0)
      let app = try CatalogJournal.open(at: URL(filePath: copy))
      try app.commit { draft in
        for item in [1, 3] { try draft.updateItem(EntityID(item), set: ["description": "edited"]) }
      }
      try app.close()
      try write([("Nap", "filed"), ("Run", "filed")])
      let result = try check("import", copy, "plist", file, prints: "1 deleted")
      #expect(
        result.error.contains("description was changed both in the journal and in the file"), "\(result)")
      #expect(result.error.contains("item:3: the file no longer has it"), "\(result)")
      let state = try CatalogJournal.open(at: URL(filePath: copy), mode: .readOnly).state
      let toDos = state.items(ofKind: "toDo").map { item in
        ["title", "description"].compactMap { item[$0]?.string }.joined(separator: " ")
      }
      #expect(toDos == ["Nap filed", "Eat edited", "Run filed"])
    }
  }

  /// Without the importer's record, an import added every item once more.
  @Test func anErasedPersonLeavesNoTraceIfTheImportersRecordIsErasedToo() throws {
    try withTemporaryFolder { folder in
      func archive(_ names: [String]) throws {
        let persons = names.map {
          ArchiveNode(ArchivedClass("JSPerson"), ["name": .string($0), "number": .string("555 0100")])
        }
        try Data(ArchiveNode.array(persons.map { .node($0) }).archived()).write(
          to: URL(filePath: folder.path("people")))
      }
      let path = folder.path("J.journal")
      try archive(["Al", "Ben"])
      #expect(try journal("import", path, "archive", folder.path("people")).code == 0)
      #expect(try journal("find", path, "--kind", "legacyStore").output.contains("item:3"))
      #expect(try journal("erase", path, "item:1", "item:3", "--reason", "by law").code == 0)
      try archive(["Ben"])
      let again = try journal("import", path, "archive", folder.path("people"))
      #expect(again.code == 0 && again.error == "" && again.output.contains("items: 1 as before"), "\(again)")
      #expect(try journal("verify", path).code == 0)
    }
  }

  @Test func wrongUseIsExplained() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("J.journal")
      func fails(_ arguments: String..., code: Int32 = 2, with words: String) throws {
        let result = try journal(arguments)
        #expect(
          result.code == code && result.error.contains(words) && result.output.isEmpty,
          "\(arguments): \(result.error)")
      }
      try fails("import", path, "archives", "x", with: "did you mean archive?")
      try fails("import", path, "scarybugs", "x", "--branch", "main", with: "--branch is not for scarybugs")
      try fails("import", path, "scarybugs", "x", "y", with: "one argument too many")
      try fails("import", path, "archive", with: "PATH is missing")
      try fails("import", path, "archive", folder.path("nothing"), with: "it does not exist")
      try fails("import", path, "archive", "x", "--map", "name", with: "FIELD=KEY")
      try Data("SQLite format 3\0".utf8).write(to: URL(filePath: folder.path("db")))
      try fails("import", path, "archive", folder.path("db"), code: 1, with: "SQLite")
      #expect(!FileManager.default.fileExists(atPath: path))
      try fails("export", path, "scarybugs", with: "--to DIR is missing")
      try fails("export", path, "csv", "--to", "x", with: "there is no export to \"csv\"")
      try fails("export", path, "plist", "--to", folder.path("out"), code: 3, with: "J.journal")
      #expect(!FileManager.default.fileExists(atPath: folder.path("out")))
    }
  }
}
