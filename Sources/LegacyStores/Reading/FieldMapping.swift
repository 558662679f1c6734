/// Overrides for the guess of which key in a file holds which attribute.
///
/// ```swift
/// var mapping = FieldMapping()
/// try mapping.add("name=shopName")
/// try mapping.add("latitude=spot.lat")
/// ```
public struct FieldMapping: Sendable {
  /// The keys by attribute. Nil for an attribute without a source.
  private(set) var keys: [String: String?] = [:]
  /// The kind of the items. If nil, it is guessed.
  public var kind: String?

  /// No overrides.
  public init() {}

  /// Adds `FIELD=KEY`: the attribute FIELD comes from KEY, which is a key or a path of keys with dots. Without a KEY,
  /// the attribute has no source, and the guess is dropped.
  ///
  /// FIELD is an attribute such as `name`, `note` or `latitude`; `category` for an item's category; or `category.name`,
  /// `category.color` or `category.items` for a field of a category.
  /// - Throws: ``LegacyError`` with code `wrongUse` if the text has another form.
  public mutating func add(_ text: String) throws(LegacyError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw LegacyError(.wrongUse, "a mapping has the form FIELD=KEY, but this is \"\(text)\"")
    }
    keys[parts[0]] = parts[1].isEmpty ? .some(nil) : parts[1]
  }

  /// Whether there is an override for an attribute.
  func has(_ attribute: String) -> Bool { keys[attribute] != nil }

  /// The key of an attribute: the one of the override, which may be nil, or the guessed one.
  func key(of attribute: String, else guess: @autoclosure () -> String?) -> String? {
    keys[attribute] ?? guess()
  }

  /// The overrides for attributes that are not guessed.
  func others(_ known: [String]) -> [(attribute: String, key: String)] {
    keys.compactMap { attribute, key in
      guard let key, !known.contains(attribute), !attribute.hasPrefix("category") else { return nil }
      return (attribute, key)
    }.sorted { $0.attribute < $1.attribute }
  }
}
