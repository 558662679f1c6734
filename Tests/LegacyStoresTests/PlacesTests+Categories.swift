import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// Categories, and everything that refers to places and categories.
extension PlacesTests {
  private func spot(_ name: String, _ category: ArchiveNode? = nil) -> ArchiveNode {
    let node = ArchiveNode(
      ArchivedClass("Spot"), ["name": .string(name), "lat": .real(1), "lon": .real(2)])
    if let category { node.set("category", .node(category)) }
    return node
  }

  private func category(_ name: String, _ places: ArchiveNode.Value? = nil) -> ArchiveNode {
    let node = ArchiveNode(ArchivedClass("Category"), ["name": .string(name)])
    if let places { node.set("places", places) }
    return node
  }

  private func list(_ nodes: [ArchiveNode]) -> ArchiveNode {
    .array(nodes.map { .node($0) }, as: .mutableArray)
  }

  private func objects(_ folder: TemporaryFolder, _ name: String) throws -> [ArchivedObject] {
    try Made.objects(of: folder.url.appending(path: name))
  }

  private func names(_ value: ArchivedValue?) throws -> [String?] {
    try (value?.array?.elements() ?? []).map { element in
      if case .object(let object) = element { try object["name"]?.string } else { try element.string }
    }
  }

  private func contents(_ journal: CatalogJournal) -> [String: [String?]] {
    Dictionary(
      uniqueKeysWithValues: journal.state.categories.map { category in
        (category.name, journal.state.items(in: category.id).map { LegacyItem.label(of: $0.attributes) })
      })
  }

  @Test func placesThatDoNotReferToTheirCategoryAreInIt() throws {
    try withTemporaryFolder { folder in
      func write(_ bars: [String]) throws -> URL {
        let food = category("Food", .node(list([spot("A"), spot("B")])))
        return try folder.write(
          "categories", list([food, category("Bars", .node(list(bars.map { spot($0) })))]).archived())
      }
      let journal = try folder.journal()
      #expect(try journal.importStore(.archives([write(["C"])])).added == 3)
      #expect(contents(journal) == ["Food": ["A", "B"], "Bars": ["C"]])
      try journal.exportStore(.archive, to: folder.url.appending(path: "out"))
      let back = try objects(folder, "out/categories")
      #expect(try back.map { try names($0["places"]) } == [["A", "B"], ["C"]])
      #expect(
        try journal.importStore(.archives([folder.url.appending(path: "out/categories")])).revisions.isEmpty)
      #expect(try journal.importStore(.archives([write([])])).deleted == 1)
      #expect(contents(journal) == ["Food": ["A", "B"], "Bars": []])
      // The last ones go too.
      let empty = list([category("Food", .node(list([]))), category("Bars", .node(list([])))])
      let file = try folder.write("categories", empty.archived())
      #expect(try journal.importStore(.archives([file])).deleted == 2)
    }
  }

  @Test func aPlaceInTheListsOfTwoCategoriesStaysInBoth() throws {
    try withTemporaryFolder { folder in
      let (both, one) = (spot("Both"), spot("One"))
      let nodes = [
        category("Food", .node(list([both]))), category("Bars", .node(list([one, both]))),
      ]
      let journal = try folder.journal()
      try journal.importStore(.archives([folder.write("categories", list(nodes).archived())]))
      #expect(contents(journal) == ["Food": ["Both"], "Bars": ["One"]])
      try journal.exportStore(.archive, to: folder.url.appending(path: "out"))
      let back = try objects(folder, "out/categories")
      #expect(try back.map { try names($0["places"]) } == [["Both"], ["One", "Both"]])
      #expect(
        try back[0]["places"]?.array?.reference(at: 0) == back[1]["places"]?.array?.reference(at: 1))

      // What is moved in the journal leaves the list.
      try journal.commit { draft in
        let one = try #require(draft.state.things.first { $0["name"] == .string("One") })
        let food = draft.state.categories.first { _ in true }
        try draft.setCategory(ofItem: one.id, to: food?.id)
      }
      try journal.exportStore(.archive, to: folder.url.appending(path: "moved"))
      let moved = try objects(folder, "moved/categories")
      #expect(try moved.map { try Set(names($0["places"])) } == [["Both", "One"], ["Both"]])
    }
  }

  @Test func listsOfACategoryThatHaveNoPlacesAreKept() throws {
    try withTemporaryFolder { folder in
      let inner = category("Inner", .node(list([])))
      let nodes = [
        category("Texts", .array([.string("Milk"), .string("Eggs")])),
        category("Pairs", .dictionary(["a": .string("b")])),
        category("Number", .integer(5)),
        category("Outer", .node(list([inner]))), category("Mixed", .array([.node(spot("A")), .string("B")])),
      ]
      let journal = try folder.journal()
      let file = try folder.write("categories", list(nodes).archived())
      #expect(try journal.importStore(.archives([file])).isComplete)
      try journal.exportStore(.archive, to: folder.url.appending(path: "out"))
      let back = try objects(folder, "out/categories")
      let byName = try Dictionary(uniqueKeysWithValues: back.map { (try $0["name"]?.string ?? "", $0) })
      #expect(try names(byName["Texts"]?["places"]) == ["Milk", "Eggs"])
      #expect(try byName["Pairs"]?["places"]?.dictionary?["a"]?.string == "b")
      #expect(try byName["Number"]?["places"]?.integer == 5)
      #expect(try names(byName["Outer"]?["places"]) == ["Inner"])
      #expect(try names(byName["Mixed"]?["places"]) == ["A", "B"])
      #expect(
        try journal.importStore(.archives([folder.url.appending(path: "out/categories")])).revisions.isEmpty)
    }
  }

  @Test func categoriesReferToPlacesAfterOneThatCanNotBeRead() throws {
    try withTemporaryFolder { folder in
      var deep = ArchiveNode.Value.integer(1)
      for _ in 0..<150 { deep = .array([deep]) }
      let food = category("Food")
      let (bad, good) = (spot("Bad", food), spot("Good", food))
      bad.set("deep", deep)
      food.set("favorite", .node(good))
      let journal = try folder.journal()
      let file = try folder.write("spots", list([bad, good]).archived())
      // The index of the place in the archive used to be taken for one in the store, which ended the process.
      let report = try journal.importStore(.archives([file]))
      #expect(report.added == 1 && report.problems.map(\.place) == ["spots[0]"])
      try journal.exportStore(.archive, to: folder.url.appending(path: "out"))
      let back = try #require(try objects(folder, "out/spots").first)
      let category = try Made.object(back["category"])
      #expect(try category.reference(forKey: "favorite") == back.uid)
    }
  }

  @Test func referencesOfSeveralFilesLeadToTheSameObjectsAsInEach() throws {
    try withTemporaryFolder { folder in
      let (a, b) = (category("A"), category("B"))
      let first = spot("P1", a)
      first.set("second", .node(b))
      let hidden = spot("Hidden", a)
      first.set("friend", .node(hidden))
      a.set("places", .node(list([hidden, first])))
      let (otherB, c) = (category("B"), category("C"))
      let last = spot("P2", otherB)
      last.set("second", .node(c))
      otherB.set("places", .node(list([last])))
      otherB.set("favorite", .node(last))
      let files = [
        try folder.write("spots", list([first]).archived()),
        try folder.write("categories", list([otherB, c]).archived()),
      ]
      let journal = try folder.journal()
      #expect(try journal.importStore(.archives(files)).isComplete)
      let items = Dictionary(
        uniqueKeysWithValues: journal.state.things.map { (LegacyItem.label(of: $0.attributes) ?? "", $0) })
      func reference(_ key: String, _ number: Int?) -> FieldValue? {
        number.map { .dictionary([key: .integer(Int64($0))]) }
      }
      let categories = Dictionary(
        uniqueKeysWithValues: journal.state.categories.map { ($0.name, $0.id.number) })
      #expect(items["P1"]?["second"] == reference("$category", categories["B"]))
      #expect(items["P2"]?["second"] == reference("$category", categories["C"]))
      #expect(items["P1"]?["friend"] == reference("$item", items["Hidden"]?.id.number))
      try journal.exportStore(.archive, to: folder.url.appending(path: "out"))
      let back = try #require(try objects(folder, "out/categories").first)
      let favorite = try Made.object(back["favorite"])
      #expect(try favorite["name"]?.string == "P2")
    }
  }

  /// Those that referred to others were imported twice.
  @Test func copiesOfPlacesThatReferToEachOtherAreOneItemEach() throws {
    try withTemporaryFolder { folder in
      func graph() -> (places: [ArchiveNode], categories: [ArchiveNode]) {
        let food = category("Food")
        let places = (0..<5).map { spot("P\($0)", food) }
        for (place, friend) in [(0, 1), (1, 0), (2, 2), (3, 0), (4, 0)] {
          places[place].set("friend", .node(places[friend]))
        }
        food.set("places", .node(list(places)))
        return (places, [food])
      }
      let files = [
        try folder.write("annotations", list(graph().places).archived()),
        try folder.write("categories", list(graph().categories).archived()),
      ]
      let journal = try folder.journal()
      #expect(try journal.importStore(.archives(files)).added == 5)
      let things = journal.state.things
      let friends = things.map { item in
        let number = item["friend"]?.target(Reference.item)
        return number.flatMap { number in things.first { $0.id.number == number } }?["name"]?.string
      }
      #expect(friends == ["P1", "P0", "P2", "P0", "P0"])
      #expect(try journal.importStore(.archives(files.reversed())).revisions.isEmpty)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let exported = ["annotations", "categories"].map { out.appending(path: $0) }
      #expect(try journal.importStore(.archives(exported)).revisions.isEmpty)
    }
  }

  /// They were filled, which made a graph without cycles cyclic.
  @Test func listsOfCategoriesThatWereEmptyStayEmpty() throws {
    try withTemporaryFolder { folder in
      func categories() -> [ArchiveNode] { ["Food", "None"].map { category($0, .node(list([]))) } }
      let food = categories()[0]
      let journal = try folder.journal()
      try journal.importStore(
        .archives([
          folder.write("spots", list([spot("A", food), spot("B", food)]).archived()),
          folder.write("categories", list(categories()).archived()),
        ]))
      func exported(_ name: String) throws -> (lists: [[String?]], files: [URL]) {
        try journal.exportStore(.archive, to: folder.url.appending(path: name))
        let lists = try objects(folder, "\(name)/categories").map { try names($0["places"]) }
        return (lists, ["spots", "categories"].map { folder.url.appending(path: "\(name)/\($0)") })
      }
      let unchanged = try exported("unchanged")
      #expect(unchanged.lists == [[], []])
      #expect(try journal.importStore(.archives(unchanged.files)).revisions.isEmpty)
      // A category without any place in the files does not tell whether the app uses the lists.
      try journal.commit { draft in
        let none = try #require(draft.state.categories.first { $0.name == "None" })
        try draft.addItem(
          kind: "place", category: none.id, attributes: ["name": "C", "latitude": 1, "longitude": 2])
      }
      for round in 1...2 {
        let changed = try exported("changed \(round)")
        #expect(changed.lists == [[], ["C"]])
        #expect(try journal.importStore(.archives(changed.files)).added == 0)
      }
    }
  }

  /// The next import added them to the store, although nothing had changed.
  @Test func anExportOfOneStoreHasNoCategoriesOfAnother() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      for name in ["phone", "tablet"] {
        let (one, copy) = (category("\(name) places"), category("\(name) places"))
        var store = try LegacyStore.archives([
          folder.write("\(name)/spots", list([spot("on the \(name)", one)]).archived()),
          folder.write("\(name)/categories", list([copy]).archived()),
        ])
        store.name = name
        try journal.importStore(store)
      }
      func exported(_ name: String) throws -> [String?] {
        try journal.exportStore(.archive, name: "phone", to: folder.url.appending(path: name))
        return try objects(folder, "\(name)/categories").map { try $0["name"]?.string }
      }
      #expect(try exported("out") == ["phone places"])
      var again = try LegacyStore.archives(
        ["spots", "categories"].map { folder.url.appending(path: "out/\($0)") })
      again.name = "phone"
      #expect(try journal.importStore(again).revisions.isEmpty)
      // A place of the store that is in a category of the other one takes it along.
      try journal.commit { draft in
        let other = try #require(draft.state.categories.first { $0.name == "tablet places" })
        try draft.setCategory(ofItem: 1, to: other.id)
      }
      #expect(try exported("moved") == ["phone places", "tablet places"])
    }
  }

  @Test func placesOfOneFileGetTheirCategoriesFromAnother() throws {
    try withTemporaryFolder { folder in
      let files = [
        try folder.write("spots", list([spot("A"), spot("B")]).archived()),
        try folder.write("categories", list([category("Food", .node(list([spot("B")])))]).archived()),
      ]
      let journal = try folder.journal()
      #expect(try journal.importStore(.archives(files)).added == 2)
      #expect(contents(journal) == ["Food": ["B"]])
    }
  }

  @Test func categoriesOfOneNameKeepTheirOwnPictures() throws {
    try withTemporaryFolder { folder in
      let pictures = ["one", "two"].map { Made.png + Data($0.utf8) }
      let nodes = pictures.map { picture in
        let node = category("Food")
        node.set("image", .data(picture))
        return node
      }
      let file = try folder.write("categories", list(nodes).archived())
      let journal = try folder.journal()
      try journal.importStore(.archives([file]))
      try journal.exportStore(.archive, to: folder.url.appending(path: "out"))
      #expect(try objects(folder, "out/categories").map { try $0["image"]?.data } == pictures)
      #expect(try journal.importStore(.archives([file])).revisions.isEmpty)
    }
  }

  @Test func emptyNamesStayEmptyAndLongOnesWhole() throws {
    try withTemporaryFolder { folder in
      let long = String(repeating: "long ", count: 1_000)
      let spots = ["", "Food", long].map { name in
        let node = spot(name)
        node.set("category", .string(name))
        return node
      }
      let journal = try folder.journal()
      try journal.importStore(
        .archives([
          folder.write("spots", list(spots).archived()),
          folder.write("categories", list([category(""), category(long)]).archived()),
        ]))
      try journal.exportStore(.archive, to: folder.url.appending(path: "out"))
      #expect(try Set(objects(folder, "out/categories").map { try $0["name"]?.string }) == ["", long])
      // An empty category was nil in the export.
      #expect(
        try objects(folder, "out/spots").prefix(2).map { try $0["category"]?.string } == ["", "Food"])
    }
  }

  @Test func manyCategoriesAreMergedInATimeThatGrowsWithTheirNumber() throws {
    func time(_ count: Int) throws -> Double {
      try withTemporaryFolder { folder in
        let spots = (0..<count).map { number in
          let node = spot("\(number)")
          node.set("category", .string("category \(number)"))
          return node
        }
        let journal = try folder.journal()
        let store = try LegacyStore.archives([folder.write("spots", list(spots).archived())])
        return try processorTime {
          let first = try journal.importStore(store)
          let again = try journal.importStore(store)
          #expect(first.categories == count && again.revisions.isEmpty)
        } / .seconds(1)
      }
    }
    #expect(try leastRatio(3_000, to: 500, of: time) < 15)
  }

  @Test func categoriesThatShareOneListAreReadInATimeThatGrowsWithTheirNumber() throws {
    func time(_ count: Int) throws -> Double {
      try withTemporaryFolder { folder in
        let spots = (0..<count).map { spot("\($0)") }
        let shared = ArchiveNode.Value.node(list(spots))
        let categories = (0..<count).map { category("\($0)", shared) }
        spots[0].set("category", .node(categories[0]))
        let file = try folder.write("categories", list(categories).archived())
        return try processorTime {
          let store = try LegacyStore.archives([file])
          #expect(store.categories.count == count)
        } / .seconds(1)
      }
    }
    #expect(try leastRatio(3_000, to: 500, of: time) < 15)
  }

  @Test func manyClassesAreReadInATimeThatGrowsWithTheirNumber() throws {
    func time(_ count: Int) throws -> Double {
      try withTemporaryFolder { folder in
        let things = (0..<count).map { ArchiveNode(ArchivedClass("Thing\($0)"), ["name": .string("x")]) }
        let file = try folder.write("things", list(things).archived())
        return try processorTime {
          let store = try LegacyStore.archives([file])
          #expect(store.items.count == count)
        } / .seconds(1)
      }
    }
    #expect(try leastRatio(3_000, to: 500, of: time) < 15)
  }
}
