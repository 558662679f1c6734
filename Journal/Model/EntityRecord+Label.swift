extension EntityRecord {
  /// Texts of up to this many characters are short enough for a label.
  private static let labelLimit = 80
  private static let labelNames = ["title", "name", "path"]
  /// No short text has so many bytes.
  private static let largeByteCount = 4096

  /// The attribute `title`, `name` or `path`, or the first short text; nil if there is none.
  ///
  /// A name in parts, such as `{"common": "Germany", "official": …}`, gives its first part.
  public var label: String? {
    for name in Self.labelNames {
      switch self[name] {
      case .string(let text)? where !text.isEmpty: return text
      case .dictionary(let parts)?:
        let texts = parts.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.lazy.compactMap {
          Self.shortText($0.value)
        }
        if let text = texts.first { return text }
      default: continue
      }
    }
    var found: String?
    visit { key, value in
      if found == nil, case .attribute = key { found = Self.shortText(value) }
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
