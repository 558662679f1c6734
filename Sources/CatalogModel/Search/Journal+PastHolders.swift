package import CBOR

/// A path, and the ranges of which one has the value there.
package typealias ValueLookup = (path: AttributePath, ranges: [ValueRange])

extension Journal where State == Catalog {
  /// The items that ever matched a filter, and possibly others, by an index on one of its properties. Nil if there is no
  /// such index, or if a pass over the log takes less time.
  package func pastCandidates<Model>(
    _ filter: ItemFilter<Model>, atMost limit: Int? = nil
  ) throws -> Set<Int>? {
    version.state.indexCache.declare(Model.indexedPaths, of: IndexScope(itemsOfKind: Model.kind))
    return try pastCandidates(
      ofKind: Model.kind, filter.condition.get().conjuncts.compactMap(\.lookup), atMost: limit)
  }

  /// As the function for a filter.
  /// - Parameters:
  ///   - lookups: what each match has; the first lookup with an index is used.
  ///   - limit: as `pastHolders` takes it.
  package func pastCandidates(
    ofKind kind: String, _ lookups: [ValueLookup], atMost limit: Int? = nil
  ) throws -> Set<Int>? {
    let scope = IndexScope(itemsOfKind: kind)
    for (path, ranges) in lookups {
      version.state.indexCache.declarePastValues(at: path, of: scope)
      let found = try settled { try pastHolders(of: scope, at: path, in: ranges, atMost: limit) }
      if let found { return found }
    }
    return nil
  }
}

extension Condition {
  /// The lookup that finds all records for which the condition holds; nil if it compares other things than the values at
  /// one path.
  fileprivate var lookup: ValueLookup? {
    var found: ValueLookup?
    for part in disjuncts {
      guard case .value(let path, let range) = part, found.map({ $0.path == path }) ?? true else {
        return nil
      }
      found = (path, (found?.ranges ?? []) + [range])
    }
    return found
  }
}
