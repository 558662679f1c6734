/// A preview: the contents of a store, and what an import would make of them.
public struct LegacySummary: Sendable {
  /// A class of objects, or a kind of dictionaries.
  public struct Class: Sendable {
    /// Its name. For dictionaries it is the kind in braces.
    public let name: String
    /// How many there are.
    public let count: Int
    /// What its objects become: a kind of items, or `category`. Nil for objects that are parts of others.
    public let kind: String?
    /// Its keys.
    public let fields: [Field]
  }

  /// A key of a class.
  public struct Field: Sendable {
    /// The key, or a path of keys with dots.
    public let key: String
    /// How many objects have it. Nil for a path.
    public let count: Int?
    /// The type of its values, such as `real`, `NSString` or the name of another class.
    public let holds: String
    /// The attribute that it becomes. Nil if it becomes part of another one.
    public let attribute: String?
  }

  /// The files, by name.
  public let files: [String]
  /// How many items of each kind there are.
  public let items: [(kind: String, count: Int)]
  /// How many categories there are.
  public let categories: Int
  /// How many images there are.
  public let images: Int
  /// The classes, those of items and categories first.
  public let classes: [Class]
}

extension LegacyStore {
  /// The contents of the store, and what an import would make of them.
  public var summary: LegacySummary {
    let kinds = Dictionary(items.map { ($0.kind, 1) }, uniquingKeysWith: +)
    let classes = classes.map { name, found in
      let isItem = !found.kind.isEmpty
      func isTakenApart(_ key: String) -> Bool { found.mapping.keys.contains { $0.hasPrefix(key + ".") } }
      var fields = found.order.sorted().map { key in
        LegacySummary.Field(
          key: ObjectReader.name(ofKey: key), count: found.counts[key],
          holds: found.fields[key] ?? LegacyClass.Form.null,
          attribute: isItem && !isTakenApart(key) ? (found.mapping[key] ?? key).plainAttribute : nil)
      }
      for (path, attribute) in found.mapping.sorted(by: { $0.key < $1.key }) where found.fields[path] == nil {
        fields.append(
          LegacySummary.Field(key: path, count: nil, holds: "", attribute: attribute.plainAttribute))
      }
      let kind = found.kind == LegacyClass.categories ? "category" : isItem ? found.kind : nil
      return LegacySummary.Class(name: name, count: found.count, kind: kind, fields: fields)
    }
    return LegacySummary(
      files: files.keys.sorted(), items: kinds.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
      categories: categories.count, images: items.reduce(images.count) { $0 + $1.images.count },
      classes: classes.sorted { ($0.kind == nil ? 1 : 0, $0.name) < ($1.kind == nil ? 1 : 0, $1.name) })
  }
}

extension String {
  /// The `$name` of a category is its name.
  fileprivate var plainAttribute: String { hasPrefix("$") ? String(dropFirst()) : self }
}
