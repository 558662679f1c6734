import CatalogModel
import KeyedArchiving

/// The layout of a file: everything that is not an item or a category, as a value with gaps that an export fills with
/// items.
///
/// Gaps and containers are dictionaries with these keys; all other values are literal.
enum Layout {
  /// How a property list is encoded: ``binary`` or ``xml``. Archives are always binary, because every decoder reads
  /// both.
  static let format = "format"
  static let binary = "binary"
  static let xml = "xml"
  /// The contents of the file.
  static let content = "content"

  /// A keyed archive: its top values by key. In a property list, data that is such an archive.
  static let archive = "$archive"
  /// A collection of the items of a list, and of its categories. ``Reference/objectClass`` is the collection's.
  static let list = "$list"
  /// The first item of a list, or its first category if it has no items.
  static let element = "$element"
  /// A collection in which each item of a list has a separate archive.
  static let each = "$each"
  /// The fields of an object that contains lists.
  static let object = "$object"

  /// Elements of a list that are not items; they come after the others.
  static let passedOver = "$passedOver"

  static func list(_ name: String, className: String?, passedOver elements: [FieldValue] = []) -> FieldValue {
    var members: [String: FieldValue] = [list: .string(name)]
    if !elements.isEmpty { members[passedOver] = .array(elements) }
    if let className { members[Reference.objectClass] = .string(className) }
    return .dictionary(members)
  }

  static func element(_ list: String) -> FieldValue { .dictionary([element: .string(list)]) }

  /// The class of an archive's archiver, if it is not Foundation's own.
  static let archiver = "$archiver"

  static func archive(
    _ top: [String: FieldValue], archiver name: String = KeyedArchiveWriter.standardArchiver
  ) -> FieldValue {
    var members: [String: FieldValue] = [archive: .dictionary(top)]
    if name != KeyedArchiveWriter.standardArchiver { members[archiver] = .string(name) }
    return .dictionary(members)
  }

  /// The archiver of an archive's layout.
  static func archiver(of layout: [String: FieldValue]) -> String {
    if case .string(let name)? = layout[archiver] { name } else { KeyedArchiveWriter.standardArchiver }
  }

  static func file(_ content: FieldValue, isXML: Bool) -> FieldValue {
    .dictionary([format: .string(isXML ? xml : binary), self.content: content])
  }
}
