public import Foundation
import PropertyLists

/// A place on Earth as Core Location archived it.
public struct ArchivedLocation: Hashable, Sendable {
  /// Degrees north of the equator. Core Location's invalid coordinate is -180°.
  public var latitude: Double
  /// Degrees east of Greenwich.
  public var longitude: Double
  /// The radius of uncertainty around the coordinate, in meters. Negative if the coordinate is not known.
  public var horizontalAccuracy: Double?
  /// Meters above sea level.
  public var altitude: Double?
  /// The uncertainty of the altitude, in meters. Negative if the altitude is not known.
  public var verticalAccuracy: Double?
  /// The speed in meters per second. Negative if it is not known.
  public var speed: Double?
  /// The uncertainty of the speed, in meters per second. Negative if the speed is not known.
  public var speedAccuracy: Double?
  /// The direction of travel, in degrees clockwise from true north. Negative if it is not known.
  public var course: Double?
  /// The uncertainty of the course, in degrees. Negative if the course is not known.
  public var courseAccuracy: Double?
  /// When the place was determined.
  public var timestamp: Date?
  /// The floor of a building. The ground floor is 0.
  public var floor: Int?
}

/// A circle on Earth that an app monitors.
public struct ArchivedRegion: Hashable, Sendable {
  /// What the app calls it.
  public var identifier: String
  /// Degrees north of the equator.
  public var latitude: Double
  /// Degrees east of Greenwich.
  public var longitude: Double
  /// The radius in meters.
  public var radius: Double
  /// Whether the app is notified when the device enters.
  public var notifiesOnEntry: Bool?
  /// Whether the app is notified when the device leaves.
  public var notifiesOnExit: Bool?
}

/// A place with its address.
public struct ArchivedPlacemark: Sendable {
  /// Where it is.
  public let location: ArchivedLocation?
  /// The area around it.
  public let region: ArchivedRegion?
  /// The address: `Street`, `City`, `ZIP`, `CountryCode`, `FormattedAddressLines` and so on.
  public let address: ArchivedDictionary?
  /// What is known to be there.
  public let areasOfInterest: [String]
}

extension ArchivedValue {
  /// The place that a `CLLocation` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no coordinate, or a field is of another kind.
  public var location: ArchivedLocation? {
    get throws(ArchiveError) {
      guard let object = kind(of: "CLLocation") else { return nil }
      func number(_ name: String) throws(ArchiveError) -> Double? {
        try object.double("kCLLocationCodingKey" + name)
      }
      guard let latitude = try number("CoordinateLatitude"), let longitude = try number("CoordinateLongitude")
      else {
        throw object.malformed("the location has no coordinate")
      }
      let floor = try object.integer("kCLLocationCodingKeyFloor")
      var timestamp: Date?
      if let seconds = try number("Timestamp") {
        timestamp = try ArchivedValue.date(seconds).date
      }
      return ArchivedLocation(
        latitude: latitude, longitude: longitude, horizontalAccuracy: try number("HorizontalAccuracy"),
        altitude: try number("Altitude"), verticalAccuracy: try number("VerticalAccuracy"),
        speed: try number("Speed"), speedAccuracy: try number("SpeedAccuracy"), course: try number("Course"),
        courseAccuracy: try number("CourseAccuracy"),
        timestamp: timestamp,
        // The largest signed number of 32 bits means that the floor is not known.
        floor: floor == 0x7FFF_FFFF ? nil : floor)
    }
  }

  /// The circle that a `CLCircularRegion` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no center, radius or identifier.
  public var region: ArchivedRegion? {
    get throws(ArchiveError) {
      guard let object = kind(of: "CLCircularRegion") else { return nil }
      guard let identifier = try object.string("kCLRegionCodingKeyIdentifier"),
        let latitude = try object.double("kCLCircularRegionCodingKeyCenterLatitude"),
        let longitude = try object.double("kCLCircularRegionCodingKeyCenterLongitude"),
        let radius = try object.double("kCLCircularRegionCodingKeyRadius")
      else {
        throw object.malformed("the region has no identifier, center or radius")
      }
      return ArchivedRegion(
        identifier: identifier, latitude: latitude, longitude: longitude, radius: radius,
        notifiesOnEntry: try object["kCLRegionCodingKeyNotifyOnEntry"]?.bool,
        notifiesOnExit: try object["kCLRegionCodingKeyNotifyOnExit"]?.bool)
    }
  }

  /// The place that a `CLPlacemark` or an `MKPlacemark` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if a part of it is broken.
  public var placemark: ArchivedPlacemark? {
    get throws(ArchiveError) {
      guard let object = kind(of: "CLPlacemark", "MKPlacemark") else { return nil }
      func part(_ name: String) throws(ArchiveError) -> ArchivedValue? {
        try object["kCLPlacemarkCodingKey" + name]
      }
      var areas: [String] = []
      for area in try part("AreasOfInterest")?.array?.elements() ?? [] {
        if let name = try area.string { areas.append(name) }
      }
      return ArchivedPlacemark(
        location: try part("Location")?.location, region: try part("Region")?.region,
        address: try part("Address")?.dictionary, areasOfInterest: areas)
    }
  }
}
