public import Foundation
import PropertyLists

/// A place on Earth as Core Location archives it.
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
  /// The speed in meters per second. Negative if the speed is not known.
  public var speed: Double?
  /// The direction of travel, in degrees clockwise from true north. Negative if the direction is not known.
  public var course: Double?
  /// When the place was determined.
  public var timestamp: Date?
  /// The floor of a building, 0 for the ground floor; nil if the floor is not known.
  public var floor: Int?
}

extension ArchivedValue {
  /// The place that a `CLLocation` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if there is no coordinate, or a field has a value of a wrong type.
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
      let timestamp = try number("Timestamp").map { (seconds) throws(ArchiveError) in
        try ArchivedValue.date(seconds).date
      }
      return ArchivedLocation(
        latitude: latitude, longitude: longitude, horizontalAccuracy: try number("HorizontalAccuracy"),
        altitude: try number("Altitude"), verticalAccuracy: try number("VerticalAccuracy"),
        speed: try number("Speed"), course: try number("Course"),
        timestamp: timestamp ?? nil,
        // The largest signed number of 32 bits means that the floor is not known.
        floor: floor == 0x7FFF_FFFF ? nil : floor)
    }
  }
}
