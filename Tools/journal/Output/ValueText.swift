import CatalogModel
import EntitySearch
import Foundation
import JSON

extension Date {
  /// The date in UTC: `2026-08-01 10:00:00`.
  var printable: String { String(printableWithFraction.prefix { $0 != "." }) }

  /// The date in UTC with the fraction of its second, to the microsecond, if there is one: `2026-08-01 10:00:00.25`.
  var printableWithFraction: String {
    guard let timestamp = Timestamp(self) else { return "?" }
    var text = timestamp.description.replacingOccurrences(of: "T", with: " ")
    // Removes the Z and the zeros at the end of the fraction, which has six digits.
    text.removeLast()
    while text.last == "0" { text.removeLast() }
    if text.last == "." { text.removeLast() }
    return text
  }
}

extension FieldKey {
  /// The name of a part. An attribute that has the name of a field of the catalog is in quotation marks.
  func name(of kind: EntityKind) -> String {
    let names = Catalog.fieldNames(of: kind)
    switch self {
    case .field(let number): return Int(number) < names.count ? names[Int(number)] : "field \(number)"
    case .attribute(let name): return names.contains(name) ? "\"\(name)\"" : name
    }
  }
}

extension Terminal {
  func text(of value: FieldValue, isFull: Bool = false) -> String {
    switch value {
    case .data(let data): data.count.counted("byte")
    case .date(let date): text(ofValue: date)
    default: (isFull ? value.json : value.json.shortened(to: 120)).printable
    }
  }
  /// - Parameters:
  ///   - targets: the items to which the value of an attribute refers by a rule.
  ///   - reference: the text of an entity to which a part refers.
  func text(
    of value: FieldValue, _ key: FieldKey, of kind: EntityKind, isFull: Bool = false,
    targets: [EntityKey] = [], reference: (EntityKey) throws -> String
  ) rethrows -> String {
    guard case .field(let number) = key else {
      if targets.isEmpty { return text(of: value, isFull: isFull) }
      let names = try targets.prefix(isFull ? .max : 20).map(reference)
      let rest = names.count < targets.count ? ", …" : ""
      return value.array == nil ? names[0] : "[\(names.joined(separator: ", "))\(rest)]"
    }
    switch (kind, number, Catalog.shown(value, key, of: kind)) {
    case (.item, ItemField.category, .integer(let id)): return try reference(.category(Int(id)))
    case (.image, 0, .integer(let id)): return try reference(.item(Int(id)))
    case (_, _, .string(let text)): return text.printable
    case (_, _, let value): return text(of: value)
    }
  }
}

extension FieldValue {
  /// The first 8 digits of the SHA-256 of a text, of data, or of the encoded form of another value.
  var shortDigest: String {
    let bytes: [UInt8] =
      switch self {
      case .string(let text): Array(text.utf8)
      case .data(let data): Array(data)
      default: EntityRecord(["": self]).bytes
      }
    return String(SHA256Hash.digest(bytes).hex.prefix(8))
  }
}
