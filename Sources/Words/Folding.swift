import Foundation

/// What a scalar is in a text, and the bytes that a word has in its place.
///
/// Canonical decompositions and case mappings of assigned characters never change between versions of Unicode, and all
/// characters that Unicode 15 does not have are letters. So two systems fold a text alike.
struct Folding: Sendable {
  enum Role: Sendable {
    /// Ends a word.
    case separator
    /// Leaves no trace, such as an accent.
    case ignored
    /// Belongs to the character before it, such as a vowel sign.
    case mark
    /// Belongs to a word.
    case letter
    /// Begins a character of a script without spaces between words.
    case ideograph
  }

  let role: Role
  let bytes: [UInt8]

  /// The foldings of most alphabets, by scalar.
  private static let table: [Folding] = (0..<0x3000).map { value in
    Unicode.Scalar(value as Int).map { Folding(computing: $0) } ?? Folding(role: .separator, bytes: [])
  }

  static func of(_ scalar: Unicode.Scalar) -> Folding {
    switch scalar.value {
    case 0..<0x3000: table[Int(scalar.value)]
    // The most frequent ideographs need no look at their properties.
    case 0x4E00...0x9FFF: Folding(role: .ideograph, bytes: Array(String(scalar).utf8))
    default: Folding(computing: scalar)
    }
  }

  private init(role: Role, bytes: [UInt8]) {
    self.role = role
    self.bytes = bytes
  }

  private init(computing scalar: Unicode.Scalar) {
    guard let age = scalar.properties.age, age.major < 15 || age == (15, 0) else {
      self.init(role: .letter, bytes: Array(String(scalar).utf8))
      return
    }
    var folded = Self.decomposed(scalar).filter { !$0.isAccent }
    // In both directions, which also equates the two forms of sigma, and ß with ss.
    folded = folded.flatMap { $0.properties.uppercaseMapping.unicodeScalars }
      .flatMap { $0.properties.lowercaseMapping.unicodeScalars }
      .flatMap(Self.decomposed).filter { !$0.isAccent }
    guard let first = folded.first else {
      self.init(role: .ignored, bytes: [])
      return
    }
    let role: Role =
      switch first.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
        .decimalNumber, .letterNumber, .otherNumber, .privateUse:
        first.isIdeograph ? .ideograph : first.isLaterJamo ? .mark : .letter
      case .nonspacingMark, .spacingMark, .enclosingMark: .mark
      case .format: scalar.value == 0x200B ? .separator : .ignored
      default: .separator
      }
    self.init(role: role, bytes: folded.flatMap { Array(String($0).utf8) })
  }

  private static func decomposed(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    if let jamo = scalar.jamo { return jamo }
    // Narrow and wide forms have only compatibility decompositions.
    let text = String(scalar)
    let isWidth = (0xFF00...0xFFEF).contains(scalar.value)
    return Array(
      (isWidth ? text.decomposedStringWithCompatibilityMapping : text.decomposedStringWithCanonicalMapping)
        .unicodeScalars)
  }
}

extension Unicode.Scalar {
  /// Whether this is a mark that a search ignores. Marks of lower classes, such as signs of vowels and voiced kana, make
  /// another letter, and so do those of the classes 84 to 132: signs of Telugu, Thai, Lao and Tibetan.
  fileprivate var isAccent: Bool {
    let mark = properties.canonicalCombiningClass.rawValue
    return mark > 9 && !(84...132).contains(mark) || properties.isVariationSelector
  }

  fileprivate var isIdeograph: Bool {
    switch value {
    case 0x1100...0x115F, 0x3005...0x3007, 0x3041...0x30FF, 0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xA960...0xA97F, 0xF900...0xFAFF, 0x20000...0x3FFFF:
      true
    default: false
    }
  }

  /// The consonants and the vowel of a Hangul syllable; nil for other characters.
  fileprivate var jamo: [Unicode.Scalar]? {
    guard (0xAC00...0xD7A3).contains(value) else { return nil }
    let place = value - 0xAC00
    let last = place % 28
    return ([0x1100 + place / 588, 0x1161 + place % 588 / 28] + (last > 0 ? [0x11A7 + last] : []))
      .compactMap(Unicode.Scalar.init)
  }

  /// Whether this is a vowel or a final consonant of a decomposed Hangul syllable.
  fileprivate var isLaterJamo: Bool {
    switch value {
    case 0x1160...0x11FF, 0xD7B0...0xD7FF: true
    default: false
    }
  }
}
