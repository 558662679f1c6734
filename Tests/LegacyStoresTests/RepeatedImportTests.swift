import CatalogModel
import Foundation
import JournalMaintenance
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// A repeated import applies what changed in the files since the last one; what people added in the journal stays; a
/// conflict is reported, and the history has both.
@Suite struct RepeatedImportTests {
  private func list(_ folder: TemporaryFolder, _ nodes: [ArchiveNode]) throws -> LegacyStore {
    try .archives([folder.write("list", ArchiveNode.array(nodes.map { .node($0) }).archived())])
  }

  /// The rule, for random edits of records with an identifier on both sides.
  @Test func bothSidesMayChangeAnything() throws {
    typealias Record = [String: FieldValue]
    var generator = SeededGenerator()
    func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    func edit(_ record: Record?) -> Record? {
      guard var record, random(4) > 0 else { return nil }
      let values: [FieldValue?] = [nil, 0, 1, "", "x", ["y"]]
      record[["a", "b", "c"][random(3)]] = values[random(values.count)]
      return record
    }
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      var (old, file): ([Int: Record], [Int: Record]) = ([:], [:])
      for round in 0..<40 {
        // The app's edits and people's.
        for id in file.keys.sorted() where random(3) == 0 { file[id] = edit(file[id]) }
        for _ in 0..<random(3) { file[100 * round + random(100)] = ["a": 0, "b": "x"] }
        try journal.commit { draft in
          for item in draft.state.things where random(3) == 0 {
            if let new = edit(item.attributes) {
              try draft.replaceAttributes(ofItem: item.id, with: new)
            } else {
              try draft.deleteItem(item.id)
            }
          }
        }
        // What the rule says.
        var wanted: [Int: Record] = [:]
        for item in journal.state.things { wanted[item["id"]?.integer ?? -1] = item.attributes }
        var conflicts = 0
        for id in Set(old.keys).union(file.keys) where old[id] != file[id] {
          let (before, mine) = (old[id], wanted[id])
          guard var result = mine, let before, let new = file[id] else {
            let isKept = file[id] == nil && mine != nil && mine?.filter { $0.key != "id" } != before
            if isKept || mine == nil && before != nil && file[id] != nil { conflicts += 1 }
            if !isKept { wanted[id] = file[id]?.merging(["id": .integer(Int64(id))]) { $1 } }
            continue
          }
          for name in ["a", "b", "c"] where before[name] != new[name] {
            if result[name] != before[name], result[name] != new[name] { conflicts += 1 }
            result[name] = new[name]
          }
          wanted[id] = result
        }
        var store = LegacyStore(.plist)
        store.lists = ["records"]
        store.items = file.sorted { $0.key < $1.key }.map { id, record in
          LegacyItem(
            list: "records", kind: "record", attributes: record.merging(["id": .integer(Int64(id))]) { $1 })
        }
        store.files = ["records": Layout.file(Layout.list("records", className: nil), isXML: true)]
        let report = try journal.importStore(store)
        let found = Dictionary(
          uniqueKeysWithValues: journal.state.things.map { ($0["id"]?.integer ?? -1, $0.attributes) })
        // Not counting the remark that all elements are new.
        let reported = report.problems.count { $0.place != "plist" }
        #expect(found == wanted && reported == conflicts, "round \(round), \(conflicts): \(report.problems)")
        #expect(try journal.importStore(store).revisions.isEmpty)
        old = file
      }
    }
  }

  // MARK: Order without meaning

  /// An edit in the journal was lost to a set whose members were written in another order.
  @Test func theOrderOfSetsAndDictionariesDoesNotCount() throws {
    /// An album that has a set of objects with a shared part and pictures, and dictionaries.
    func album(_ isReversed: Bool) -> ArchiveNode {
      let shared = ArchiveNode(ArchivedClass("Author"), ["name": .string("Ana")])
      let other = ArchiveNode(ArchivedClass("Author"), ["name": .string("Ben")])
      func photo(_ title: String, _ author: ArchiveNode, _ data: Data) -> ArchiveNode.Value {
        .node(
          ArchiveNode(
            ArchivedClass("Photo"),
            ["title": .string(title), "author": .node(author), "data": .data(data)]))
      }
      let photos = [
        photo("b", shared, Made.png), photo("a", shared, Made.jpeg), photo("c", other, Made.png + [1]),
        .string("text"),
      ]
      let keyed: [(key: ArchiveNode.Value, value: ArchiveNode.Value)] = [
        (.node(.number(Int64(3))), .node(shared)), (.node(.number(Int64(1))), .node(other)),
        (.string("x"), .node(shared)),
      ]
      let named: [(key: ArchiveNode.Value, value: ArchiveNode.Value)] = [
        (.string("z"), .node(shared)), (.string("a"), .node(shared)), (.string("m"), .node(other)),
      ]
      func order<T>(_ values: [T]) -> [T] { isReversed ? values.reversed() : values }
      let counted = ArchiveNode(
        ArchivedClass("NSCountedSet", superclasses: ["NSMutableSet", "NSSet", "NSObject"]))
      counted.set("NS.count", .integer(2))
      for (index, element) in order([("one", 1), ("two", 2)]).enumerated() {
        counted.set("NS.object\(index)", .string(element.0))
        counted.set("NS.count\(index)", .integer(Int64(element.1)))
      }
      return ArchiveNode(
        ArchivedClass("Album"),
        [
          "photos": .node(.set(order(photos))), "counted": .node(counted),
          "keyed": .node(.dictionary(order(keyed))), "named": .node(.dictionary(order(named))),
        ])
    }
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(list(folder, [album(false)]))
      let before = try #require(journal.state.things.first)
      try journal.commit { draft in
        for name in ["photos", "counted", "keyed", "named"] {
          try draft.updateItem(before.id, set: [name: .string("mine")])
        }
      }
      let report = try journal.importStore(list(folder, [album(true)]))
      #expect(report.revisions.isEmpty && report.problems.isEmpty, "\(report.problems)")
      let other = try folder.journal("K.journal")
      try other.importStore(list(folder, [album(true)]))
      #expect(other.state.things.first?.attributes == before.attributes)
      #expect(
        other.state.images.map { "\($0.name) \($0.blob.digest.hex)" }.sorted()
          == journal.state.images.map { "\($0.name) \($0.blob.digest.hex)" }.sorted())
    }
  }

  @Test func theOrderOfReferencesToItemsInASetDoesNotCount() throws {
    try withTemporaryFolder { folder in
      func team(_ order: [Int], _ listOrder: [Int]) throws -> LegacyStore {
        let persons = (0..<4).map { Made.person("P\($0)", "\($0)") }
        persons[0].set("friends", .node(.set(order.map { .node(persons[$0]) })))
        return try list(folder, listOrder.map { persons[$0] })
      }
      let journal = try folder.journal()
      try journal.importStore(team([1, 2, 3], [0, 1, 2, 3]))
      try journal.commit { try $0.updateItem(1, set: ["friends": []]) }
      let report = try journal.importStore(team([3, 1, 2], [3, 2, 0, 1]))
      #expect(report.updated == 0 && report.problems.isEmpty, "\(report.problems)")
      #expect(journal.state.item(1)?["friends"] == [])
    }
  }

  // MARK: Categories

  private func spots(
    _ folder: TemporaryFolder, _ spots: [(name: String, category: String)], renamed: [String: String] = [:]
  ) throws -> LegacyStore {
    var categories: [String: ArchiveNode] = [:]
    let nodes = spots.map { name, category in
      let node =
        categories[category]
        ?? ArchiveNode(ArchivedClass("Category"), ["name": .string(renamed[category] ?? category)])
      categories[category] = node
      return ArchiveNode(
        ArchivedClass("Spot"),
        ["name": .string(name), "lat": .real(1), "lon": .real(2), "category": .node(node)])
    }
    return try list(folder, nodes)
  }

  private func places(_ journal: CatalogJournal) -> [String] {
    journal.state.things.map { item in
      let category = item.category.flatMap { journal.state.category($0)?.name } ?? "-"
      return "\(item["name"]?.string ?? "?") \(category)"
    }
  }

  /// The items were taken out of the category that people had put them into.
  @Test func itemsStayInTheCategoryThatReplacedADeletedOne() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(spots(folder, [("A", "Food"), ("B", "Food"), ("C", "Art")]))
      try journal.commit { draft in
        let food = try #require(draft.state.categories.first { $0.name == "Food" })
        let mine = try draft.addCategory(name: "Mine")
        try draft.setCategory(ofItem: draft.state.things[0].id, to: mine)
        try draft.deleteCategory(food.id)
      }
      let report = try journal.importStore(spots(folder, [("A", "Food"), ("B", "Food"), ("C", "Art")]))
      #expect(report.revisions.isEmpty && places(journal) == ["A Mine", "B -", "C Art"])
      // The file moves one item, and adds another.
      try journal.importStore(
        spots(folder, [("A", "Food"), ("B", "Art"), ("C", "Art"), ("D", "Food")]))
      #expect(places(journal) == ["A Mine", "B Art", "C Art", "D -"])
      // Now the category has changed in the file, too.
      let again = try journal.importStore(
        spots(
          folder, [("A", "Food"), ("B", "Art"), ("C", "Art"), ("D", "Food")], renamed: ["Food": "Drinks"]))
      #expect(again.problems.contains { $0.reason.contains("added again") }, "\(again.problems)")
      #expect(places(journal) == ["A Mine", "B Art", "C Art", "D Drinks"])
    }
  }

  @Test func aCategoryThatBothSidesHaveRenamedIsReported() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(spots(folder, [("A", "Food"), ("C", "Art")]))
      try journal.commit { draft in
        let food = try #require(draft.state.categories.first { $0.name == "Food" })
        try draft.updateCategory(food.id, name: "Meals", color: nil)
      }
      let report = try journal.importStore(
        spots(folder, [("A", "Food"), ("C", "Art")], renamed: ["Food": "Drinks"]))
      #expect(places(journal) == ["A Drinks", "C Art"])
      #expect(
        report.problems.contains { $0.reason.contains("its name was changed both") }, "\(report.problems)")
    }
  }

  @Test func aCategoryThatPeopleMadeStaysWhenTheFilesNoLongerHaveOneOfThatName() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.commit { _ = try $0.addCategory(name: "Food") }
      try journal.importStore(spots(folder, [("A", "Food"), ("C", "Art")]))
      #expect(journal.state.categories.count == 2)
      try journal.importStore(spots(folder, [("C", "Other")]))
      #expect(journal.state.categories.map(\.name).sorted() == ["Food", "Other"])
    }
  }

  /// The category that people renamed stayed without a word.
  @Test func aCategoryThatWasRenamedInTheJournalStaysAndIsReported() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(spots(folder, [("A", "Food"), ("B", "Art"), ("C", "Art")]))
      try journal.commit { draft in
        let food = try #require(draft.state.categories.first { $0.name == "Food" })
        try draft.updateCategory(food.id, name: "Meals", color: nil)
      }
      let report = try journal.importStore(spots(folder, [("B", "Art"), ("C", "Art")]))
      #expect(report.deleted == 1 && journal.state.categories.map(\.name).sorted() == ["Art", "Meals"])
      #expect(report.problems.contains { $0.place.hasPrefix("category:") }, "\(report.problems)")
    }
  }

  // MARK: Shared parts

  /// 53 of 80 were imported, and the export had the picture in each.
  @Test(arguments: ["NSData", "NSMutableData", "bytes", "UIImage"])
  func aPictureThatAllItemsShareIsStoredOnceAndExportedOnce(_ form: String) throws {
    try withTemporaryFolder { folder in
      let picture = Made.png + Data(repeating: 7, count: 200_000)
      let value: ArchiveNode.Value =
        switch form {
        case "NSData": .data(picture)
        case "NSMutableData": .node(.mutableData(picture))
        case "bytes": .bytes([UInt8](picture))
        default:
          .node(ArchiveNode(ArchivedClass("UIImage"), ["UIImageData": .data(picture), "UIScale": .real(2)]))
        }
      let count = form == "bytes" ? 20 : 80
      let persons = (0..<count).map { index in
        let person = Made.person("P\(index)", "\(index)")
        person.set("picture", value)
        return person
      }
      let store = try list(folder, persons)
      let journal = try folder.journal()
      let report = try journal.importStore(store)
      #expect(report.isComplete && report.added == count, "\(report.problems.prefix(2))")
      #expect(journal.state.images.count == count && Set(journal.state.images.map(\.blob)).count == 1)
      let target = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.archive, to: target).isComplete)
      let file = try Data(contentsOf: target.appending(path: "list"))
      #expect(file.count < 300_000, "\(file.count)")
      // The object around it stays one, too.
      let classes = try KeyedArchive(ArchiveBytes(file)).inspect().classes
      #expect(classes.first { $0.description.name == "UIImage" }?.count ?? 1 == 1)
      let back = try LegacyStore.archives([target.appending(path: "list")])
      let again = try journal.importStore(back)
      #expect(again.revisions.isEmpty && again.isComplete, "\(again.problems.prefix(2))")
    }
  }

  @Test func aPictureThatAllDictionariesShareIsImportedFromPropertyListsAndPreferences() throws {
    try withTemporaryFolder { folder in
      let picture = Made.png + Data(repeating: 7, count: 200_000)
      // Foundation on Apple's systems writes equal data once.
      let bytes = try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
        let (name, key, shared) = try (writer.string("name"), writer.string("picture"), writer.data(picture))
        var rows: [Int] = []
        for index in 0..<80 {
          let text = try writer.string("P\(index)")
          rows.append(try writer.dictionary(keys: [name, key], values: [text, shared]))
        }
        return try writer.dictionary(keys: [writer.string("rows")], values: [writer.array(rows)])
      }
      let file = try folder.write("Album.plist", bytes)
      let journal = try folder.journal()
      let report = try journal.importStore(.propertyLists([file]))
      #expect(report.isComplete && report.added == 80 && bytes.count < 300_000, "\(report.problems)")
      let preferences = try LegacyStore.defaults(file)
      #expect(preferences.images.count == 80)
    }
  }

  /// Adding the same image again repairs a lost one. An import refused every entry with it.
  @Test func anImportWritesAnImageAgainWhoseFileIsLost() throws {
    try withTemporaryFolder { folder in
      let picture = Made.png + Data(repeating: 7, count: 20_000)
      let person = Made.person("Ana", "1")
      person.set("picture", .data(picture))
      var store = try list(folder, [person])
      var journal = try folder.journal()
      #expect(try journal.importStore(store).isComplete)
      try journal.close()
      let images = journal.url.appending(path: "images")
      for name in try FileManager.default.contentsOfDirectory(atPath: images.path) {
        try FileManager.default.removeItem(at: images.appending(path: name))
      }
      journal = try CatalogJournal.open(at: journal.url)
      #expect(try !journal.verify(.deep).isSound)
      store.name = "tablet"
      let report = try journal.importStore(store)
      #expect(report.isComplete && report.added == 1, "\(report.problems)")
      #expect(journal.state.images.count == 2)
      let problems = try journal.verify(.deep).problems
      #expect(problems.isEmpty, "\(problems)")
    }
  }

  // MARK: Classes of the app

  @Test(arguments: [
    "PHPatient", "SKTrick", "NSFWPost", "UITheme", "CLClub", "MKit", "CKCake", "AVoter", "_PHNote",
  ])
  func aClassNamedLikeThoseOfAFrameworkIsTheAppsOwn(_ name: String) throws {
    try withTemporaryFolder { folder in
      func node(_ text: String) -> ArchiveNode { ArchiveNode(ArchivedClass(name), ["text": .string(text)]) }
      let keyed = ArchiveNode.dictionary(["rows": .node(.array([.node(node("a")), .node(node("b"))]))])
      let journal = try folder.journal()
      try journal.importStore(.archives([folder.write("list", keyed.archived())]))
      #expect(journal.state.things.map(\.kind) == [name, name])
      let data = try node("a").archived()
      let preferences = try PropertyListSerialization.data(
        fromPropertyList: ["one": Data(data), "each": [Data(data), Data(data)]], format: .binary, options: 0)
      let other = try folder.journal("K.journal")
      #expect(try other.importStore(.defaults(folder.write("p.plist", preferences))).added == 3)
    }
  }
}
