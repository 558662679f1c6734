/// Overrides for the guess of which key in a file holds which attribute.
///
/// ```swift
/// var mapping = FieldMapping()
/// try mapping.add("name=shopName")
/// try mapping.add("latitude=spot.lat")
/// ```
public struct FieldMapping: Sendable {
  /// The keys by attribute.
  private(set) var keys: [String: String] = [:]
  /// The kind of the items. If nil, it is guessed.
  public var kind: String?

  /// No overrides.
  public init() {}

  /// Adds `FIELD=KEY`: the attribute FIELD comes from KEY, which is a key or a path of keys with dots.
  ///
  /// FIELD is an attribute such as `name`, `note` or `latitude`; `category` for an item's category; or `category.name`,
  /// `category.color` or `category.items` for a field of a category.
  /// - Throws: ``LegacyError`` with code `wrongUse` if the text has another form.
  public mutating func add(_ text: String) throws(LegacyError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts.contains("") else {
      throw LegacyError(.wrongUse, "a mapping has the form FIELD=KEY, but this is \"\(text)\"")
    }
    keys[parts[0]] = parts[1]
  }
}
