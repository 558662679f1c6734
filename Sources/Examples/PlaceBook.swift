import CatalogModel
import Foundation

/// A point on the Earth.
struct Coordinate: Equatable {
  let latitude: Double
  let longitude: Double

  /// A latitude from -90 to 90 degrees and a longitude from -180 to 180; nil for anything else.
  init?(latitude: Double, longitude: Double) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
    self.latitude = latitude
    self.longitude = longitude
  }

  /// The length of the shortest way over the ground, in meters, on a ball of the Earth's mean radius.
  func distance(to other: Coordinate) -> Double {
    let radians = Double.pi / 180
    let north = sin((other.latitude - latitude) * radians / 2)
    let east = sin((other.longitude - longitude) * radians / 2)
    // The haversine formula: exact for neighbors too, where an arc cosine has no digits left.
    let haversine =
      north * north + cos(latitude * radians) * cos(other.latitude * radians) * east * east
    return 2 * 6_371_008.8 * asin(min(1, haversine.squareRoot()))
  }
}

/// A point of interest, as a search of a map finds it, and what its user says of it.
struct Place: Identifiable, Codable, Equatable {
  /// The number of the item that holds this place; 0 until there is one.
  var id = 0
  /// The number of its category, nil if it has none.
  var category: Int?

  var name: String
  var note: String?
  var address: String?
  var phoneNumber: String?
  var url: String?
  /// In degrees, as is the longitude.
  var latitude: Double?
  var longitude: Double?

  // The item knows its number and its category itself.
  private enum CodingKeys: CodingKey { case name, note, address, phoneNumber, url, latitude, longitude }

  /// Where it is, nil if that is unknown.
  var coordinate: Coordinate? {
    guard let latitude, let longitude else { return nil }
    return Coordinate(latitude: latitude, longitude: longitude)
  }
}

extension Place {
  fileprivate init(_ item: Catalog.Item) throws {
    self = try item.decode()
    id = item.id
    category = item.category
  }

  fileprivate func checkCoordinate() throws {
    guard coordinate == nil, latitude != nil || longitude != nil else { return }
    throw JournalError(
      .rejected,
      "\(name) needs a latitude from -90 to 90 degrees together with a longitude from -180 to 180, or neither"
    )
  }
}

/// Places and their categories, kept in a journal: items of the kind `place`.
///
/// Categories are those of the catalog; adding, renaming, coloring and deleting them are its own verbs:
/// `try book.journal.commit { try $0.setColor(ofCategory: id, to: color) }`.
struct PlaceBook {
  /// What there is to choose from before a user has made categories of his own.
  static let defaultCategories: [(name: String, color: Catalog.Color?)] = [
    ("Restaurants", Catalog.Color(hex: "#E4572E")), ("Cafés", Catalog.Color(hex: "#A0703C")),
    ("Sights", Catalog.Color(hex: "#2E86AB")),
  ]

  let journal: CatalogJournal

  /// Opens the book. When it has no categories, as at the first launch, it gets the default ones.
  init(at url: URL) throws {
    journal = try .openOrCreate(at: url)
    try journal.commit(note: "default categories") { draft in
      guard draft.state.categoryCount == 0 else { return }
      for (name, color) in Self.defaultCategories { try draft.addCategory(name: name, color: color) }
    }
  }

  /// All categories, in the order in which they were added.
  var categories: [Catalog.Category] { Array(journal.state.categories) }

  /// All places, in the order in which they were added; as of an earlier time, if one is named.
  func places(asOf selector: RevisionSelector = .head()) throws -> [Place] {
    try journal.state(asOf: selector).items(ofKind: "place").map(Place.init)
  }

  /// The places of a category, in the order in which they were added.
  func places(in category: Int) throws -> [Place] {
    try journal.state.items(in: category).map(Place.init)
  }

  /// All places, the nearest first; then those without a coordinate.
  func places(nearestTo here: Coordinate) throws -> [Place] {
    try places().map { (place: $0, distance: $0.coordinate?.distance(to: here) ?? .infinity) }
      .sorted { ($0.distance, $0.place.id) < ($1.distance, $1.place.id) }.map(\.place)
  }

  /// Keeps a new place.
  /// - Returns: the place with the number it has got.
  @discardableResult
  func add(_ place: Place) throws -> Place {
    try place.checkCoordinate()
    var place = place
    place.id = try journal.commit(note: "add \(place.name)") {
      try $0.addItem(kind: "place", category: place.category, encoding: place)
    }.value
    return place
  }

  /// Keeps what is new of a place: its note, its category, all of it.
  func update(_ place: Place) throws {
    try place.checkCoordinate()
    try journal.commit(note: "change \(place.name)") { draft in
      try draft.updateItem(place.id, as: Place.self) { $0 = place }
      try draft.setCategory(ofItem: place.id, to: place.category)
    }
  }

  /// Takes a place out of the book.
  func remove(_ place: Place) throws {
    try journal.commit(note: "remove \(place.name)") { try $0.deleteItem(place.id) }
  }
}
