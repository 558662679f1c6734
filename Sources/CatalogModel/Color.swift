package import CBOR

extension Catalog {
  /// A color in the sRGB color space. Components are from 0 to 1. Values outside that range, as in extended ranges, are
  /// kept.
  public struct Color: Hashable, Sendable {
    /// The red component, from 0 to 1. In extended ranges it can be outside.
    public let red: Double
    /// The green component, from 0 to 1. In extended ranges it can be outside.
    public let green: Double
    /// The blue component, from 0 to 1. In extended ranges it can be outside.
    public let blue: Double
    /// The opacity, from 0 (transparent) to 1 (opaque).
    public let alpha: Double

    /// A color of these components, opaque by default.
    public init(red: Double, green: Double, blue: Double, alpha: Double = 1) {
      self.red = red
      self.green = green
      self.blue = blue
      self.alpha = alpha
    }

    /// Reads `#RRGGBBAA` or, for an opaque color, `#RRGGBB`. `#RGBA` and `#RGB` double each digit, as in CSS: `#F80` is
    /// `#FF8800`. Nil for any other text, such as one without the `#`.
    ///
    /// For a category, nil means no color. So if the text comes from a user, check the result for nil first.
    public init?(hex: String) {
      guard hex.utf8.first == UInt8(ascii: "#") else { return nil }
      var digits = Array(hex.utf8.dropFirst())
      if digits.count == 3 || digits.count == 4 { digits = digits.flatMap { [$0, $0] } }
      if digits.count == 6 { digits += "FF".utf8 }
      // `UInt32` would accept a sign, which comes before the digits in ASCII.
      guard digits.count == 8, digits[0] >= UInt8(ascii: "0"),
        let number = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
      else { return nil }
      func component(_ shift: UInt32) -> Double { Double(number >> shift & 0xFF) / 255 }
      self.init(red: component(24), green: component(16), blue: component(8), alpha: component(0))
    }

    /// The color as `#RRGGBBAA`. Each component is rounded to the nearest of 256 steps from 0 to 1.
    public var hex: String {
      "#"
        + [red, green, blue, alpha].map { component in
          let step = component.isNaN ? 0 : Int((min(max(component, 0), 1) * 255).rounded())
          return (step < 16 ? "0" : "") + String(step, radix: 16, uppercase: true)
        }.joined()
    }

    /// The color as a record has it.
    var value: FieldValue { .array([.double(red), .double(green), .double(blue), .double(alpha)]) }

    /// Reads a color as a record has it. Nil for any other value.
    package init?(_ value: FieldValue) {
      guard case .array(let elements) = value, elements.count == 4,
        case .double(let red) = elements[0], case .double(let green) = elements[1],
        case .double(let blue) = elements[2], case .double(let alpha) = elements[3]
      else { return nil }
      self.init(red: red, green: green, blue: blue, alpha: alpha)
    }
  }
}

extension Catalog.Color: CustomStringConvertible {
  /// The color as `#RRGGBBAA`, like ``hex``.
  public var description: String { hex }
}
