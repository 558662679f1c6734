import CatalogModel
import KeyedArchiving

/// A class as an archive describes it, and how its objects encode their fields. With this, an export has the keys that
/// the app's `initWithCoder:` reads.
struct LegacyClass: Sendable, Codable {
  private enum CodingKeys: CodingKey { case chain, hints, fields, order, optional, mapping, kind }

  /// The class and its superclasses. Empty if the archive does not list them.
  var chain: [String]
  var hints: [String]
  /// How each field is encoded; see ``Form``. A name that begins with `$` has another one, as in attributes.
  var fields: [String: String] = [:]
  /// The fields in the order of first occurrence.
  var order: [String] = []
  /// How many objects were found, and how many had each field. Not stored.
  var count = 0
  var counts: [String: Int] = [:]
  /// Fields that only some objects had, as far as this is not seen from the counts; sorted.
  private var optional: [String] = []
  /// The attribute, or part of a category, for each field. A field may be a path of keys: `annotation.latitude` maps to
  /// `latitude`.
  var mapping: [String: String] = [:]
  /// What its objects become: a kind of items or ``categories``. Empty for objects that are parts of others.
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

    /// Whether a value of this form is stored in the field itself.
    static func isInline(_ form: String) -> Bool { [bool, integer, real, bytes, text, list].contains(form) }

    /// Whether the form is the class of exact decimal numbers: `NSDecimalNumber`, or what Apple writes in its place.
    static func isDecimal(_ form: String) -> Bool { form.hasPrefix("NSDecimalNumber") }

    /// Whether an export would encode a text, a number or data in another form than this one.
    /// - Parameter known: the form of most values of the field; nil where there is no field.
    static func isUnusual(_ form: String, for known: String?) -> Bool {
      switch form {
      case bool, integer, real: ![nil, bool, integer, real].contains(known)
      case "NSNumber": known.map { isInline($0) || isDecimal($0) } ?? true
      case "NSString": known.map { [text, "NSURL", "NSUUID"].contains($0) || isDecimal($0) } ?? false
      case "NSData": known == bytes
      case text, bytes, "NSMutableString", "NSMutableData", "NSURL", "NSUUID": form != known
      default: isDecimal(form) && form != known
      }
    }
  }

  init(chain: [String] = [], hints: [String] = []) { (self.chain, self.hints) = (chain, hints) }

  /// Records how a field of one object is encoded. A later form replaces nil.
  mutating func note(_ key: String, _ form: String) {
    counts[key, default: 0] += 1
    guard let known = fields[key] else {
      fields[key] = form
      order.append(key)
      return
    }
    if form == known { return }
    // An app may change a mutable collection or text that it reads.
    let isMutable = form == known.replacing("NS", with: "NSMutable", maxReplacements: 1)
    if known == Form.null || form == Form.real && known == Form.integer || isMutable { fields[key] = form }
  }

  /// Records the keys of a dictionary that is an item.
  mutating func note(_ dictionary: [String: FieldValue]) {
    count += 1
    for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) { note(key, value.form) }
  }

  /// The fields that an export writes as nil where an object has no value, in their order. An app's decoder may require
  /// the keys that all objects had. Other keys are omitted, because an app can ask whether an object has them.
  var required: [String] {
    let optional = optionalFields
    return order.filter { !optional.contains($0) && !Form.isInline(fields[$0] ?? Form.null) }
  }

  private var optionalFields: Set<String> { Set(optional).union(counts.filter { $0.value < count }.keys) }

  /// Merges what was found about the class later.
  mutating func merge(_ other: LegacyClass) {
    let both = Set(fields.keys).union(other.fields.keys)
    let isDescribed = !fields.isEmpty && !other.fields.isEmpty
    let known = optionalFields.union(other.optionalFields)
    optional = both.filter { key in
      known.contains(key) || isDescribed && (fields[key] == nil || other.fields[key] == nil)
    }.sorted()
    let before = counts
    for key in other.order { note(key, other.fields[key] ?? Form.null) }
    counts = before.merging(other.counts, uniquingKeysWith: +)
    count += other.count
    mapping.merge(other.mapping) { $1 }
    if !other.kind.isEmpty { kind = other.kind }
  }

  /// The class as the memory keeps it, without the counts.
  var settled: LegacyClass {
    var settled = self
    (settled.optional, settled.counts, settled.count) = (optionalFields.sorted(), [:], 0)
    return settled
  }

  /// The class for the writer of an archive: with the superclasses that the archive named, or none.
  func archived(_ name: String) -> ArchivedClass { ArchivedClass(name: name, chain: chain, hints: hints) }
}

extension [String: LegacyClass] {
  mutating func note(_ item: LegacyItem, _ plan: ItemPlan) {
    self[item.className, default: LegacyClass()].kind = item.kind
    let own = item.sources.filter { !$0.value.isEmpty }.map { (path: $0.value, attribute: $0.key) }
    self[item.className]?.mapping.merge(plan.mapping) { first, _ in first }
    self[item.className]?.mapping.merge(own) { first, _ in first }
  }

  mutating func merge(_ others: [String: LegacyClass]) {
    for (name, found) in others {
      if self[name] == nil { self[name] = found } else { self[name]?.merge(found) }
    }
  }
}

extension FieldValue {
  /// The type of the value, as an archive would encode it.
  fileprivate var form: String {
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
