extension String {
  /// The text on one line, with everything escaped that could control the terminal or reorder text, because journals
  /// and repositories are not trusted.
  var printable: String {
    guard unicodeScalars.contains(where: \.steersTerminal) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      case "\r": text += "\\r"
      case _ where scalar.steersTerminal: text += "\\u{\(String(scalar.value, radix: 16))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The text, or if it has more characters than the limit, its beginning with an ellipsis.
  func shortened(to limit: Int) -> String {
    let head = prefix(limit)
    return head.endIndex == endIndex ? self : head.dropLast() + "…"
  }

  /// The text, or if it takes more columns of a terminal than the limit, its beginning with an ellipsis.
  func cut(toColumns limit: Int) -> String {
    if columns <= limit { return self }
    var text = ""
    var taken = 1
    for character in self {
      let width = String(character).columns
      if taken + width > limit { break }
      taken += width
      text.append(character)
    }
    return text + "…"
  }

  /// The number of columns that the text takes in a terminal.
  var columns: Int {
    if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
    return reduce(0) { $0 + ($1.unicodeScalars.first!.isWide ? 2 : 1) }
  }
}

extension Unicode.Scalar {
  fileprivate var steersTerminal: Bool {
    switch value {
    // C0, DEL and C1; the line and paragraph separators; marks and overrides of the writing direction.
    case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C: true
    default: false
    }
  }

  /// Whether the scalar takes two columns in a terminal, as the East Asian blocks and the emoji do.
  fileprivate var isWide: Bool {
    switch value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F1E6...0x1F1FF, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
      true
    default: properties.isEmojiPresentation
    }
  }
}

extension Int {
  /// The number with its digits in groups: `1,234,567`.
  var grouped: String {
    let digits = String(magnitude)
    var text = self < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }

  /// The number with a noun: `1 entry`, `2 entries`.
  func counted(_ singular: String, _ plural: String? = nil) -> String {
    "\(grouped) \(self == 1 ? singular : plural ?? singular + "s")"
  }
}

extension [String] {
  /// The elements as an enumeration: `a, b and c`.
  var enumerated: String {
    dropLast().map { "\($0), " }.joined().dropLast(2) + (count > 1 ? " and " : "") + (last ?? "")
  }

  /// The first elements, and the number of the others: `a, b and 7 more`.
  func listed(upTo limit: Int) -> String {
    prefix(limit).joined(separator: ", ") + (count > limit ? " and \((count - limit).grouped) more" : "")
  }
}
