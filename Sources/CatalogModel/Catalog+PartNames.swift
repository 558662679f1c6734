public import CBOR

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
}
