import CatalogModel

/// A template for the paths of images: `data/{key.lowercased}.svg`.
///
/// Braces contain `key`, which identifies the object, or the name of a field, optionally followed by
/// `.lowercased` or `.uppercased`.
struct ImageTemplate {
  let source: String
  /// The texts before, between and after the fields.
  private var texts: [Substring] = []
  private var fields: [(name: String, change: String)] = []

  init(_ source: String) throws(Failure) {
    self.source = source
    var rest = source[...]
    while let match = rest.firstMatch(of: /\{([^{}]+?)(\.lowercased|\.uppercased)?\}/) {
      texts.append(rest[..<match.range.lowerBound])
      fields.append((String(match.1), String(match.2 ?? "")))
      rest = rest[match.range.upperBound...]
    }
    texts.append(rest)
    guard !texts.contains(where: { $0.contains { "{}".contains($0) } }) else {
      throw Failure.wrongUse(
        "\"\(source)\" is not a template: braces contain the name of a field, as in data/{key.lowercased}.svg"
      )
    }
  }

  /// The path of an object's image; nil if the object lacks a field that the template names.
  func path(key: String, _ attributes: [String: FieldValue]) -> String? {
    var path = String(texts[0])
    for ((name, change), text) in zip(fields, texts.dropFirst()) {
      guard let value = name == "key" ? key : attributes[name]?.keyText else { return nil }
      switch change {
      case ".lowercased": path += value.lowercased()
      case ".uppercased": path += value.uppercased()
      default: path += value
      }
      path += text
    }
    return path
  }

  /// Whether a path may be that of an image: it begins and ends as the template does.
  func mayName(_ path: String) -> Bool {
    path.utf8.starts(with: texts[0].utf8)
      && path.utf8.reversed().starts(with: texts[texts.count - 1].utf8.reversed())
  }
}

extension FieldValue {
  /// The text, or the number as a text; nil for any other value.
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
