public import CBOR
package import JSON

// Changes as `journal diff --json` prints them, and the names of parts on the command line.
extension Catalog {
  /// The name of a part, as `journal diff --json` prints it: that of an attribute, or one with a leading `@` for a field of
  /// the catalog, such as `@category`. An attribute whose name begins with `@` gets a second one.
  public static func name(of key: FieldKey, of kind: EntityKind) -> String {
    switch key {
    case .attribute(let name): return name.utf8.first == UInt8(ascii: "@") ? "@" + name : name
    case .field(let number):
      let names = fieldNames(of: kind)
      return "@" + (Int(number) < names.count ? names[Int(number)] : "\(number)")
    }
  }

  /// The part with a name from ``name(of:of:)``, or nil for a field that the kind does not have.
  package static func key(named name: String, of kind: EntityKind) -> FieldKey? {
    guard name.utf8.first == UInt8(ascii: "@") else { return .attribute(name) }
    let rest = String(name.dropFirst())
    if rest.utf8.first == UInt8(ascii: "@") { return .attribute(rest) }
    return fieldNames(of: kind).firstIndex(of: rest).map { .field(UInt8($0)) }
  }

  /// Writes `{"title":{"old":"Dun","new":"Dune"},"@category":{"new":3}}`: `old` or `new` is omitted if there is none.
  /// The byte count of an image is omitted, because the digest is enough.
  package static func write(_ parts: [PartChange], of kind: EntityKind, to writer: inout JSONWriter) {
    writer.beginObject()
    for part in parts {
      if kind == .image, part.key == .field(ImageField.byteCount) { continue }
      writer.key(name(of: part.key, of: kind))
      writer.beginObject()
      if let old = part.old { writer.member("old", shown(old, part.key, of: kind)) }
      if let new = part.new { writer.member("new", shown(new, part.key, of: kind)) }
      writer.endObject()
    }
    writer.endObject()
  }

  /// Writes `{"entity":"item:42","operation":"update","changes":{…}}`.
  package static func write(_ difference: EntityDifference, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("entity", name(of: difference.entity))
    writer.member("operation", difference.operation.name)
    writer.key("changes")
    write(difference.parts, of: difference.entity.kind, to: &writer)
    writer.endObject()
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
