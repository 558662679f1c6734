import Foundation
import PropertyLists

/// Colors. Components are between 0 and 1. In extended color spaces they may be outside this range.
extension ArchiveNode {
  /// A `UIColor` of the RGB space.
  public static func uiColor(
    red: Double, green: Double, blue: Double, alpha: Double = 1
  ) -> ArchiveNode {
    uiColor(
      [("UIRed", red), ("UIGreen", green), ("UIBlue", blue), ("UIAlpha", alpha)], textKey: "NSRGB", space: 2)
  }

  /// A `UIColor` of the gray space.
  public static func uiColor(white: Double, alpha: Double = 1) -> ArchiveNode {
    uiColor([("UIWhite", white), ("UIAlpha", alpha)], textKey: "NSWhite", space: 4)
  }

  private static func uiColor(
    _ components: [(key: String, value: Double)], textKey: String, space: Int64
  ) -> ArchiveNode {
    var fields: [(key: String, value: Value)] = [
      ("UIColorComponentCount", .integer(Int64(components.count)))
    ]
    for (key, value) in components { fields.append((key, .float(Float(value)))) }
    // UIKit adds the exact number if four bytes can't hold it.
    for (key, value) in components where Double(Float(value)) != value {
      fields.append((key + "-Double", .real(value)))
    }
    let shown = components.last?.value == 1 ? components.dropLast() : components[...]
    let text = shown.map { String(format: "%.3g", $0.value) }.joined(separator: " ")
    fields.append((textKey, .bytes(Array(text.utf8))))
    fields.append(("NSColorSpace", .integer(space)))
    return ArchiveNode(content: .object(.uiColor, fields))
  }

  /// An `NSColor` of the calibrated RGB space.
  public static func nsColor(
    red: Double, green: Double, blue: Double, alpha: Double = 1
  ) -> ArchiveNode {
    nsColor([red, green, blue, alpha], textKey: "NSRGB", space: 1)
  }

  /// An `NSColor` of the calibrated gray space.
  public static func nsColor(white: Double, alpha: Double = 1) -> ArchiveNode {
    nsColor([white, alpha], textKey: "NSWhite", space: 3)
  }

  private static func nsColor(_ components: [Double], textKey: String, space: Int64) -> ArchiveNode {
    let shown = components.last == 1 ? components.dropLast() : components[...]
    let text = shown.map(numberText).joined(separator: " ")
    // AppKit writes the text as a C string, with its terminating zero.
    return ArchiveNode(
      .nsColor, ["NSColorSpace": .integer(space), textKey: .bytes(Array(text.utf8) + [0])])
  }
}
