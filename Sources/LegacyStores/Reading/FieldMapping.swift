/// Which key of a file is which attribute, where the guess should be another.
///
/// ```swift
/// var mapping = FieldMapping()
/// try mapping.add("name=shopName")
/// try mapping.add("latitude=spot.lat")
/// ```
public struct FieldMapping: Sendable {
  /// What is wanted, by attribute; nil where the attribute shall come from nowhere.
  private(set) var keys: [String: String?] = [:]
  /// What the items shall be called; nil: guess.
  public var kind: String?

  /// No wishes: guess all of it.
  public init() {}

  /// Adds `FIELD=KEY`: the attribute FIELD comes from KEY, a key or a path of keys with dots. With nothing behind
  /// the sign, it comes from nowhere and the guess is dropped.
  ///
  /// FIELD is an attribute such as `name`, `note`, `latitude`; `category` for what holds an item's category; or
  /// `category.name`, `category.color` and `category.items` for what a category has.
  /// - Throws: ``LegacyError`` with code `wrongUse` for a text that says nothing of the kind.
  public mutating func add(_ text: String) throws(LegacyError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw LegacyError(.wrongUse, "a mapping looks like FIELD=KEY, and \"\(text)\" does not")
    }
    keys[parts[0]] = parts[1].isEmpty ? .some(nil) : parts[1]
  }

  /// Where an attribute shall come from: a key, nowhere, or nothing is said.
  func wish(_ attribute: String) -> String?? { keys[attribute] }

  /// The wishes for attributes that are no part of the guess.
  func others(_ known: [String]) -> [(attribute: String, key: String)] {
    keys.compactMap { attribute, key in
      guard let key, !known.contains(attribute), !attribute.hasPrefix("category") else { return nil }
      return (attribute, key)
    }.sorted { $0.attribute < $1.attribute }
  }
}
