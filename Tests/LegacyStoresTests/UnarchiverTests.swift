import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

// Stand-ins for the apps' classes. Each decodes what the app's `initWithCoder:` does, and no more. They are not nested,
// because Foundation on Linux can't decode nested classes.

final class StandInBug: NSObject, NSCoding {
  let title: String?
  let rating: Float
  init?(coder: NSCoder) {
    title = coder.decodeObject(forKey: "Title") as? String
    rating = coder.decodeFloat(forKey: "Rating")
  }
  func encode(with coder: NSCoder) {
    coder.encode(title as NSString?, forKey: "Title")
    coder.encode(rating, forKey: "Rating")
  }
  init(_ title: String?, _ rating: Float) {
    self.title = title
    self.rating = rating
  }
}

final class StandInPerson: NSObject, NSCoding {
  let name: String?
  let number: String?
  init?(coder: NSCoder) {
    name = coder.decodeObject(forKey: "name") as? String
    number = coder.decodeObject(forKey: "number") as? String
  }
  func encode(with coder: NSCoder) {
    coder.encode(name as NSString?, forKey: "name")
    coder.encode(number as NSString?, forKey: "number")
  }
  init(_ name: String, _ number: String) {
    self.name = name
    self.number = number
  }
}

final class StandInAnnotation: NSObject, NSCoding {
  let latitude: Float
  let longitude: Float
  init?(coder: NSCoder) {
    latitude = coder.decodeFloat(forKey: "latitude")
    longitude = coder.decodeFloat(forKey: "longitude")
  }
  func encode(with coder: NSCoder) {}
}

final class StandInColor: NSObject, NSCoding {
  let red: Float
  init?(coder: NSCoder) { red = coder.decodeFloat(forKey: "UIRed") }
  func encode(with coder: NSCoder) {}
}

/// Does not decode its places: Foundation on Linux can't decode cycles.
final class StandInCategory: NSObject, NSCoding {
  let name: String?
  let color: StandInColor?
  init?(coder: NSCoder) {
    name = coder.decodeObject(forKey: "categoryName") as? String
    color = coder.decodeObject(forKey: "color") as? StandInColor
  }
  func encode(with coder: NSCoder) {}
}

final class StandInPlace: NSObject, NSCoding {
  let name: String?
  let note: String?
  let category: StandInCategory?
  let annotation: StandInAnnotation?
  init?(coder: NSCoder) {
    name = coder.decodeObject(forKey: "locationName") as? String
    note = coder.decodeObject(forKey: "note") as? String
    category = coder.decodeObject(forKey: "category") as? StandInCategory
    annotation = coder.decodeObject(forKey: "annotation") as? StandInAnnotation
  }
  func encode(with coder: NSCoder) {}
}

final class StandInLaterPlace: NSObject, NSCoding {
  let name: String?
  let note: String?
  let annotation: StandInAnnotation?
  init?(coder: NSCoder) {
    name = coder.decodeObject(forKey: "placeName") as? String
    note = coder.decodeObject(forKey: "description") as? String
    annotation = coder.decodeObject(forKey: "annotation") as? StandInAnnotation
  }
  func encode(with coder: NSCoder) {}
}

/// Exports that Foundation's own unarchiver reads into classes with the apps' names.
@Suite(.serialized) struct UnarchiverTests {
  private func decode(_ data: Data, key: String = "root", _ classes: [String: AnyClass]) throws -> Any? {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.requiresSecureCoding = false
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    for (name, type): (String, AnyClass) in classes { unarchiver.setClass(type, forClassName: name) }
    let value = unarchiver.decodeObject(forKey: key)
    unarchiver.finishDecoding()
    if let error = unarchiver.error { throw error }
    return value
  }

  @Test(arguments: ["ScaryBugData", "RWTScaryBugData"])
  func bugsThatFoundationArchivedAreImportedAndExported(className: String) throws {
    try withTemporaryFolder { folder in
      let archiver = NSKeyedArchiver(requiringSecureCoding: false)
      archiver.setClassName(className, for: StandInBug.self)
      archiver.encode(StandInBug("Potato Bug", 3.3), forKey: "Data")
      archiver.finishEncoding()
      try folder.write("bugs/1.scarybug/data.plist", archiver.encodedData)
      let journal = try folder.journal()
      try journal.importStore(.scaryBugs(in: folder.url.appending(path: "bugs")))
      #expect(journal.state.item(1)?["rating"] == .double(Double(Float(3.3))))
      try journal.commit { draft in
        try draft.addItem(kind: "bug", attributes: ["title": .string("New"), "rating": .double(2.5)])
      }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.scarybugs, to: out)
      let classes: [String: AnyClass] = [className: StandInBug.self]
      for (name, title, rating) in [("1.scarybug", "Potato Bug", Float(3.3)), ("2.scarybug", "New", 2.5)] {
        let data = try Data(contentsOf: out.appending(path: "\(name)/data.plist"))
        let bug = try decode(data, key: "Data", classes) as? StandInBug
        #expect(bug?.title == title && bug?.rating == rating)
      }
    }
  }

  @Test func personsThatFoundationArchivedAreImportedAndExported() throws {
    try withTemporaryFolder { folder in
      NSKeyedArchiver.setClassName("JSPerson", for: StandInPerson.self)
      let persons = NSMutableArray(array: [
        StandInPerson("Al", "1 (415) 555-0100"), StandInPerson("Zoë", "2"),
      ])
      let archive = try NSKeyedArchiver.archivedData(withRootObject: persons, requiringSecureCoding: false)
      let file = try folder.write("app.plist", Made.propertyList(["personsArray": archive]))
      let journal = try folder.journal()
      try journal.importStore(.defaults(file, key: "personsArray"))
      try journal.commit {
        try $0.addItem(kind: "person", attributes: ["name": .string("New"), "number": .string("3")])
      }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.defaults, to: out)
      let preferences = try Made.read(out.appending(path: "app.plist")) as? [String: Any]
      let data = try #require(preferences?["personsArray"] as? Data)
      let read = try decode(data, ["JSPerson": StandInPerson.self]) as? NSMutableArray
      let back = try #require(read as? [StandInPerson])
      #expect(back.map(\.name) == ["Al", "Zoë", "New"])
      #expect(back.map(\.number) == ["1 (415) 555-0100", "2", "3"])
    }
  }

  private let placeClasses: [String: AnyClass] = [
    "POI": StandInPlace.self, "Categories": StandInCategory.self, "Annotation": StandInAnnotation.self,
    "UIColor": StandInColor.self, "BLCPointOfInterest": StandInLaterPlace.self,
    "BLCCustomAnnotation": StandInAnnotation.self,
  ]

  @Test func placesOfTheCorpusAreExportedWithTheAppsKeys() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(.archives([KeyedCorpus.url("synthetic/blocspot_annotations_cyclic.plist")]))
      try journal.commit { draft in
        try draft.updateItem(1, set: ["latitude": .double(1.5), "note": .string("two crabs")])
        try draft.setColor(ofCategory: 1, to: Catalog.Color(red: 0.25, green: 0, blue: 0))
        try draft.addItem(kind: "place", category: 1, attributes: ["name": .string("New")])
      }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let data = try Data(contentsOf: out.appending(path: "blocspot_annotations_cyclic.plist"))
      let read = try decode(data, placeClasses) as? NSMutableArray
      let places = try #require(read as? [StandInPlace])
      #expect(places.map(\.name) == ["Pier 39", "Tōkyō", "Null island", "New"])
      #expect(places.map(\.note) == ["two crabs", "", nil, nil])
      #expect(places[0].annotation?.latitude == 1.5)
      #expect(places[0].annotation?.longitude == -122.4098)
      #expect(places[3].annotation == nil)
      #expect(places.map(\.category?.name) == ["Food", "Café ☕️ 東京", "Food", "Food"])
      #expect(places[0].category === places[3].category)
      #expect(places[0].category?.color?.red == 0.25 && places[1].category?.color?.red == 1)
    }
  }

  @Test func theKeysOfALaterVersionOfTheAppAreKept() throws {
    try withTemporaryFolder { folder in
      let annotation = ArchiveNode(
        ArchivedClass("BLCCustomAnnotation"), ["latitude": .real(5), "longitude": .real(6)])
      let place = ArchiveNode(
        ArchivedClass("BLCPointOfInterest"),
        [
          "placeName": .string("Bar"), "description": .string("loud"), "category": .null,
          "annotation": .node(annotation),
        ])
      let file = try folder.write("pois", ArchiveNode.array([.node(place)]).archived())
      let journal = try folder.journal()
      try journal.importStore(.archives([file]))
      #expect(journal.state.item(1)?["note"] == .string("loud"))
      try journal.commit { try $0.updateItem(1, set: ["note": .string("quiet")]) }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let read = try decode(Data(contentsOf: out.appending(path: "pois")), placeClasses) as? NSArray
      let back = try #require(read?.firstObject as? StandInLaterPlace)
      #expect(back.name == "Bar" && back.note == "quiet" && back.annotation?.longitude == 6)
    }
  }
}
