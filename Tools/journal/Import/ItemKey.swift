import CatalogModel

/// The identity of an item in its source: a text, or a number by its value. `1` equals `1.0`, not `"1"`.
struct ItemKey: Hashable, Comparable, Sendable {
  private let exact: ExactText
  private let isNumber: Bool

  /// Nil if the value is neither a text nor a number.
  init?(_ value: FieldValue?) {
    guard let text = value?.keyText else { return nil }
    switch value {
    case .string: isNumber = false
    default: isNumber = true
    }
    var number: String?
    if case .double(let double) = value {
      number = Int64(exactly: double).map { String($0) } ?? UInt64(exactly: double).map { String($0) }
    }
    exact = ExactText(number ?? text)
  }

  init(path: String) {
    exact = ExactText(path)
    isNumber = false
  }

  var text: String { exact.text }

  static func < (left: ItemKey, right: ItemKey) -> Bool {
    left.exact == right.exact ? left.isNumber && !right.isNumber : left.exact < right.exact
  }
}
