extension EntityRecord {
  /// The attributes whose texts are labels, the first one that a record has.
  package static let labelNames = ["title", "name", "path"]
  /// Texts of up to this many characters are short enough for a label.
  private static let labelLimit = 80
  /// No short text has so many bytes.
  private static let largeByteCount = 4096

  /// The attribute `title`, `name` or `path`, or the first short text; nil if there is none.
  ///
  /// A name in parts, such as `{"common": "Germany", "official": …}`, gives its first part.
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

  /// This record without large attributes that no label comes from.
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
