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

  /// A short name for people.
  var label: String? { Self.label(of: attributes) }

  static func label(of attributes: [String: FieldValue]) -> String? {
    ["name", "title", "value"].compactMap { attributes[$0]?.string }.first { !$0.isEmpty }
  }

  /// Whether it refers to other items.
  var refersToItems: Bool { attributes.values.contains(where: \.refersToItems) }
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
}

/// A file that belongs to an item.
struct LegacyImage: Sendable {
  enum Content: Sendable {
    case data(Data)
    /// A file of a folder in the source folder.
    case file(Folder, folder: String, name: String)
    /// It exists and can't be read; the one of an earlier import stays.
    case unreadable
  }

  var name: String
  var mediaType = ""
  var content = Content.unreadable
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

  static func make(_ key: String, _ number: Int) -> FieldValue { [key: .integer(Int64(number))] }
}

extension FieldValue {
  /// The number behind a reference, if that is what the value is.
  func target(_ key: String) -> Int? { dictionary?.count == 1 ? self[key]?.integer : nil }

  /// The name of an image, if the value refers to one.
  var imageName: String? { dictionary?.count == 1 ? self[Reference.image]?.string : nil }

  /// The class of an object that is stored as a dictionary.
  var objectClass: String? { self[Reference.objectClass]?.string }

  /// Replaces each value inside this one for which `replacement` has another.
  func replacing(_ replacement: (FieldValue) -> FieldValue?) -> FieldValue {
    if let other = replacement(self) { return other }
    return switch self {
    case .array(let elements): .array(elements.map { $0.replacing(replacement) })
    case .dictionary(let members): .dictionary(members.mapValues { $0.replacing(replacement) })
    default: self
    }
  }

  /// Calls `body` with this value and each value inside it.
  func forEachValue(_ body: (FieldValue) -> Void) {
    body(self)
    for element in array ?? [] { element.forEachValue(body) }
    for member in (dictionary ?? [:]).values { member.forEachValue(body) }
  }

  /// Replaces each reference inside this value by the result of `resolve`.
  func resolvingReferences(_ resolve: (_ key: String, _ target: Int) -> FieldValue) -> FieldValue {
    replacing { value in
      for key in [Reference.item, Reference.category] {
        if let target = value.target(key) { return resolve(key, target) }
      }
      return nil
    }
  }

  /// Whether this value contains a reference to another item.
  var refersToItems: Bool {
    if target(Reference.item) != nil { return true }
    return array?.contains(where: \.refersToItems) ?? dictionary?.values.contains(where: \.refersToItems)
      ?? false
  }

  /// Whether the values are equal byte by byte: Swift strings compare by canonical equivalence, and NaN is never equal.
  func isIdentical(to other: FieldValue?) -> Bool {
    guard let other else { return false }
    return EntityRecord(["": self]).bytes == EntityRecord(["": other]).bytes
  }
}

extension FieldValue? {
  /// The same for values that may be absent.
  func isIdentical(to other: FieldValue?) -> Bool { self?.isIdentical(to: other) ?? (other == nil) }
}

extension [String: FieldValue] {
  /// The first eight bytes of the SHA-256 of the attributes in their deterministic encoding.
  var fingerprint: Data { Data(SHA256Hash.digest(EntityRecord(self).bytes).bytes.prefix(8)) }
}
