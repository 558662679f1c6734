package import CatalogModel
import EntitySearch

/// The entities that a command or a request asks to restore.
package enum RestoreTarget {
  case everything
  case entities([EntityKey])
  /// All items that are of a kind now, or were at the point in time.
  case kind(String)
  /// Categories, and the items that are in them now, or were at the point in time.
  case categories(Set<CategoryID>)

  /// - Throws: ``JournalError`` with code `wrongUse` if one of the entities is a tag or a rule.
  package static func check(_ entities: [EntityKey]) throws(JournalError) {
    guard let kept = entities.first(where: { !Catalog.isRestored($0.kind) }) else { return }
    let reason =
      kept.kind == .tag
      ? "a tag is not part of a state; journal tag makes a new one"
      : "rules hold for all states; journal commit adds and deletes them"
    throw JournalError(.wrongUse, "\(Catalog.name(of: kept)) can't be restored: \(reason)")
  }
}

extension Journal where State == Catalog {
  /// Plans a restore as of a point in time.
  /// - Parameters:
  ///   - parts: the parts to restore; nil for all.
  ///   - deletesNew: whether to delete the named entities, or everything, if they did not exist at the point.
  /// - Throws: ``JournalError`` with code `wrongUse` if a named entity is a tag or a rule, or `notFound` if no item has
  ///   the kind, or no entity to restore has one of the parts; ``Absence`` if a named entity exists neither now nor at
  ///   the point, so that there is nothing to do.
  package func planRestore(
    of target: RestoreTarget, _ parts: NamedParts?, asOf point: RevisionSelector, keepsNew: Bool,
    deletesNew: Bool
  ) throws -> RestorePlan {
    var entities: [EntityKey]?
    var named: [EntityKey] = []
    switch target {
    case .everything: break
    case .entities(let keys):
      try RestoreTarget.check(keys)
      named = keys
      entities = keys
    case .kind(let kind):
      let items = try items(asOf: point) { $0.items(ofKind: kind) }
      if items.isEmpty {
        throw JournalError(.notFound, "no item has the kind \"\(kind)\", now or at that point")
      }
      entities = items
    case .categories(let ids):
      entities = try ids.sorted().flatMap { id in
        try [id.entity] + items(asOf: point) { $0.items(in: id) }
      }
    }
    let isGroup = entities != nil && named.isEmpty
    // Deleted entities of a group have no parts to restore.
    if parts != nil, isGroup { entities?.removeAll { state.record(of: $0) == nil } }
    let plan = try planRestore(
      of: entities.map(RestoreScope.entities) ?? .everything, asOf: point, fieldsByKind: parts?.byKind,
      keepsNew: keepsNew, deletesNew: deletesNew, isGroup: isGroup)
    if let parts { try check(parts, of: entities, asOf: point) }
    if plan.isEmpty, let absent = named.first(where: { state.record(of: $0) == nil }) {
      throw try absence(of: absent, at: revision(at: point))
    }
    return plan
  }

  /// The items of a selection, now or at a point in time.
  private func items(
    asOf point: RevisionSelector, _ select: (Catalog) -> Catalog.Items
  ) throws -> [EntityKey] {
    Set(try [state, state(asOf: point)].flatMap { select($0).map(\.id.entity) }).sorted()
  }
}
