import CatalogModel
import Foundation

/// A point on the Earth.
struct Coordinate: Equatable {
  let latitude: Double
  let longitude: Double

  /// Makes a coordinate from a latitude of -90 to 90 degrees and a longitude of -180 to 180. Nil for any other numbers.
  init?(latitude: Double, longitude: Double) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
    self.latitude = latitude
    self.longitude = longitude
  }

  /// The shortest distance over the ground, in meters, on a sphere of the Earth's mean radius.
  func distance(to other: Coordinate) -> Double {
    let radians = Double.pi / 180
    let north = sin((other.latitude - latitude) * radians / 2)
    let east = sin((other.longitude - longitude) * radians / 2)
    // Unlike a formula with an arc cosine, the haversine formula is precise for nearby points.
    let haversine =
      north * north + cos(latitude * radians) * cos(other.latitude * radians) * east * east
    return 2 * 6_371_008.8 * asin(min(1, haversine.squareRoot()))
  }
}

/// A point of interest that a map search finds, with the user's note.
struct Place: CatalogItem, Equatable {
  static let kind = "place"

  var name: String
  var note: String?
  var address: String?
  var phoneNumber: String?
  var url: String?
  /// The latitude and the longitude are in degrees.
  var latitude: Double?
  var longitude: Double?

  var coordinate: Coordinate? {
    guard let latitude, let longitude else { return nil }
    return Coordinate(latitude: latitude, longitude: longitude)
  }

  fileprivate func checkCoordinate() throws {
    guard coordinate == nil, latitude != nil || longitude != nil else { return }
    throw JournalError(
      .rejected,
      "\(name) needs a latitude from -90 to 90 degrees together with a longitude from -180 to 180, or neither"
    )
  }
}

/// Places and their categories, kept in a journal.
///
/// Categories are those of the catalog. Use the draft's methods to add, rename, color and delete them:
/// `try book.journal.commit { try $0.setColor(ofCategory: id, to: color) }`.
struct PlaceBook {
  /// The categories of a new book.
  static let defaultCategories: [(name: String, color: Catalog.Color?)] = [
    ("Restaurants", Catalog.Color(hex: "#E4572E")), ("Cafés", Catalog.Color(hex: "#A0703C")),
    ("Sights", Catalog.Color(hex: "#2E86AB")),
  ]

  let journal: CatalogJournal

  /// Opens the book. If it has no categories, as at the first launch, it gets the default ones.
  init(at url: URL) throws {
    journal = try .openOrCreate(at: url)
    try journal.commit(note: "default categories") { draft in
      guard draft.state.categoryCount == 0 else { return }
      for (name, color) in Self.defaultCategories { try draft.addCategory(name: name, color: color) }
    }
  }

  /// All categories, in the order in which they were added.
  var categories: [Catalog.Category] { Array(journal.state.categories) }

  /// All places, in the order in which they were added; now, or as of an earlier time.
  func places(asOf selector: RevisionSelector = .head()) throws -> ItemQuery<Place> {
    try journal.state(asOf: selector).items()
  }

  /// The places of a category, in the order in which they were added.
  func places(in category: CategoryID) throws -> ItemQuery<Place> {
    try journal.state.items().filter(.category(category))
  }

  /// All places, the nearest first. Places without a coordinate come last.
  func places(nearestTo here: Coordinate) throws -> [StoredItem<Place>] {
    try places().map { (place: $0, distance: try $0.value.coordinate?.distance(to: here) ?? .infinity) }
      .sorted { ($0.distance, $0.place.id) < ($1.distance, $1.place.id) }.map(\.place)
  }

  /// Adds a place, to a category if one is given.
  @discardableResult
  func add(_ place: Place, in category: CategoryID? = nil) throws -> ItemID<Place> {
    try place.checkCoordinate()
    return try journal.commit(note: "add \(place.name)") { try $0.insert(place, category: category) }.value
  }

  /// Changes a place.
  func change(_ id: ItemID<Place>, _ body: (inout Place) throws -> Void) throws {
    try journal.commit(note: "change") { draft in
      try draft.update(id) { place in
        try body(&place)
        try place.checkCoordinate()
      }
    }
  }

  /// Moves a place to a category, or out of its category if `category` is nil.
  func setCategory(of id: ItemID<Place>, to category: CategoryID?) throws {
    try journal.commit(note: "sort") { try $0.setCategory(of: id, to: category) }
  }

  /// Removes a place from the book.
  func remove(_ id: ItemID<Place>) throws {
    try journal.commit(note: "remove") { try $0.delete(id) }
  }
}
