import CatalogModel
import JSON

extension Terminal {
  /// A value on one line for people, shortened unless it is to be full.
  func text(of value: FieldValue, isFull: Bool = false) -> String {
    switch value {
    case .data(let data): data.count.counted("byte")
    case .date(let date): text(ofValue: date)
    default: (isFull ? value.json : value.json.shortened(to: 120)).printable
    }
  }
}

extension FieldValue {
  /// The first digits of the SHA-256 of a text or of data, otherwise of the encoded value.
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
