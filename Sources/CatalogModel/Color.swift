import CBOR

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
    /// A category takes nil for no color. If the text comes from elsewhere, such as a user, check for nil first.
    public init?(hex: String) {
      guard hex.utf8.first == UInt8(ascii: "#") else { return nil }
      var digits = Array(hex.utf8.dropFirst())
      if digits.count == 3 || digits.count == 4 { digits = digits.flatMap { [$0, $0] } }
      guard digits.count == 6 || digits.count == 8 else { return nil }
      var components: [Double] = []
      for index in stride(from: 0, to: digits.count, by: 2) {
        guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else {
          return nil
        }
        components.append(Double(high * 16 + low) / 255)
      }
      self.init(
        red: components[0], green: components[1], blue: components[2],
        alpha: components.count == 4 ? components[3] : 1)
    }

    private static func value(_ digit: UInt8) -> Int? {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(digit - UInt8(ascii: "a")) + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(digit - UInt8(ascii: "A")) + 10
      default: nil
      }
    }

    /// The color as `#RRGGBBAA`. Each component is rounded to the nearest of 256 steps from 0 to 1.
    public var hex: String {
      let digits = Array("0123456789ABCDEF".utf8)
      var text = [UInt8(ascii: "#")]
      for component in [red, green, blue, alpha] {
        let step = component.isNaN ? 0 : Int((min(max(component, 0), 1) * 255).rounded())
        text.append(digits[step >> 4])
        text.append(digits[step & 15])
      }
      return String(decoding: text, as: UTF8.self)
    }

    /// The form in a record.
    var value: FieldValue { .array([.double(red), .double(green), .double(blue), .double(alpha)]) }

    /// Reads the form in a record. Nil for any other value.
    init?(_ value: FieldValue) {
      guard case .array(let elements) = value, elements.count == 4,
        case .double(let red) = elements[0], case .double(let green) = elements[1],
        case .double(let blue) = elements[2], case .double(let alpha) = elements[3]
      else { return nil }
      self.init(red: red, green: green, blue: blue, alpha: alpha)
    }
  }
}

extension Catalog.Color: CustomStringConvertible {
  /// The same as ``hex``.
  public var description: String { hex }
}
