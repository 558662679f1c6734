import CBOR
import Locks

extension AttributePath {
  private struct Property: Hashable, Sendable {
    let keyPath: any AnyKeyPath & Sendable

    static func == (left: Property, right: Property) -> Bool {
      (left.keyPath as AnyKeyPath) == (right.keyPath as AnyKeyPath)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(keyPath as AnyKeyPath) }
  }

  /// Caches paths, because reading the names of a key path takes longer than many queries.
  private static let known = Lock<[Property: AttributePath]>([:])

  /// The attribute for a property.
  init<Model: CatalogItem>(of property: any PartialKeyPath<Model> & Sendable) {
    if let path = Self.known.withLock({ $0[Property(keyPath: property)] }) {
      self = path
      return
    }
    let path = AttributePath(Model.attributeName(of: property).map { [$0] } ?? Self.names(of: property))
    self = path
    Model.recordUse(of: path)
    Self.known.withLock { $0[Property(keyPath: property)] = path }
  }

  /// The names of the stored properties on a key path, as Swift's metadata has them: `\Recipe.place?.latitude`.
  private static func names<Model: CatalogItem>(of property: PartialKeyPath<Model>) -> [String] {
    let text = String(reflecting: property)
    let root = "\\\(String(describing: Model.self))."
    let names = text.dropFirst(root.count).split(separator: ".").map { name in
      String(name.prefix { $0 != "?" && $0 != "!" })
    }
    let arePlain = names.allSatisfy { name in
      !name.isEmpty && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }
    guard text.hasPrefix(root), !names.isEmpty, arePlain else {
      // A release build would not print the message of a precondition.
      fatalError(
        "\(text) is not a stored property. If it is an attribute, return its name from "
          + "\(Model.self).attributeName(of:), or name it in the query: .attribute(\"name\", in: .equal(to: \"Ana\"))."
      )
    }
    return names
  }
}
