public import Foundation
import PropertyLists

/// A kind of geometric value: a text of numbers, which is in a field by itself or in an `NSValue`.
struct GeometryForm: Sendable {
  /// The field of an `NSValue` that holds the text.
  let key: String
  /// The number of the kind in the field `NS.special`.
  let special: Int64
  /// The text, with `n` for each number.
  let template: String

  static let point = GeometryForm(key: "NS.pointval", special: 1, template: "{n, n}")
  static let size = GeometryForm(key: "NS.sizeval", special: 2, template: "{n, n}")
  static let rect = GeometryForm(key: "NS.rectval", special: 3, template: "{{n, n}, {n, n}}")

  /// The numbers of a text in this form, or nil if it has another. White space is ignored.
  func numbers(in text: String) -> [Double]? {
    var rest = Substring(text).utf8
    var numbers: [Double] = []
    for mark in template.utf8 where mark != UInt8(ascii: " ") {
      rest = rest.drop(while: Self.isSpace)
      if mark == UInt8(ascii: "n") {
        let token = rest.prefix { !Self.isSpace($0) && !"{},".utf8.contains($0) }
        guard let number = Double(String(Substring(token))) else { return nil }
        numbers.append(number)
        rest = rest.dropFirst(token.count)
      } else {
        guard rest.first == mark else { return nil }
        rest = rest.dropFirst()
      }
    }
    return rest.allSatisfy(Self.isSpace) ? numbers : nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  /// The text that holds these numbers.
  func text(_ numbers: [Double]) -> String {
    var rest = numbers[...]
    return template.reduce(into: "") { text, mark in
      text += mark == "n" ? rest.popFirst().map(numberText) ?? "" : String(mark)
    }
  }

  /// An `NSValue` that holds these numbers.
  func node(_ numbers: [Double]) -> ArchiveNode {
    ArchiveNode(.value, [key: .string(text(numbers)), "NS.special": .integer(special)])
  }
}

extension ArchivedValue {
  /// The point that an `NSValue`, or a string such as `{1, 2}`, holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if an `NSValue` is declared as a point and contains none.
  public var point: CGPoint? {
    get throws(ArchiveError) { try numbers(.point).map { CGPoint(x: $0[0], y: $0[1]) } }
  }

  /// The size that an `NSValue`, or a string such as `{1, 2}`, holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if an `NSValue` is declared as a size and contains none.
  public var size: CGSize? {
    get throws(ArchiveError) { try numbers(.size).map { CGSize(width: $0[0], height: $0[1]) } }
  }

  /// The rectangle that an `NSValue`, or a string such as `{{0, 0}, {1, 2}}`, holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if an `NSValue` is declared as a rectangle and contains none.
  public var rect: CGRect? {
    get throws(ArchiveError) {
      try numbers(.rect).map { CGRect(x: $0[0], y: $0[1], width: $0[2], height: $0[3]) }
    }
  }

  private func numbers(_ form: GeometryForm) throws(ArchiveError) -> [Double]? {
    if case .string(let text) = self { return form.numbers(in: text) }
    guard let object = kind(of: "NSValue"), try object.integer("NS.special") == Int(form.special) else {
      return nil
    }
    guard let numbers = try object.string(form.key).flatMap(form.numbers) else {
      throw object.malformed("\(form.key) is not in the form \(form.template)")
    }
    return numbers
  }
}

/// The shortest text that reads as the same number, without a fraction if the number is integral.
func numberText(_ number: Double) -> String {
  let text = number.description
  return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}
