import CatalogModel
import JSON

extension FieldValue {
  /// The value on one line for people, shortened.
  var printable: String {
    switch self {
    case .data(let data): "\(data.count.counted("byte"))"
    case .date(let date): date.printable
    default: json.shortened(to: 120).printable
    }
  }
}
