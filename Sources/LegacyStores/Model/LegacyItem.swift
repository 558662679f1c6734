import CatalogModel
import Foundation
import SHA256

/// An object in a store, as the item that it becomes.
struct LegacyItem: Sendable {
  /// Its list; empty for one that is reached only through its category.
  var list: String
  /// Its key in the list, if the store has keys, such as a document's folder.
  var key: String?
  var kind: String
  /// The class of its object; empty for dictionaries and plain values.
  var className = ""
  /// Its contents in the file. May contain references, see ``Reference``.
  var attributes: [String: FieldValue]
  /// Which of the app's two lists it is on, for items that are done or not.
  var isDone: Bool?
  /// The index of its category in the store.
  var category: Int?
  var images: [LegacyImage] = []
  /// Attributes that are partly unreadable: the values of an earlier import stay.
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

  /// A short name for people.
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
  /// Its list; empty for one that is reached only through its items.
  var list: String
  var name: String
  var color: Catalog.Color?
  var className = ""
  /// Other fields than name and color. A catalog's category can't hold them, so the store's own item does.
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
    /// A file in the source folder, by its path.
    case file(SourceFolder, [String])
    /// It exists and can't be read; the one of an earlier import stays.
    case unreadable
  }

  var name: String
  var mediaType: String
  var content: Content
  var byteCount: Int
}

/// References in attributes to something that is stored elsewhere.
///
/// Only this module makes dictionaries whose keys begin with `$`: a dictionary of an app with such a key is stored in
/// the explicit form, with `NS.keys` and `NS.objects`.
enum Reference {
  /// The class of an object that is stored as a dictionary of its fields.
  static let objectClass = "$class"
  /// Gives an object a number within its item, and refers to an object by it.
  static let id = "$id"
  static let ref = "$ref"
  /// An item of the store: its index while the store is read, and its number in a journal.
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
  /// Replaces each reference inside this value by the result of `resolve`.
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

  /// Whether this value contains a reference to another item.
  var refersToItems: Bool {
    if Reference.target(Reference.item, of: self) != nil { return true }
    switch self {
    case .array(let elements): return elements.contains { $0.refersToItems }
    case .dictionary(let members): return members.values.contains { $0.refersToItems }
    default: return false
    }
  }

  /// Whether the values are equal byte by byte: Swift strings compare by canonical equivalence, and NaN is never equal.
  func isIdentical(to other: Value?) -> Bool {
    guard let other else { return false }
    return EntityRecord(["": self]).bytes == EntityRecord(["": other]).bytes
  }
}

extension [String: FieldValue] {
  /// The first eight bytes of the SHA-256 of the attributes in their deterministic encoding.
  var fingerprint: Data { Data(SHA256Hash.digest(EntityRecord(self).bytes).bytes.prefix(8)) }
}
