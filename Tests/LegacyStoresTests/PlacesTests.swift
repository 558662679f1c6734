import CatalogModel
import Files
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import Examples
@testable import LegacyStores

/// Archives of places and categories, in the forms of several apps.
@Suite struct PlacesTests {
  /// The two files of one app. Each has its own copy of the whole graph.
  private func makeFiles(_ folder: TemporaryFolder) throws -> [URL] {
    func graph() -> (places: [ArchiveNode], categories: [ArchiveNode]) {
      let food = category("Food", .uiColor(red: 0.2, green: 0.4, blue: 0.6))
      let empty = category("Nothing yet", ArchiveNode(.uiColor, ["UIWhite": .float(0.5)]))
      let pier = place("Pier 39", "crab", food, 37.8087, -122.4098)
      let twin = place("Null island", nil, nil, 0, 0)
      let other = place("Null island", nil, nil, 0, 0)
      food.set("pointsOfInterest", .node(.array([.node(pier)], as: .mutableArray)))
      return ([pier, twin, other], [food, empty])
    }
    let (first, second) = (graph(), graph())
    return [
      try folder.write(
        "annotations", ArchiveNode.array(first.places.map { .node($0) }, as: .mutableArray).archived()),
      try folder.write(
        "categories", ArchiveNode.array(second.categories.map { .node($0) }, as: .mutableArray).archived()),
    ]
  }

  private func category(_ name: String, _ color: ArchiveNode) -> ArchiveNode {
    ArchiveNode(
      ArchivedClass("Categories"),
      [
        "categoryName": .string(name), "color": .node(color),
        "pointsOfInterest": .node(.array([], as: .mutableArray)), "categoryImage": .null,
      ])
  }

  private func place(
    _ name: String, _ note: String?, _ category: ArchiveNode?, _ latitude: Float, _ longitude: Float
  ) -> ArchiveNode {
    let annotation = ArchiveNode(
      ArchivedClass("Annotation"), ["latitude": .float(latitude), "longitude": .float(longitude)])
    return ArchiveNode(
      ArchivedClass("POI"),
      [
        "locationName": .string(name), "note": note.map { .string($0) } ?? .null,
        "category": category.map { .node($0) } ?? .null, "annotation": .node(annotation),
      ])
  }

  @Test func theExamplesModelReadsAnImportedJournal() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let report = try journal.importStore(.archives(makeFiles(folder)))
      #expect(report.added == 3 && report.categories == 2 && report.revisions == [1])
      try journal.close()
      let book = try PlaceBook(at: folder.url.appending(path: "J.journal"))
      #expect(book.categories.map(\.name) == ["Food", "Nothing yet"])
      #expect(book.categories[0].color == Catalog.Color(red: 0.2, green: 0.4, blue: 0.6))
      #expect(book.categories[1].color == Catalog.Color(red: 0.5, green: 0.5, blue: 0.5))
      let places = try book.places().values
      #expect(places.map(\.name) == ["Pier 39", "Null island", "Null island"])
      #expect(places.map(\.note) == ["crab", nil, nil])
      #expect(places[0].latitude == Double(Float(37.8087)))
      #expect(try book.places()[0].category == book.categories[0].id)
      #expect(try book.places(in: book.categories[0].id).values.map(\.name) == ["Pier 39"])
    }
  }

  @Test func twoFilesOfOneGraphGiveEachObjectOnceAndKeepEqualOnes() throws {
    try withTemporaryFolder { folder in
      let files = try makeFiles(folder)
      let store = try LegacyStore.archives(files)
      #expect(store.items.count == 3 && store.categories.count == 2)
      // One file alone has the graph, too.
      #expect(try LegacyStore.archives([files[1]]).items.map(\.attributes["name"]) == [.string("Pier 39")])
      let journal = try folder.journal()
      try journal.importStore(store)
      // A later import of the categories alone changes nothing.
      #expect(try journal.importStore(.archives([files[1]])).revisions.isEmpty)
      #expect(try journal.importStore(.archives([files[0]])).revisions.isEmpty)
      #expect(try journal.importStore(.archives(files.reversed())).revisions.isEmpty)
    }
  }

  @Test func bothExportedFilesHaveTheSameGraphAndAreImportedUnchanged() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(.archives(makeFiles(folder)))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let files = ["annotations", "categories"].map { out.appending(path: $0) }
      for file in files {
        let archive = try KeyedArchive(ArchiveBytes(contentsOf: file))
        let inspection = try archive.inspect()
        #expect(inspection.problemCount == 0 && inspection.isCyclic)
      }
      let categories = try KeyedArchive(ArchiveBytes(contentsOf: files[1])).root?.array?.elements() ?? []
      guard case .object(let food)? = categories.first,
        case .object(let pier)? = try food["pointsOfInterest"]?.array?.elements().first,
        case .object(let back)? = try pier["category"]
      else {
        Issue.record("the category does not lead to its place and back")
        return
      }
      #expect(back.uid == food.uid)
      #expect(try food["color"]?.color?.rgba.green == 0.4)
      #expect(try journal.importStore(.archives(files)).revisions.isEmpty)
      let other = try folder.journal("Other.journal")
      try other.importStore(.archives(files))
      #expect(other.state.contents == journal.state.contents)
      // Even the records of the imports are the same.
      let memories = try [journal, other].map { journal in
        try #require(journal.state.items(ofKind: ImportMemory.kind).first { _ in true }).attributes
      }
      #expect(memories[0] == memories[1])
    }
  }

  @Test func aMapThatWasNeverImportedIsExportedInTheAppsForm() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.commit { draft in
        let sights = try draft.addCategory(name: "Sights", color: Catalog.Color(hex: "#2E86AB"))
        try draft.addItem(
          kind: "place", category: sights,
          attributes: [
            "name": .string("Tower"), "latitude": .double(48.8584), "longitude": .double(2.2945),
            "url": .string("https://example.com"),
          ])
      }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let store = try LegacyStore.archives(["annotations", "categories"].map { out.appending(path: $0) })
      #expect(store.items.map(\.className) == ["POI"] && store.categories.map(\.className) == ["Categories"])
      let other = try folder.journal("Other.journal")
      try other.importStore(store)
      #expect(other.state.contents == journal.state.contents)
    }
  }

  /// It was added once more at each import.
  @Test func aPlaceThatWasAddedInTheJournalAndExportedIsRecognized() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(.archives([KeyedCorpus.url("synthetic/blocspot_annotations_cyclic.plist")]))
      let food = try #require(journal.state.item(1)?.category)
      try journal.commit { draft in
        try draft.addItem(
          kind: "place", category: food,
          attributes: ["name": "New place", "latitude": 1, "longitude": 2, "stars": 0, "$class": "C"])
      }
      let before = journal.state.contents
      for round in 1...3 {
        let out = folder.url.appending(path: "\(round)")
        try journal.exportStore(.archive, to: out)
        let report = try journal.importStore(
          .archives([out.appending(path: "blocspot_annotations_cyclic.plist")]))
        #expect(report.added == 0 && report.updated == 0, "round \(round)")
        #expect(journal.state.contents == before, "round \(round)")
      }
    }
  }

  @Test func theKeysOfOtherAppsAreGuessed() throws {
    try withTemporaryFolder { folder in
      let category = ArchiveNode(
        ArchivedClass("blocspot.Category"),
        ["cat_title": .string("Bars"), "cat_color": .node(.uiColor(red: 1, green: 0, blue: 0))])
      let location = ArchiveNode(
        ArchivedClass("CLLocation"),
        [
          "kCLLocationCodingKeyCoordinateLatitude": .real(52.5),
          "kCLLocationCodingKeyCoordinateLongitude": .real(13.4), "kCLLocationCodingKeyAltitude": .real(34),
        ])
      let placemark = ArchiveNode(
        ArchivedClass("MKPlacemark", superclasses: ["CLPlacemark", "NSObject"]),
        ["kCLPlacemarkCodingKeyLocation": .node(location), "kCLPlacemarkCodingKeyName": .string("Kit")])
      let place = ArchiveNode(
        ArchivedClass("blocspot.PointOfInterest"),
        [
          "placemark": .node(placemark), "name": .string("Kit"), "note": .string("dark"),
          "distance": .node(.number(12.5)), "category": .node(category),
        ])
      category.set("cat_pois", .array([.node(place)]))
      let file = try folder.write("poi", ArchiveNode.array([.node(place)]).archived())
      let journal = try folder.journal()
      try journal.importStore(.archives([file]))
      let item = try #require(journal.state.things.first)
      #expect(item.kind == "place" && item["name"] == .string("Kit") && item["note"] == .string("dark"))
      #expect(item["latitude"] == .double(52.5) && item["longitude"] == .double(13.4))
      #expect(item["distance"] == .double(12.5))
      #expect(journal.state.category(item.category ?? 0)?.name == "Bars")
      #expect(journal.state.category(item.category ?? 0)?.color == Catalog.Color(red: 1, green: 0, blue: 0))
      // The altitude stays in the rest of the placemark.
      guard case .dictionary(let rest)? = item["placemark"],
        case .dictionary(let inner)? = rest["kCLPlacemarkCodingKeyLocation"]
      else {
        Issue.record("the rest of the placemark is gone")
        return
      }
      #expect(inner["kCLLocationCodingKeyAltitude"] == .double(34))

      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let object = try #require(try Made.objects(of: out.appending(path: "poi")).first)
      #expect(object.className == "blocspot.PointOfInterest")
      let exported = try Made.object(object["placemark"])
      #expect(try exported["kCLPlacemarkCodingKeyLocation"]?.location?.latitude == 52.5)
      #expect(try exported["kCLPlacemarkCodingKeyLocation"]?.location?.altitude == 34)
      #expect(try object.reference(forKey: "distance") != nil)
    }
  }

  @Test func aMappingOverridesTheGuess() throws {
    try withTemporaryFolder { folder in
      let spot = ArchiveNode(
        ArchivedClass("Spot"),
        [
          "label": .string("Home"), "comment": .string("warm"), "y": .real(1), "x": .real(2),
          "group": .string("Private"),
        ])
      let file = try folder.write("spots", ArchiveNode.array([.node(spot)]).archived())
      let plain = try LegacyStore.archives([file])
      #expect(plain.items.map(\.kind) == ["Spot"] && plain.items[0].attributes["label"] == .string("Home"))
      var mapping = FieldMapping()
      for text in ["name=label", "note=comment", "latitude=y", "longitude=x", "category=group"] {
        try mapping.add(text)
      }
      let store = try LegacyStore.archives([file], mapping: mapping)
      #expect(store.items.map(\.kind) == ["place"])
      #expect(
        store.items[0].attributes == [
          "name": .string("Home"), "note": .string("warm"), "latitude": .double(1), "longitude": .double(2),
        ])
      #expect(store.categories.map(\.name) == ["Private"])
      let journal = try folder.journal()
      try journal.importStore(store)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let again = try LegacyStore.archives([out.appending(path: "spots")])
      #expect(again.items[0].attributes == plain.items[0].attributes)
      #expect(again.items[0].className == "Spot")

      var wrong = FieldMapping()
      try wrong.add("name=lable")
      #expect(throws: LegacyError.self) { try LegacyStore.archives([file], mapping: wrong) }
      #expect(throws: LegacyError.self) { try wrong.add("nonsense") }
    }
  }

  @Test func aPictureInAFieldIsAnImageOfTheItem() throws {
    try withTemporaryFolder { folder in
      let photo = ArchiveNode(
        ArchivedClass("UIImage"), ["UIImageData": .data(Made.png), "UIScale": .real(2)])
      let large = Data(repeating: 7, count: 100_000)
      let place = place("Pier", nil, nil, 1, 2)
      place.set("photo", .node(photo))
      place.set("scan", .data(large))
      place.set("small", .data(Data([1, 2, 3])))
      let file = try folder.write("annotations", ArchiveNode.array([.node(place)]).archived())
      let journal = try folder.journal()
      try journal.importStore(.archives([file]))
      let images = Array(journal.state.images)
      #expect(Set(images.map(\.name)) == ["photo.UIImageData", "scan"])
      #expect(Set(images.map(\.mediaType)) == ["image/png", "application/octet-stream"])
      #expect(journal.state.item(1)?["small"] == .data(Data([1, 2, 3])))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let object = try #require(try Made.objects(of: out.appending(path: "annotations")).first)
      let picture = try Made.object(object["photo"])
      #expect(try picture["UIImageData"]?.data == Made.png)
      #expect(try picture["UIScale"]?.double == 2)
      #expect(try object["scan"]?.data == large)

      // An image that the drive can't read used to be left out without a report.
      let url = journal.url
      try journal.close()
      var options = JournalOptions(layers: .manual)
      let name = images[0].blob.digest.hex
      options.readHook = { path, _ in path.hasSuffix(name) ? .fail(EIO) : .proceed }
      let again = try CatalogJournal.open(at: url, options: options)
      let failing = try again.exportStore(.archive, to: folder.url.appending(path: "again"))
      #expect(failing.problems.map(\.place) == ["images/\(name)"] && !failing.isComplete)
      try again.close()
    }
  }

  @Test func objectsThatContainThemselvesAndEachOtherAreImportedAndExported() throws {
    try withTemporaryFolder { folder in
      let part = ArchiveNode(ArchivedClass("Part"), ["size": .integer(3)])
      let thing = ArchiveNode(ArchivedClass("Thing"), ["a": .node(part), "b": .node(part)])
      let next = ArchiveNode(ArchivedClass("Thing"), ["friend": .node(thing)])
      thing.set("itself", .node(thing))
      thing.set("friend", .node(next))
      part.set("owner", .node(thing))
      let file = try folder.write("things", ArchiveNode.array([.node(thing), .node(next)]).archived())
      let journal = try folder.journal()
      let report = try journal.importStore(.archives([file]))
      #expect(report.isComplete && report.added == 2)
      #expect(journal.state.item(1)?["friend"] == .dictionary(["$item": .integer(2)]))
      #expect(journal.state.item(2)?["friend"] == .dictionary(["$item": .integer(1)]))
      #expect(journal.state.item(1)?["b"] == .dictionary(["$ref": .integer(2)]))
      #expect(try journal.importStore(.archives([file])).revisions.isEmpty)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let first = try #require(try Made.objects(of: out.appending(path: "things")).first)
      #expect(try first.reference(forKey: "itself") == first.uid)
      #expect(try first.reference(forKey: "a") == first.reference(forKey: "b"))
      let partBack = try Made.object(first["a"])
      #expect(try partBack.reference(forKey: "owner") == first.uid)
      #expect(try journal.importStore(.archives([out.appending(path: "things")])).revisions.isEmpty)
    }
  }

  @Test func anObjectThatContainsListsIsNoItem() throws {
    try withTemporaryFolder { folder in
      let source = ArchiveNode(
        ArchivedClass("DataSource"),
        [
          "pois": .array([.node(place("A", nil, nil, 1, 2))]), "version": .integer(3),
          "categories": .array([.node(category("Food", ArchiveNode(.uiColor, ["UIWhite": .float(1)])))]),
        ])
      let file = try folder.write("store", source.archived())
      let journal = try folder.journal()
      try journal.importStore(.archives([file]))
      #expect(journal.state.things.map(\.kind) == ["place"])
      #expect(journal.state.categories.map(\.name) == ["Food"])
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let object = try Made.root(of: out.appending(path: "store"))
      #expect(object.className == "DataSource")
      #expect(try object["version"]?.integer == 3)
      #expect(try object["pois"]?.array?.count == 1 && object["categories"]?.array?.count == 1)
    }
  }
}
