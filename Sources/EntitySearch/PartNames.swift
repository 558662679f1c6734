package import CBOR
package import CatalogModel
package import Journaling
import SHA256

// The kinds, categories and parts of a catalog by their names in JSON and on the command line.
extension Catalog {
  /// All kinds, in the order of `kindNames`.
  package static var entityKinds: [EntityKind] { kindNames.indices.map { EntityKind(rawValue: UInt8($0)) } }

  /// The categories that a text names, by number (`3` or `category:3`, which need not exist) or by name.
  /// - Complexity: O(c) for c categories.
  package func categories(named text: String) -> Set<CategoryID> {
    if let number = Int(text) { return [CategoryID(number)] }
    if let entity = try? Self.entity(named: text), entity.kind == .category {
      return [CategoryID(entity.number)]
    }
    return Set(categories.filter { $0.name == text }.map(\.id))
  }

  /// The part with a name from ``name(of:of:)``, or nil for a field that the kind does not have.
  package static func key(named name: String, of kind: EntityKind) -> FieldKey? {
    guard name.utf8.first == UInt8(ascii: "@") else { return .attribute(name) }
    let rest = String(name.dropFirst())
    if rest.utf8.first == UInt8(ascii: "@") { return .attribute(rest) }
    return fieldNames(of: kind).firstIndex(of: rest).map { .field(UInt8($0)) }
  }

  /// The value of a part as JSON shows it: an attribute, a field of the catalog such as `@kind`, or a path such as
  /// `name.common` or `tags.0`; nil if the record has no such part.
  package static func part(named name: String, of record: EntityRecord, _ kind: EntityKind) -> FieldValue? {
    if let key = key(named: name, of: kind), let value = record.value(of: key) {
      return shown(value, key, of: kind)
    }
    let steps = name.split(separator: ".").map(String.init)
    guard let first = steps.first else { return nil }
    return steps.dropFirst().reduce(record[first]) { value, step in
      value?.array == nil ? value?[step] : Int(step).flatMap { value?[$0] }
    }
  }

  /// A part's value as JSON shows it: colors and digests are texts.
  package static func shown(_ value: FieldValue, _ key: FieldKey, of kind: EntityKind) -> FieldValue {
    switch (kind, key, value) {
    case (.category, .field(CategoryField.color), _): Catalog.Color(value).map { .string($0.hex) } ?? value
    case (.image, .field(ImageField.digest), .data(let bytes)):
      ContentDigest(bytes: Array(bytes)).map { .string($0.hex) } ?? value
    default: value
    }
  }
}

extension FieldKey {
  /// Whether this is the byte count of an image, which JSON omits because the digest is enough.
  package func isByteCount(of kind: EntityKind) -> Bool {
    kind == .image && self == .field(ImageField.byteCount)
  }
}

extension JournalEvent.Operation {
  /// `add`, `update` or `delete`.
  package var name: String {
    switch self {
    case .add: "add"
    case .update: "update"
    case .delete: "delete"
    }
  }
}
