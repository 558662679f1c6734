import Foundation
import PropertyLists

/// A color as UIKit or AppKit archived it.
public struct ArchivedColor: Hashable, Sendable {
  /// The meaning of a color's components.
  public enum Space: Hashable, Sendable {
    /// One component, from black to white.
    case white
    /// Red, green and blue of a device or of sRGB, as in UIKit.
    case rgb
    /// Red, green and blue in AppKit's calibrated ("generic") space.
    case calibratedRGB
    /// Cyan, magenta, yellow and black.
    case cmyk
    /// Components of a color space with its own profile.
    case custom
  }

  /// The meaning of the components.
  public var space: Space
  /// The components without the opacity, usually from 0 to 1. Those of wide colors may be outside this range.
  public var components: [Double]
  /// The opacity, from 0 to 1.
  public var alpha: Double
  /// The name of a color that the system or a catalog defines, such as `systemBlueColor`; nil for other colors.
  public var name: String?
  /// For a color in a color space of its own: red, green and blue in the calibrated space. AppKit stores them for
  /// readers that don't know the color's space.
  public var fallback: [Double]?

  /// Red, green, blue and opacity. For a color in a space with a profile, these are the values that the archive has for
  /// readers that don't know the profile or, without those, the first three components. No profile is applied.
  public var rgba: (red: Double, green: Double, blue: Double, alpha: Double) {
    let parts = fallback ?? components
    switch (space, parts.count) {
    case (.cmyk, 4):
      let light = 1 - parts[3]
      return ((1 - parts[0]) * light, (1 - parts[1]) * light, (1 - parts[2]) * light, alpha)
    case (_, 3...): return (parts[0], parts[1], parts[2], alpha)
    default:
      let white = parts.first ?? 0
      return (white, white, white, alpha)
    }
  }
}

extension ArchivedValue {
  /// The color that a `UIColor` or an `NSColor` holds. Nil for colors without components, such as patterns: read the
  /// fields of the object instead.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if components are missing, not numbers or not finite.
  public var color: ArchivedColor? {
    get throws(ArchiveError) {
      guard let object = kind(of: "UIColor", "NSColor") else { return nil }
      var color = try object.componentsAsNumbers()
      if color == nil { color = try object.catalogColor() }
      guard let color else { return nil }
      guard (color.components + [color.alpha] + (color.fallback ?? [])).allSatisfy(\.isFinite) else {
        throw object.malformed("a component of the color is not a finite number")
      }
      return color
    }
  }
}

extension ArchivedObject {
  /// UIKit's own fields. Components have single precision; if that is inexact, newer systems add the value in double
  /// precision.
  fileprivate func componentsAsNumbers() throws(ArchiveError) -> ArchivedColor? {
    func component(_ key: String) throws(ArchiveError) -> Double? { try double("\(key)-Double", key) }
    let name = try string("UISystemColorName")
    let alpha = try component("UIAlpha") ?? 1
    guard let red = try component("UIRed") else {
      guard let white = try component("UIWhite") else { return nil }
      return ArchivedColor(space: .white, components: [white], alpha: alpha, name: name)
    }
    guard let green = try component("UIGreen"), let blue = try component("UIBlue") else {
      throw malformed("the color has UIRed, but not UIGreen and UIBlue")
    }
    return ArchivedColor(space: .rgb, components: [red, green, blue], alpha: alpha, name: name)
  }

  /// The color in AppKit's fields. A catalog color contains the color that it had when it was archived. This can be a
  /// catalog color too, so up to 8 of them are followed.
  fileprivate func catalogColor() throws(ArchiveError) -> ArchivedColor? {
    var object = self
    var name: String?
    for _ in 0..<8 {
      guard try object.integer("NSColorSpace") == 6 else { break }
      if name == nil { name = try object.string("NSColorName") }
      guard let next = try object.object("NSColor", of: "NSColor") else { return nil }
      object = next
    }
    if name == nil { name = try object.string("UISystemColorName") }
    var color = try object.componentsAsText()
    color?.name = name
    return color
  }

  /// The color from AppKit's component fields, which UIKit writes too.
  private func componentsAsText() throws(ArchiveError) -> ArchivedColor? {
    let rgb = try numbers("NSRGB", 3...4)
    if let all = try numbers("NSComponents", 2...16) {
      return ArchivedColor(
        space: .custom, components: all.dropLast(), alpha: all[all.count - 1],
        fallback: rgb.map { Array($0.prefix(3)) })
    }
    func color(_ space: ArchivedColor.Space, _ numbers: [Double], _ count: Int) -> ArchivedColor {
      ArchivedColor(
        space: space, components: Array(numbers.prefix(count)),
        alpha: numbers.count > count ? numbers[count] : 1)
    }
    if let rgb { return color(try integer("NSColorSpace") == 1 ? .calibratedRGB : .rgb, rgb, 3) }
    if let white = try numbers("NSWhite", 1...2) { return color(.white, white, 1) }
    return try numbers("NSCMYK", 4...5).map { color(.cmyk, $0, 4) }
  }

  /// The numbers in a field: ASCII, separated by spaces, and sometimes followed by a zero byte.
  private func numbers(_ key: String, _ counts: ClosedRange<Int>) throws(ArchiveError) -> [Double]? {
    guard let data = try data(key) else { return nil }
    let words = data.prefix { $0 != 0 }.split(separator: UInt8(ascii: " "))
    let numbers = words.compactMap { Double(String(decoding: $0, as: UTF8.self)) }
    guard numbers.count == words.count, counts.contains(numbers.count) else {
      throw malformed("\(key) is not a list of numbers")
    }
    return numbers
  }
}

/// Colors. Components are between 0 and 1. In extended color spaces they may be outside this range.
extension ArchiveNode {
  /// A `UIColor` of the RGB space.
  public static func uiColor(
    red: Double, green: Double, blue: Double, alpha: Double = 1
  ) -> ArchiveNode {
    let components = [("UIRed", red), ("UIGreen", green), ("UIBlue", blue), ("UIAlpha", alpha)]
    var fields: [(key: String, value: Value)] = [("UIColorComponentCount", .integer(4))]
    for (key, value) in components { fields.append((key, .float(Float(value)))) }
    // UIKit adds the exact number if four bytes can't hold it.
    for (key, value) in components where Double(Float(value)) != value {
      fields.append((key + "-Double", .real(value)))
    }
    fields.append(("NSRGB", text(components.map(\.1)) { String(format: "%.3g", $0) }))
    fields.append(("NSColorSpace", .integer(2)))
    return ArchiveNode(content: .object(.uiColor, fields))
  }

  /// An `NSColor` of the calibrated RGB space.
  public static func nsColor(
    red: Double, green: Double, blue: Double, alpha: Double = 1
  ) -> ArchiveNode {
    // AppKit writes the text as a C string, with its terminating zero, and integral numbers without a fraction.
    let text = text([red, green, blue, alpha], end: "\0") { number in
      number.description.hasSuffix(".0") ? String(number.description.dropLast(2)) : number.description
    }
    return ArchiveNode(.nsColor, ["NSColorSpace": .integer(1), "NSRGB": text])
  }

  /// Components as text. The last one is the opacity, which is omitted if it is 1.
  private static func text(
    _ components: [Double], end: String = "", _ text: (Double) -> String
  ) -> Value {
    let shown = components.last == 1 ? components.dropLast() : components[...]
    return .bytes(Array((shown.map(text).joined(separator: " ") + end).utf8))
  }
}
