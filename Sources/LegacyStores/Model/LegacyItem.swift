import CatalogModel
import Foundation
import SHA256

/// A thing in a store, as the item that it is to be.
struct LegacyItem: Sendable {
  /// The list that it stands in; empty for one that is reached through its category alone.
  var list: String
  /// What names it among all others of the list, where the store has such names: a document's folder.
  var key: String?
  var kind: String
  /// The class of its object; empty for dictionaries and plain values.
  var className = ""
  /// What the file says of it. May hold references, see ``Reference``.
  var attributes: [String: FieldValue]
  /// Which of the app's two lists it is on, for items that are done or not.
  var isDone: Bool?
  /// The index of its category in the store.
  var category: Int?
  var images: [LegacyImage] = []
  /// Attributes of which something can't be read: what an earlier import brought stays.
  var unreadable: Set<String> = []

  init(
    list: String, key: String? = nil, kind: String, className: String = "", attributes: [String: FieldValue]
  ) {
    self.list = list
    self.key = key
    self.kind = kind
    self.className = className
    self.attributes = attributes
  }

  /// What a person would call it.
  var label: String? { Self.label(of: attributes) }

  static func label(of attributes: [String: FieldValue]) -> String? {
    for name in ["name", "title", "value"] {
      if case .string(let text)? = attributes[name], !text.isEmpty { return text }
    }
    return nil
  }
}

/// A category in a store.
struct LegacyCategory: Sendable {
  /// The list that it stands in; empty for one that is reached through its items alone.
  var list: String
  var name: String
  var color: Catalog.Color?
  var className = ""
  /// What the file says beside name and color; a catalog's category can't hold it, so the store's own item does.
  var fields: [String: FieldValue] = [:]

  init(list: String, name: String, color: Catalog.Color? = nil) {
    self.list = list
    self.name = name
    self.color = color
  }
}

/// A file that belongs to an item.
struct LegacyImage: Sendable {
  enum Content: Sendable {
    case data(Data)
    /// A file in the folder that is being read, by the names on the way to it.
    case file(SourceFolder, [String])
    /// It is there and can't be read; what an earlier import brought stays.
    case unreadable
  }

  var name: String
  var mediaType: String
  var content: Content
  var byteCount: Int
}

/// What stands in attributes for something that is kept elsewhere.
///
/// Dictionaries whose keys begin with `$` are made by this module alone: a dictionary of an app with such a key is
/// kept in the explicit form, with `NS.keys` and `NS.objects`.
enum Reference {
  /// The class of an object that is kept as a dictionary of its fields.
  static let objectClass = "$class"
  /// Gives an object a number within its item, and refers to an object by it.
  static let id = "$id"
  static let ref = "$ref"
  /// An item of the store: its index while the store is being read, in a journal the item's number.
  static let item = "$item"
  /// The same for a category.
  static let category = "$category"
  /// An image of the item, by its name.
  static let image = "$image"

  /// The number behind a reference, if that is what the value is.
  static func target(_ key: String, of value: FieldValue) -> Int? {
    guard case .dictionary(let members) = value, members.count == 1, case .integer(let number)? = members[key]
    else { return nil }
    return Int(exactly: number)
  }

  static func make(_ key: String, _ number: Int) -> FieldValue { .dictionary([key: .integer(Int64(number))]) }
}

extension FieldValue {
  /// Replaces each reference below this value by what `resolve` makes of it.
  func resolvingReferences(_ resolve: (_ key: String, _ target: Int) -> Value) -> Value {
    for key in [Reference.item, Reference.category] {
      if let target = Reference.target(key, of: self) { return resolve(key, target) }
    }
    switch self {
    case .array(let elements): return .array(elements.map { $0.resolvingReferences(resolve) })
    case .dictionary(let members): return .dictionary(members.mapValues { $0.resolvingReferences(resolve) })
    default: return self
    }
  }

  /// Whether there is a reference to another item below this value.
  var refersToItems: Bool {
    if Reference.target(Reference.item, of: self) != nil { return true }
    switch self {
    case .array(let elements): return elements.contains { $0.refersToItems }
    case .dictionary(let members): return members.values.contains { $0.refersToItems }
    default: return false
    }
  }

  /// Equal byte by byte: Swift's strings are equal when they only look so, and NaN is never equal.
  func isIdentical(to other: Value?) -> Bool {
    guard let other else { return false }
    return EntityRecord(["": self]).bytes == EntityRecord(["": other]).bytes
  }
}

extension [String: FieldValue] {
  /// The first eight bytes of the SHA-256 of the attributes in their deterministic encoding.
  var fingerprint: Data { Data(SHA256Hash.digest(EntityRecord(self).bytes).bytes.prefix(8)) }
}
