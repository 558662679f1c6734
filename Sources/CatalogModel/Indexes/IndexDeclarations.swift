import CBOR
import Locks

/// The indexes, of all types, whose attribute names a value has confirmed.
private let provenIndexes = Lock<Set<ProvenIndex>>([])

private struct ProvenIndex: Hashable, Sendable {
  let model: ObjectIdentifier
  let path: AttributePath
}

extension CatalogItem {
  /// Throws `wrongUse` if an index uses another name for a property than its encoding does, because queries by the
  /// index would find nothing. Each index is checked until a value has confirmed its name. A value may omit the
  /// attribute, if the type decodes it under that name.
  static func checkIndexes(_ value: Self, of entity: EntityKey) throws(JournalError) {
    let indexes = indexes
    if indexes.isEmpty { return }
    let model = ObjectIdentifier(Self.self)
    let proven = provenIndexes.withLock { $0 }
    for index in indexes where !proven.contains(ProvenIndex(model: model, path: index.path)) {
      guard let expected = try? index.expected(value), expected != .null else { continue }
      let attributes = try Draft<Catalog>.attributes(encoding: value, for: entity)
      let encoded = FieldValue.dictionary(attributes)[index.path]
      guard expected.isIdentical(to: encoded) else {
        if encoded == nil, decodes(index.path, from: attributes) != false { continue }
        let name = index.path.names.joined(separator: ".")
        throw JournalError(
          .wrongUse,
          "\(Self.self) has an index on a property that it does not encode as \"\(name)\"; return the "
            + "encoded name from its attributeName(of:)")
      }
      _ = provenIndexes.withLock { $0.insert(ProvenIndex(model: model, path: index.path)) }
    }
  }
}

extension FieldValue {
  fileprivate subscript(path: AttributePath) -> Value? {
    path.names.reduce(self as Value?) { value, name in value?[name] }
  }
}
