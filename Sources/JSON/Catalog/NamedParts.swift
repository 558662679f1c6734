package import CatalogModel
import EntitySearch

/// The parts that a restore covers, by name: `title`, `@category`.
package struct NamedParts: Sendable {
  fileprivate let names: [String]
  /// The parts of each kind of entity. The number of a field such as `@name` differs between kinds.
  package let byKind: [EntityKind: Set<FieldKey>]

  /// - Throws: ``JournalError`` with code `wrongUse` if a name with `@` is not a field of any kind of entity.
  package init(_ names: [String]) throws(JournalError) {
    var byKind: [EntityKind: Set<FieldKey>] = [:]
    for name in names {
      var isKnown = false
      for kind in Catalog.entityKinds {
        guard let key = Catalog.key(named: name, of: kind) else { continue }
        byKind[kind, default: []].insert(key)
        isKnown = true
      }
      guard isKnown else {
        throw JournalError(.wrongUse, "there is no field \(name); attributes are written without @")
      }
    }
    self.names = names
    self.byKind = byKind
  }
}

extension Catalog {
  /// The end of an error message, such as `; the catalog's own field is @kind`; empty if `name` is no field.
  package static func hint(forFieldWithoutSign name: String) -> String {
    let isField = entityKinds.contains { fieldNames(of: $0).contains(name) }
    return isField ? "; the catalog's own field is @\(name)" : ""
  }
}

extension Journal where State == Catalog {
  /// Throws if one of the parts is in no entity to restore: an attribute that none has now or at `point`, or a field
  /// that only other kinds have.
  /// - Parameter entities: the entities to restore; nil for all.
  /// - Throws: ``JournalError`` with code `notFound`, which names the part.
  /// - Complexity: O(n) for n entities.
  func check(
    _ parts: NamedParts, of entities: [EntityKey]?, asOf point: RevisionSelector
  ) throws {
    let states = [state, try state(asOf: point)]
    var kinds = Set(entities?.map(\.kind) ?? [.item, .category, .image])
    // The images of an item are restored with the item.
    func hasImages(_ entity: EntityKey) -> Bool {
      entity.kind == .item && states.contains { $0.referrers(to: entity).contains { $0.kind == .image } }
    }
    if entities?.contains(where: hasImages) == true { kinds.insert(.image) }
    var missing: [String] = []
    for name in parts.names {
      if case .attribute(let attribute)? = Catalog.key(named: name, of: .item) {
        missing.append(attribute)
      } else if !kinds.contains(where: { Catalog.key(named: name, of: $0) != nil }) {
        throw JournalError(.notFound, "nothing that would be restored has the field \(name)")
      }
    }
    for catalog in states {
      for entity in entities ?? catalog.items.map(\.id.entity) {
        if missing.isEmpty { return }
        guard let record = catalog.record(of: entity) else { continue }
        missing.removeAll { record.value(of: .attribute($0)) != nil }
      }
    }
    guard let name = missing.first else { return }
    throw JournalError(
      .notFound,
      "nothing that would be restored has the attribute \"\(name)\", now or at that point"
        + Catalog.hint(forFieldWithoutSign: name))
  }
}
