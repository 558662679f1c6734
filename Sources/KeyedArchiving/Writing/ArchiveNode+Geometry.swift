public import Foundation

/// Points, sizes and rectangles as the text in a field of an object. For objects of their own, see `NSValue` below.
extension ArchiveNode.Value {
  /// A point as `encodeCGPoint` writes it.
  public static func point(x: Double, y: Double) -> Self { .string(pairText(x, y)) }

  /// A size as `encodeCGSize` writes it.
  public static func size(width: Double, height: Double) -> Self { .string(pairText(width, height)) }

  /// A rectangle as `encodeCGRect` writes it.
  public static func rect(x: Double, y: Double, width: Double, height: Double) -> Self {
    .string("{\(pairText(x, y)), \(pairText(width, height))}")
  }
}

extension ArchiveNode {
  /// An `NSValue` with a point.
  public static func pointValue(x: Double, y: Double) -> ArchiveNode {
    ArchiveNode(.value, ["NS.pointval": .point(x: x, y: y), "NS.special": .integer(1)])
  }

  /// An `NSValue` with a size.
  public static func sizeValue(width: Double, height: Double) -> ArchiveNode {
    ArchiveNode(.value, ["NS.sizeval": .size(width: width, height: height), "NS.special": .integer(2)])
  }

  /// An `NSValue` with a rectangle.
  public static func rectValue(x: Double, y: Double, width: Double, height: Double) -> ArchiveNode {
    ArchiveNode(
      .value,
      [
        "NS.rectval": .rect(x: x, y: y, width: width, height: height),
        "NS.special": .integer(3),
      ])
  }

  /// A `CLLocation`.
  ///
  /// - Parameters:
  ///   - latitude: in degrees.
  ///   - longitude: in degrees.
  ///   - altitude: in meters.
  ///   - horizontalAccuracy: in meters; negative if the coordinate is not valid.
  ///   - verticalAccuracy: in meters; negative if the altitude is not valid.
  ///   - course: in degrees clockwise from north; negative if unknown.
  ///   - speed: in meters per second; negative if unknown.
  ///   - timestamp: when it was measured.
  public static func location(
    latitude: Double, longitude: Double, altitude: Double = 0, horizontalAccuracy: Double = 0,
    verticalAccuracy: Double = -1, course: Double = -1, speed: Double = -1, timestamp: Date
  ) -> ArchiveNode {
    let fields: [(String, Value)] = [
      ("CoordinateLatitude", .real(latitude)),
      ("CoordinateLongitude", .real(longitude)),
      ("HorizontalAccuracy", .real(horizontalAccuracy)),
      ("Altitude", .real(altitude)),
      ("VerticalAccuracy", .real(verticalAccuracy)),
      ("Speed", .real(speed)),
      ("SpeedAccuracy", .real(-1)),
      ("Course", .real(course)),
      ("Timestamp", .real(timestamp.timeIntervalSinceReferenceDate)),
      ("Lifespan", .real(0)),
      ("Type", .integer(0)),
      // This number means that the floor is not known.
      ("Floor", .integer(0x7FFF_FFFF)),
      ("Integrity", .integer(0)),
      ("MatchInfo", .null),
    ]
    return ArchiveNode(
      content: .object(.location, fields.map { (key: "kCLLocationCodingKey" + $0.0, value: $0.1) }))
  }
}

private func pairText(_ first: Double, _ second: Double) -> String {
  "{\(numberText(first)), \(numberText(second))}"
}

/// The shortest text that reads as the same number, without a fraction if the number is integral.
func numberText(_ number: Double) -> String {
  let text = number.description
  return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}
