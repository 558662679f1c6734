import CatalogModel
import Foundation
import SHA256

/// An object in a store, as the item that it becomes.
struct LegacyItem: Sendable {
  /// Its list. Empty for an item that is reached only through its category.
  var list: String
  /// Its key in the list, if the store has keys, such as a document's folder.
  var key: String?
  var kind: String
  /// The class of its object. Empty for dictionaries and plain values.
  var className = ""
  /// Its contents in the file, perhaps with references; see ``Reference``.
  var attributes: [String: FieldValue]
  /// The path of keys to each attribute that its object has under another key than most objects of the class, or than
  /// the first key of its ``KnownKind``. It is empty for a default value that is not in the file.
  var sources: [String: String] = [:]
  /// Whether it is on the app's list of done items. Nil if the app does not have two such lists.
  var isDone: Bool?
  /// The index of its category in the store.
  var category: Int?
  var images: [LegacyImage] = []
  /// Attributes that are partly unreadable. Their values from an earlier import stay.
  var unreadable: Set<String> = []

  /// A short name for people.
  var label: String? { Self.label(of: attributes) }

  static func label(of attributes: [String: FieldValue]) -> String? {
    ["name", "title", "value"].compactMap { attributes[$0]?.string }.first { !$0.isEmpty }
  }

  var refersToItems: Bool { attributes.values.contains(where: \.refersToItems) }
}

struct LegacyCategory: Sendable {
  /// Its list. Empty for a category that is reached only through its items.
  var list: String
  var name: String
  var color: Catalog.Color?
  var className = ""
  /// Fields other than name and color. A catalog's category can't hold them, so the store's own item does.
  var fields: [String: FieldValue] = [:]
  /// The pictures and large data in the fields.
  var images: [LegacyImage] = []
}

/// A file that belongs to an item.
struct LegacyImage: Sendable {
  enum Content: Sendable {
    case data(Data)
    /// A file of a folder in the source folder.
    case file(Folder, folder: String, name: String)
    /// The image exists but can't be read. The image of an earlier import stays.
    case unreadable
  }

  var name: String
  var mediaType = ""
  var content = Content.unreadable
}

extension [LegacyImage] {
  /// Renames the images, here and where fields refer to them.
  mutating func rename(in fields: inout [String: FieldValue], _ newName: (String) -> String) {
    var names: [String: String] = [:]
    for index in indices {
      let name = newName(self[index].name)
      names[self[index].name] = name
      self[index].name = name
    }
    fields = fields.mapValues { value in
      value.replacing { $0.imageName.flatMap { names[$0] }.map { [Reference.image: .string($0)] } }
    }
  }
}

extension Data {
  /// The place of the bytes in memory. As long as they are kept, other data with the same place are the same, so what
  /// many items share is read and stored once. Nil for short data, which may have no place.
  var place: UInt? {
    count > 64 ? unsafe withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } : nil
  }
}

/// References in attributes to something that is stored elsewhere.
///
/// Of this module's values, only references have keys that begin with `$`. If an app's dictionary has such a key, it is stored
/// in the explicit form, with `NS.keys` and `NS.objects`.
enum Reference {
  /// The class of an object that is stored as a dictionary of its fields.
  static let objectClass = "$class"
  /// Gives an object a number within its item.
  static let id = "$id"
  /// Refers to the object with that number.
  static let ref = "$ref"
  /// In an object, or an item: by key, the form of each value that is not encoded as those of most objects of the class.
  /// For a decimal number it can be the object, if another encoding of the same number was in the file.
  static let forms = "$forms"
  /// A text, a number or data without a field, with its form under ``objectClass``.
  static let value = "$value"
  /// Refers to an item of the store, by its index while the store is read, and by its number in a journal.
  static let item = "$item"
  /// The same for a category.
  static let category = "$category"
  /// In a bug: the other values at the top of its archive.
  static let top = "$top"
  /// Refers to an image of the item, by its name.
  static let image = "$image"

  static func make(_ key: String, _ number: Int) -> FieldValue { [key: .integer(Int64(number))] }
}

extension FieldValue {
  /// The number in a reference of this kind, or nil if the value is not one.
  func target(_ key: String) -> Int? { dictionary?.count == 1 ? self[key]?.integer : nil }

  var isEmptyList: Bool { (array ?? self["NS.objects"]?.array)?.isEmpty ?? false }

  /// The name of an image, if the value refers to one.
  var imageName: String? { dictionary?.count == 1 ? self[Reference.image]?.string : nil }

  /// Whether the value refers to something that is stored elsewhere.
  var isReference: Bool {
    imageName != nil || [Reference.item, Reference.category, Reference.ref].contains { target($0) != nil }
  }

  var objectClass: String? { self[Reference.objectClass]?.string }

  var withoutClasses: FieldValue { mapped { $0.setting(Reference.objectClass, nil) } }

  /// A dictionary with another value under a key. Other values stay the same.
  func setting(_ key: String, _ value: FieldValue?) -> FieldValue {
    guard case .dictionary(var members) = self else { return self }
    members[key] = value
    return .dictionary(members)
  }

  /// The value after `change` was applied to each value inside it, and then to itself.
  func mapped(_ change: (FieldValue) -> FieldValue) -> FieldValue {
    switch self {
    case .array(let elements): change(.array(elements.map { $0.mapped(change) }))
    case .dictionary(let members): change(.dictionary(members.mapValues { $0.mapped(change) }))
    default: change(self)
    }
  }

  /// Replaces this value, and each value inside it, for which `replacement` returns another value.
  func replacing(_ replacement: (FieldValue) -> FieldValue?) -> FieldValue {
    if let other = replacement(self) { return other }
    return switch self {
    case .array(let elements): .array(elements.map { $0.replacing(replacement) })
    case .dictionary(let members): .dictionary(members.mapValues { $0.replacing(replacement) })
    default: self
    }
  }

  /// Whether this value, or any value inside it, is one that is wanted.
  func contains(where isWanted: (FieldValue) -> Bool) -> Bool {
    isWanted(self)
      || array?.contains { $0.contains(where: isWanted) }
        ?? dictionary?.values.contains { $0.contains(where: isWanted) } ?? false
  }

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

  var refersToItems: Bool { contains { $0.target(Reference.item) != nil } }
}

extension Catalog {
  /// The name of the item or category that a value refers to. Empty if it does not exist.
  func name(ofTarget target: Int, _ key: String) -> String {
    if key == Reference.category { return category(CategoryID(target))?.name ?? "" }
    guard let item = item(Catalog.Item.ID(target)) else { return "" }
    return LegacyItem.label(of: item.attributes) ?? item.kind
  }
}

extension FieldValue? {
  func isIdentical(to other: FieldValue?) -> Bool { self?.isIdentical(to: other) ?? (other == nil) }
}
