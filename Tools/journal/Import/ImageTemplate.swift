import CatalogModel

/// Names the file that is an object's image: `data/{key.lowercased}.svg`.
///
/// Braces contain `key`, the text that identifies the object, or the name of a field, optionally followed by
/// `.lowercased` or `.uppercased`.
struct ImageTemplate {
  private enum Part {
    case text(String)
    case field(String, change: String?)
  }

  let source: String
  private var parts: [Part] = []

  /// - Throws: ``Failure`` if a brace is unmatched or empty.
  init(_ source: String) throws(Failure) {
    self.source = source
    var rest = source[...]
    while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
      if brace > rest.startIndex { parts.append(.text(String(rest[..<brace]))) }
      guard rest[brace] == "{", let end = rest[brace...].firstIndex(of: "}") else {
        throw Self.unpaired(source)
      }
      parts.append(try Self.field(rest[rest.index(after: brace)..<end], source))
      rest = rest[rest.index(after: end)...]
    }
    if !rest.isEmpty { parts.append(.text(String(rest))) }
  }

  private static func field(_ text: Substring, _ source: String) throws(Failure) -> Part {
    for change in [".lowercased", ".uppercased"] where text.hasSuffix(change) && text.count > change.count {
      return .field(String(text.dropLast(change.count)), change: change)
    }
    guard !text.isEmpty, !text.contains("{") else { throw unpaired(source) }
    return .field(String(text), change: nil)
  }

  private static func unpaired(_ source: String) -> Failure {
    Failure(
      .wrongUse,
      "\"\(source)\" is not a template: braces contain the name of a field, as in data/{key.lowercased}.svg")
  }

  /// The path for an object; nil if it lacks a field that the template names.
  func path(key: String, _ attributes: [String: FieldValue]) -> String? {
    var path = ""
    for part in parts {
      switch part {
      case .text(let text): path += text
      case .field(let name, let change):
        guard let text = name == "key" ? key : attributes[name]?.keyText else { return nil }
        path +=
          change == ".lowercased" ? text.lowercased() : change == ".uppercased" ? text.uppercased() : text
      }
    }
    return path
  }

  /// Whether a path may be that of an object's image, and must be remembered.
  func mayName(_ path: String) -> Bool {
    if case .text(let start)? = parts.first, !path.utf8.starts(with: start.utf8) { return false }
    if case .text(let end)? = parts.last, !path.utf8.reversed().starts(with: end.utf8.reversed()) {
      return false
    }
    return true
  }
}

extension FieldValue {
  /// The text of a field in a path: a text, or a number as written; nil for anything else.
  var keyText: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): String(number)
    case .unsigned(let number): String(number)
    case .double(let number): number.description
    default: nil
    }
  }
}
