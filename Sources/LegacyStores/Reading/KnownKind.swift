import CatalogModel

/// The kinds and attributes of small apps, and the keys under which such apps store them.
///
/// The attributes are those of `Sources/Examples`, so that the models there can read what an import made.
struct KnownKind {
  enum ValueType {
    case text
    case number
  }

  struct Property {
    /// The attribute, as a path.
    let attribute: String
    let type: ValueType
    /// Keys in files, most likely first.
    let keys: [String]
    /// The default value. Nil if the attribute may be absent.
    var standard: FieldValue?

    static func text(_ attribute: String, _ keys: [String], standard: FieldValue? = nil) -> Property {
      Property(attribute: attribute, type: .text, keys: keys, standard: standard)
    }

    static func number(_ attribute: String, _ keys: [String], standard: FieldValue? = nil) -> Property {
      Property(attribute: attribute, type: .number, keys: keys, standard: standard)
    }
  }

  let name: String
  let properties: [Property]
  /// Attributes that do not come from keys of a file.
  var others: [String] = []

  /// Whether this name is reserved for an attribute of this kind, so that other fields must not have it.
  func reserves(_ key: String) -> Bool {
    others.contains(key)
      || properties.contains { $0.attribute == key || $0.attribute.hasPrefix(key + ".") }
  }

  static let place = KnownKind(
    name: "place",
    properties: [
      .text("name", placeNameKeys, standard: ""),
      .text(
        "note", ["note", "notes", "customNote", "userNote", "description", "placeDescription", "comment"]),
      .text("address", ["address", "formattedAddress"]),
      .text("phoneNumber", ["phoneNumber", "phone", "telephone"]),
      .text("url", ["url", "URL", "website", "homepage"]),
      .number("latitude", latitudeKeys),
      .number("longitude", longitudeKeys),
    ])

  static let person = KnownKind(
    name: "person",
    properties: [
      .text("name", ["name", "fullName"], standard: ""),
      .text("number", personNumberKeys, standard: ""),
    ])

  static let bug = KnownKind(
    name: "bug",
    properties: [
      .text("title", ["Title", "title", "name"], standard: ""),
      .number("rating", ["Rating", "rating"], standard: 0.0),
    ])

  static let toDo = KnownKind(
    name: "toDo",
    properties: [
      .text("title", ["titleKey", "title"]),
      .text("description", ["itemDescriptionKey", "itemDescription", "descriptionKey", "description"]),
      .number("timestamp", ["timestampKey", "timestamp"]),
      .text("location.name", ["locationKey.nameKey", "location.name"]),
      .number("location.latitude", ["locationKey.latitudeKey", "location.latitude"]),
      .number("location.longitude", ["locationKey.longitudeKey", "location.longitude"]),
    ],
    others: ["done", "order"])

  /// The kind of elements that have certain keys and are not to-dos.
  /// - Parameters:
  ///   - has: whether some elements have one of these keys.
  ///   - isPlace: whether they are places whatever keys they have.
  static func guess(_ has: ([String]) -> Bool, isPlace: Bool = false) -> KnownKind? {
    if has(["Title", "title"]) && has(["Rating", "rating"]) { return bug }
    if isPlace || has(latitudeKeys) && has(longitudeKeys) { return place }
    return has(["name"]) && has(personNumberKeys) ? person : nil
  }

  static func named(_ name: String) -> KnownKind? { [place, person, bug, toDo].first { $0.name == name } }

  static let placeNameKeys = ["locationName", "placeName", "poiName", "name", "title", "placeTitle"]
  static let personNumberKeys = ["number", "phoneNumber", "phone", "telephone"]
  static let latitudeKeys = [
    "latitude", "lat", "latitudeKey", "coordinateLatitude", "kCLLocationCodingKeyCoordinateLatitude",
    "yCoordinate",
  ]
  static let longitudeKeys = [
    "longitude", "lon", "lng", "long", "longitudeKey", "coordinateLongitude",
    "kCLLocationCodingKeyCoordinateLongitude", "xCoordinate",
  ]

  /// Keys of an item's category.
  static let categoryKeys = ["category", "poiCategory", "placeCategory", "cat", "categories"]
  /// Keys of a category.
  static let categoryNameKeys = ["categoryName", "cat_title", "name", "title", "catName"]
  static let categoryColorKeys = ["color", "cat_color", "categoryColor", "colour", "uiColor"]
  static let categoryItemKeys = [
    "pointsOfInterest", "cat_pois", "pois", "places", "items", "poiArray", "placesOfInterest", "annotations",
  ]
}
