public import CBOR

// The parts of a record by their names in JSON and on the command line.
extension Catalog {
  /// The name of a part, as `journal diff --json` prints it: the name of an attribute, or that of a field of the
  /// catalog with a leading `@`, such as `@category`. An attribute whose name begins with `@` gets a second `@`.
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
