extension EntityRecord {
  /// The attributes whose texts are labels, the preferred one first.
  package static let labelNames = ["title", "name", "path"]
  /// Texts of up to this many characters are short enough for a label.
  private static let labelLimit = 80
  /// An attribute of more bytes can't be a short text.
  private static let largeByteCount = 4096

  /// A text for people: the attribute `title`, `name` or `path`, or else the first short text; nil without these.
  ///
  /// If the attribute is in parts, such as `{"common": "Germany", "official": …}`, the label is its first short text.
  public var label: String? { labelPart?.text }

  /// The label, and the attribute that it comes from.
  package var labelPart: (attribute: String, text: String)? {
    for name in Self.labelNames {
      switch self[name] {
      case .string(let text)? where !text.isEmpty: return (name, text)
      case .dictionary(let parts)?:
        let texts = parts.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.lazy.compactMap {
          Self.shortText($0.value)
        }
        if let text = texts.first { return (name, text) }
      default: continue
      }
    }
    var found: (attribute: String, text: String)?
    visit { key, value in
      if found == nil, case .attribute(let name) = key, let text = Self.shortText(value) {
        found = (name, text)
      }
    }
    return found
  }

  /// This record without the large attributes that can't be its label.
  var forLabel: EntityRecord {
    guard bytes.count > Self.largeByteCount else { return self }
    return applying(nil) { key, byteCount in
      guard case .attribute(let name) = key else { return true }
      return byteCount <= Self.largeByteCount || Self.labelNames.contains(name)
    }
  }

  private static func shortText(_ value: FieldValue) -> String? {
    guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= 4 * labelLimit,
      text.count <= labelLimit, !text.contains(where: \.isNewline)
    else { return nil }
    return text
  }
}
