public import Foundation
import PropertyLists

/// Distances from the four edges of a rectangle.
public struct ArchivedInsets: Hashable, Sendable {
  /// The distance from the top edge.
  public var top: Double
  /// The distance from the left edge.
  public var left: Double
  /// The distance from the bottom edge.
  public var bottom: Double
  /// The distance from the right edge.
  public var right: Double
}

/// A C value that an `NSValue` holds, with its Objective-C type.
public struct ArchivedCValue: Sendable {
  /// The type in Objective-C's encoding, such as `[3i]`.
  public let type: String
  /// The value. If it is a C array, ``ArchivedValue/array`` gives its elements.
  public let value: ArchivedValue
}

extension ArchivedValue {
  /// The point that an `NSValue`, or a string such as `{1, 2}`, holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if an `NSValue` is declared as a point and contains none.
  public var point: CGPoint? {
    get throws(ArchiveError) {
      try geometry("NS.pointval", GeometryText.pair, special: 1).map { CGPoint(x: $0[0], y: $0[1]) }
    }
  }

  /// The size that an `NSValue`, or a string such as `{1, 2}`, holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if an `NSValue` is declared as a size and contains none.
  public var size: CGSize? {
    get throws(ArchiveError) {
      try geometry("NS.sizeval", GeometryText.pair, special: 2).map { CGSize(width: $0[0], height: $0[1]) }
    }
  }

  /// The rectangle that an `NSValue`, or a string such as `{{0, 0}, {1, 2}}`, holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if an `NSValue` is declared as a rectangle and contains none.
  public var rect: CGRect? {
    get throws(ArchiveError) {
      try geometry("NS.rectval", GeometryText.rectangle, special: 3).map {
        CGRect(x: $0[0], y: $0[1], width: $0[2], height: $0[3])
      }
    }
  }

  /// The insets that an `NSValue`, or a string such as `{1, 2, 3, 4}`, holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if an `NSValue` is declared as insets and contains none.
  public var insets: ArchivedInsets? {
    get throws(ArchiveError) {
      if case .string(let text) = self {
        return GeometryText.numbers(in: text, template: GeometryText.insets).map {
          ArchivedInsets(top: $0[0], left: $0[1], bottom: $0[2], right: $0[3])
        }
      }
      guard let object = try special(12) else { return nil }
      guard let top = try object.double("NS.edgeval.top"), let left = try object.double("NS.edgeval.left"),
        let bottom = try object.double("NS.edgeval.bottom"), let right = try object.double("NS.edgeval.right")
      else {
        throw object.malformed("the insets don't have four numbers")
      }
      return ArchivedInsets(top: top, left: left, bottom: bottom, right: right)
    }
  }

  /// The transform that an `NSAffineTransform`, or a string such as `[1, 0, 0, 1, 0, 0]`, holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if an `NSAffineTransform` doesn't hold six numbers.
  public var transform: AffineTransform? {
    get throws(ArchiveError) {
      if case .string(let text) = self {
        return GeometryText.numbers(in: text, template: GeometryText.transform).map(AffineTransform.init)
      }
      guard let object = kind(of: "NSAffineTransform") else { return nil }
      guard let data = try object.data("NSTransformStruct"), data.count == 24 else {
        throw object.malformed("NSTransformStruct doesn't have 24 bytes")
      }
      let bytes = [UInt8](data)
      return AffineTransform(
        stride(from: 0, to: 24, by: 4).map { start in
          let bits = bytes[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
          return Double(Float(bitPattern: bits))
        })
    }
  }

  /// The range that an `NSValue` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if a number is missing or negative, or the end exceeds
  ///   `Int.max`.
  public var range: Range<Int>? {
    get throws(ArchiveError) {
      guard let object = try special(4) else { return nil }
      guard let start = try object.integer("NS.rangeval.location"),
        let length = try object.integer("NS.rangeval.length"), let range = Range(start: start, length: length)
      else {
        throw object.malformed("the range has no location and length, or impossible ones")
      }
      return range
    }
  }

  /// The C value that an `NSValue` of any other kind holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no type or no value.
  public var cValue: ArchivedCValue? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSValue"), try object["NS.special"] == nil else { return nil }
      let parts = try object.unkeyedValues
      guard parts.count == 2, let type = try parts[0].string else {
        throw object.malformed("the value has no type and content")
      }
      return ArchivedCValue(type: type, value: try parts[1])
    }
  }

  /// The numbers of a text in the form of `template`. The text is this value, or is under `key` of an `NSValue`.
  private func geometry(
    _ key: String, _ template: String, special number: Int
  ) throws(ArchiveError) -> [Double]? {
    if case .string(let text) = self { return GeometryText.numbers(in: text, template: template) }
    guard let object = try special(number) else { return nil }
    guard let text = try object.string(key), let numbers = GeometryText.numbers(in: text, template: template)
    else {
      throw object.malformed("\(key) is not in the form \(template)")
    }
    return numbers
  }

  /// The object, if it is an `NSValue` of the kind with this number.
  private func special(_ number: Int) throws(ArchiveError) -> ArchivedObject? {
    guard let object = kind(of: "NSValue"), try object.integer("NS.special") == number else { return nil }
    return object
  }
}

extension AffineTransform {
  fileprivate init(_ numbers: [Double]) {
    self.init(
      m11: numbers[0], m12: numbers[1], m21: numbers[2], m22: numbers[3], tX: numbers[4], tY: numbers[5])
  }
}

extension Range<Int> {
  /// A range, or nil if a number is negative or the end is beyond the largest integer.
  init?(start: Int, length: Int) {
    let (end, overflow) = start.addingReportingOverflow(length)
    guard start >= 0, length >= 0, !overflow else { return nil }
    self = start..<end
  }
}
