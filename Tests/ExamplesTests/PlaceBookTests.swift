import CBOR
import CatalogModel
import Foundation
import Journaling
import TestSupport
import Testing

@testable import Examples

@Suite struct PlaceBookTests {
  private static let berlin = Place(name: "Berlin", latitude: 52.52, longitude: 13.405)
  private static let paris = Place(name: "Paris", latitude: 48.8566, longitude: 2.3522)
  private static let suva = Place(name: "Suva", latitude: -18.1416, longitude: 178.4419)
  private static let apia = Place(name: "Apia", latitude: -13.8333, longitude: -171.7667)

  private func withBook(_ body: (PlaceBook) throws -> Void) throws {
    try withTemporaryFolder { try body(PlaceBook(at: $0.url.appending(path: "Places.journal"))) }
  }

  @Test func theFirstLaunchOffersCategoriesWithColors() throws {
    try withBook { book throws in
      #expect(book.categories.map(\.name) == PlaceBook.defaultCategories.map(\.name))
      #expect(!book.categories.isEmpty)
      #expect(book.categories.allSatisfy { $0.color != nil })
      #expect(try book.places().isEmpty)
    }
  }

  @Test func aUsersOwnCategoriesStayAsTheyAre() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Places.journal")
      var book: PlaceBook? = try PlaceBook(at: url)
      try book?.journal.commit { draft in
        for category in draft.state.categories { try draft.deleteCategory(category.id) }
        try draft.addCategory(name: "Mountains", color: Catalog.Color(hex: "#336699"))
      }
      book = nil

      book = try PlaceBook(at: url)
      #expect(book?.categories.map(\.name) == ["Mountains"])
      #expect(book?.categories.first?.color?.hex == "#336699FF")
    }
  }

  @Test func aBookWithoutAnyCategoryOffersTheDefaultOnesAgainAndKeepsItsPlaces() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Places.journal")
      var book: PlaceBook? = try PlaceBook(at: url)
      let berlin = try #require(try book?.add(Self.berlin))
      try book?.journal.commit { draft in
        for category in draft.state.categories { try draft.deleteCategory(category.id) }
      }
      book = nil

      book = try PlaceBook(at: url)
      #expect(book?.categories.map(\.name) == PlaceBook.defaultCategories.map(\.name))
      #expect(try book?.places().ids == [berlin])
    }
  }

  @Test func placesAndTheirCategoriesSurviveARestart() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Places.journal")
      var book: PlaceBook? = try PlaceBook(at: url)
      var place = Self.berlin
      place.note = "by the river"
      place.address = "Spreeufer 1"
      place.phoneNumber = "+49 30 5550100"
      place.url = "https://example.com/café"
      let category = try #require(book?.categories.first?.id)
      try book?.add(place, in: category)
      try book?.add(Self.paris)
      book = nil

      book = try PlaceBook(at: url)
      #expect(try book?.places().values == [place, Self.paris])
      #expect(try book?.places().map(\.category) == [category, nil])
    }
  }

  @Test func editsAndRemovalsSurviveARestart() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Places.journal")
      var book: PlaceBook? = try PlaceBook(at: url)
      let berlin = try #require(try book?.add(Self.berlin))
      let paris = try #require(try book?.add(Self.paris))
      let category = try #require(book?.categories.last?.id)
      try book?.change(berlin) { $0.note = "go there" }
      try book?.setCategory(of: berlin, to: category)
      try book?.remove(paris)
      book = nil

      book = try PlaceBook(at: url)
      #expect(try book?.places().ids == [berlin])
      #expect(try book?.places().first?.value.note == "go there")
      #expect(try book?.places().first?.category == category)
      #expect(try book?.places(asOf: .revision(3)).values == [Self.berlin, Self.paris])
      try book?.change(berlin) { $0.note = nil }
      try book?.setCategory(of: berlin, to: nil)
      book = nil

      book = try PlaceBook(at: url)
      #expect(try book?.places().values == [Self.berlin])
      #expect(try book?.places().map(\.category) == [nil])
      #expect(book?.journal.state.item(berlin)?["note"] == nil)
    }
  }

  @Test func aCategoryListsItsPlacesAndDeletingItKeepsThem() throws {
    try withBook { book throws in
      let (first, second) = (book.categories[0].id, book.categories[1].id)
      for (place, category) in [(Self.paris, first), (Self.berlin, second), (Self.suva, first)] {
        try book.add(place, in: category)
      }
      #expect(try book.places(in: first).values == [Self.paris, Self.suva])
      #expect(try book.places(in: second).values == [Self.berlin])
      try book.journal.commit { try $0.deleteCategory(first) }
      #expect(try book.places(in: first).isEmpty)
      #expect(try book.places().map(\.category) == [nil, second, nil])
    }
  }

  @Test func theNearestPlaceComesFirst() throws {
    try withBook { book throws in
      for place in [Self.suva, Self.berlin, Place(name: "nowhere"), Self.apia, Self.paris] {
        try book.add(place)
      }
      let potsdam = try #require(Coordinate(latitude: 52.39, longitude: 13.06))
      #expect(
        try book.places(nearestTo: potsdam).map { try $0.value.name } == [
          "Berlin", "Paris", "Apia", "Suva", "nowhere",
        ])
    }
  }

  /// Near the date line, the nearest place can be the one whose longitude differs most.
  @Test func distancesAcrossTheDateLineAreShort() throws {
    try withBook { book throws in
      let auckland = Place(name: "Auckland", latitude: -36.8485, longitude: 174.7633)
      for place in [auckland, Self.apia] { try book.add(place) }
      let suva = try #require(Self.suva.coordinate)
      #expect(try book.places(nearestTo: suva).map { try $0.value.name } == ["Apia", "Auckland"])
    }
  }

  @Test func equallyFarPlacesAreInTheOrderOfAddition() throws {
    try withBook { book throws in
      for name in ["b", "a", "c"] { try book.add(Place(name: name, latitude: 1, longitude: 1)) }
      let here = try #require(Coordinate(latitude: 0, longitude: 0))
      #expect(try book.places(nearestTo: here).map { try $0.value.name } == ["b", "a", "c"])
    }
  }

  @Test(arguments: [
    // Known great-circle distances on a ball of 6,371.0088 km, in meters.
    (0.0, 0.0, 0.0, 0.0, 0.0), (0, 0, 0, 1, 111_195.08), (0, 0, 0, 180, 20_015_114.35),
    (90, 0, -90, 77, 20_015_114.35), (60, 0, 60, 180, 6_671_704.78), (0, 179.5, 0, -179.5, 111_195.08),
    (45, 7, 45.000_001, 7, 0.111_195),
  ])
  func distancesAreGreatCircleDistances(
    _ latitude: Double, _ longitude: Double, _ otherLatitude: Double, _ otherLongitude: Double,
    _ meters: Double
  ) throws {
    let one = try #require(Coordinate(latitude: latitude, longitude: longitude))
    let other = try #require(Coordinate(latitude: otherLatitude, longitude: otherLongitude))
    #expect(abs(one.distance(to: other) - meters) <= max(meters * 1e-6, 1e-6))
    #expect(one.distance(to: other) == other.distance(to: one))
  }

  @Test(arguments: [
    (Optional(91.0), Optional(0.0)), (0, 180.5), (.nan, 0), (0, .infinity), (nil, 0), (0, nil),
  ])
  func invalidCoordinatesAreRejected(_ latitude: Double?, _ longitude: Double?) throws {
    try withBook { book throws in
      let berlin = try book.add(Self.berlin)
      let revision = book.journal.head.revision
      var place = Self.berlin
      (place.latitude, place.longitude) = (latitude, longitude)
      for change in [{ _ = try book.add(place) }, { try book.change(berlin) { $0 = place } }] {
        let error = #expect(throws: JournalError.self) { try change() }
        #expect(error?.code == .rejected)
      }
      #expect(book.journal.head.revision == revision)
      #expect(try book.places().values == [Self.berlin])
    }
  }

  @Test func aPlaceInAMissingCategoryIsRejected() throws {
    try withBook { book throws in
      let error = #expect(throws: JournalError.self) { try book.add(Self.berlin, in: 99) }
      #expect(error?.code == .rejected)
      #expect(try book.places().isEmpty)
    }
  }

  @Test func editingAPlaceKeepsTheAttributesOfOtherApps() throws {
    try withBook { book throws in
      let id = try book.add(Self.berlin)
      try book.journal.commit { try $0.updateItem(id.item, set: ["visited": .bool(true)]) }
      try book.change(id) { $0.name = "Berlin Mitte" }
      let item = try #require(book.journal.state.item(id.item))
      let attributes: [String: FieldValue] = [
        "name": .string("Berlin Mitte"), "latitude": .double(52.52), "longitude": .double(13.405),
        "visited": .bool(true),
      ]
      #expect(item.kind == "place")
      #expect(item.attributes == attributes)
    }
  }
}
