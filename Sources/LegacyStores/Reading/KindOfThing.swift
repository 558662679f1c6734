import CatalogModel

/// The kinds and attributes of the small apps, and the keys under which apps have written them.
///
/// The attributes are those of `Sources/Examples`, so that the models there read what an import made.
struct KindOfThing {
  enum Sort {
    case text
    case number
  }

  struct Property {
    /// The attribute, as a path.
    let attribute: String
    let sort: Sort
    /// Keys in files, most likely first.
    let keys: [String]
    /// The default value; nil if it may be absent.
    var standard: FieldValue?
  }

  let name: String
  let properties: [Property]
  /// Attributes that do not come from keys of a file.
  var others: [String] = []

  func property(_ attribute: String) -> Property? { properties.first { $0.attribute == attribute } }

  static let place = KindOfThing(
    name: "place",
    properties: [
      Property(
        attribute: "name", sort: .text,
        keys: ["locationName", "placeName", "poiName", "name", "title", "placeTitle"], standard: .string("")),
      Property(
        attribute: "note", sort: .text,
        keys: ["note", "notes", "customNote", "userNote", "description", "placeDescription", "comment"]),
      Property(attribute: "address", sort: .text, keys: ["address", "formattedAddress"]),
      Property(attribute: "phoneNumber", sort: .text, keys: ["phoneNumber", "phone", "telephone"]),
      Property(attribute: "url", sort: .text, keys: ["url", "URL", "website", "homepage"]),
      Property(attribute: "latitude", sort: .number, keys: latitudeKeys),
      Property(attribute: "longitude", sort: .number, keys: longitudeKeys),
    ])

  static let person = KindOfThing(
    name: "person",
    properties: [
      Property(attribute: "name", sort: .text, keys: ["name", "fullName"], standard: .string("")),
      Property(
        attribute: "number", sort: .text, keys: ["number", "phoneNumber", "phone", "telephone"],
        standard: .string("")),
    ])

  static let bug = KindOfThing(
    name: "bug",
    properties: [
      Property(attribute: "title", sort: .text, keys: ["Title", "title", "name"], standard: .string("")),
      Property(attribute: "rating", sort: .number, keys: ["Rating", "rating"], standard: .double(0)),
    ])

  static let toDo = KindOfThing(
    name: "toDo",
    properties: [
      Property(attribute: "title", sort: .text, keys: ["titleKey", "title"]),
      Property(
        attribute: "description", sort: .text,
        keys: ["itemDescriptionKey", "itemDescription", "descriptionKey", "description"]),
      Property(attribute: "timestamp", sort: .number, keys: ["timestampKey", "timestamp"]),
      Property(
        attribute: "location.name", sort: .text, keys: ["locationKey.nameKey", "location.name"]),
      Property(
        attribute: "location.latitude", sort: .number,
        keys: ["locationKey.latitudeKey", "location.latitude"]),
      Property(
        attribute: "location.longitude", sort: .number,
        keys: ["locationKey.longitudeKey", "location.longitude"]),
    ],
    others: ["done", "order"])

  static let all = [place, person, bug, toDo]

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
