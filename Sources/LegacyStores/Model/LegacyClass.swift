import CatalogModel
import KeyedArchiving

/// A class as an archive describes it, and how its objects encode their fields: so that an export has the keys that the
/// app's `initWithCoder:` reads.
struct LegacyClass: Sendable, Equatable {
  /// The class and its superclasses; empty if the archive does not have them.
  var chain: [String] = []
  var hints: [String] = []
  /// How each field is encoded; see ``Form``.
  var fields: [String: String] = [:]
  /// The fields in the order of first occurrence.
  var order: [String] = []
  /// How many objects were found, and how many had each field; not stored.
  var count = 0
  var counts: [String: Int] = [:]
  /// Fields that only some objects had.
  private(set) var optional: Set<String> = []
  /// The attribute or part of a category for each field, as a path of keys: `annotation.latitude` is `latitude`.
  var mapping: [String: String] = [:]
  /// What its objects become: a kind of items, ``categories``, or nothing for parts of others.
  var kind = ""

  /// The kind of a class whose objects are categories.
  static let categories = "$category"

  /// How a field is encoded. Any other text is the class of the object that the field refers to.
  enum Form {
    static let bool = "bool"
    static let integer = "integer"
    static let real = "real"
    static let bytes = "bytes"
    static let text = "text"
    static let list = "list"
    static let null = "null"
  }

  init() {}

  /// Notes how a field of one object is encoded. A nil is replaced by a later form.
  mutating func note(_ key: String, _ form: String) {
    counts[key, default: 0] += 1
    guard let known = fields[key] else {
      fields[key] = form
      order.append(key)
      return
    }
    if known == Form.null || form == Form.real && known == Form.integer { fields[key] = form }
  }

  /// Whether some objects lacked a field.
  func isOptional(_ key: String) -> Bool { optional.contains(key) || counts[key].map { $0 < count } ?? false }

  /// Merges facts about the class from elsewhere.
  mutating func merge(_ other: LegacyClass) {
    noteOptional(other)
    let before = counts
    for key in other.order { note(key, other.fields[key] ?? Form.null) }
    counts = before.merging(other.counts) { $0 + $1 }
    count += other.count
    mapping.merge(other.mapping) { first, _ in first }
    if kind.isEmpty { kind = other.kind }
  }

  /// Notes the fields that some objects lacked, here or elsewhere.
  mutating func noteOptional(_ other: LegacyClass) {
    optional.formUnion(fields.keys.filter { isOptional($0) })
    optional.formUnion(other.fields.keys.filter { other.isOptional($0) })
    guard !fields.isEmpty, !other.fields.isEmpty else { return }
    optional.formUnion(Set(fields.keys).symmetricDifference(other.fields.keys))
  }

  /// The class for the writer of an archive: with the superclasses that the archive named, or none.
  func archived(_ name: String) -> ArchivedClass { ArchivedClass(name: name, chain: chain, hints: hints) }
}

extension LegacyClass {
  /// The form in the store's own item.
  var value: FieldValue {
    .dictionary([
      "chain": .array(chain.map { .string($0) }), "hints": .array(hints.map { .string($0) }),
      "fields": .array(order.map { .array([.string($0), .string(fields[$0] ?? Form.null)]) }),
      "mapping": .dictionary(mapping.mapValues { .string($0) }), "kind": .string(kind),
      "optional": .array(order.filter { isOptional($0) }.map { .string($0) }),
    ])
  }

  /// Reads the form of ``value``; invalid parts are ignored.
  init(_ value: FieldValue) {
    guard case .dictionary(let members) = value else { return }
    chain = members["chain"].texts
    hints = members["hints"].texts
    optional = Set(members["optional"].texts)
    if case .array(let pairs)? = members["fields"] {
      for pair in pairs {
        guard case .array(let parts) = pair, parts.count == 2, case .string(let key) = parts[0],
          case .string(let form) = parts[1], fields[key] == nil
        else { continue }
        fields[key] = form
        order.append(key)
      }
    }
    if case .string(let text)? = members["kind"] { kind = text }
    if case .dictionary(let paths)? = members["mapping"] {
      for case (let path, .string(let attribute)) in paths { mapping[path] = attribute }
    }
  }
}

extension FieldValue? {
  /// The texts of an array of texts.
  var texts: [String] {
    guard case .array(let elements)? = self else { return [] }
    return elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
  }
}

extension LegacyClass {
  /// Notes the keys of a dictionary item.
  mutating func note(_ dictionary: [String: FieldValue]) {
    count += 1
    for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) { note(key, value.sort) }
  }
}

extension FieldValue {
  /// The type of the value, in a word for people.
  fileprivate var sort: String {
    switch self {
    case .null: LegacyClass.Form.null
    case .bool: LegacyClass.Form.bool
    case .integer, .unsigned: LegacyClass.Form.integer
    case .double: LegacyClass.Form.real
    case .string: "NSString"
    case .data: "NSData"
    case .date: "NSDate"
    case .array: "NSArray"
    case .dictionary: "NSDictionary"
    }
  }
}
