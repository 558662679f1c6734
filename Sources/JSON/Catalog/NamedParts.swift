package import CatalogModel

/// The parts that a restore covers, by name: `title`, `@category`.
package struct NamedParts: Sendable {
  fileprivate let names: [String]
  /// The parts of each kind of entity. A field such as `@name` has another number in each kind.
  package let byKind: [EntityKind: Set<FieldKey>]

  /// - Throws: ``JournalError`` with code `wrongUse` if no kind of entity has a field of a name.
  package init(_ names: [String]) throws(JournalError) {
    var byKind: [EntityKind: Set<FieldKey>] = [:]
    for name in names {
      var isKnown = false
      for number in Catalog.kindNames.indices {
        let kind = EntityKind(rawValue: UInt8(number))
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
  /// `; the catalog's own field is @kind` for the name `kind`; empty if no field has the name.
  package static func hint(forFieldWithoutSign name: String) -> String {
    let isField = kindNames.indices.contains { number in
      fieldNames(of: EntityKind(rawValue: UInt8(number))).contains(name)
    }
    return isField ? "; the catalog's own field is @\(name)" : ""
  }
}

extension Journal where State == Catalog {
  /// Fails if no entity to restore has one of the parts: an attribute neither now nor at the point, or a
  /// field of other kinds only.
  /// - Parameter entities: nil for everything.
  /// - Throws: ``JournalError`` with code `notFound`, which names the part.
  /// - Complexity: O(n) for n entities.
  func check(
    _ parts: NamedParts, of entities: [EntityKey]?, asOf point: RevisionSelector
  ) throws {
    let states = [state, try state(asOf: point)]
    var kinds = Set(entities?.map(\.kind) ?? [.item, .category, .image])
    // The images of an item are restored with it.
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
