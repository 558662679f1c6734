package import CBOR
package import CatalogModel
package import Journaling

/// Why a query can't find anything: one of its conditions fits no entity of the kind and the categories.
package enum Misfit {
  /// No entity has the part; `others` are the attributes that they have.
  case unknown(part: String, others: Set<String>)
  /// All values of the part have other types than the condition asks for; one of them is an example.
  case otherType(part: String, example: FieldValue)
}

extension EntityQuery {
  /// Looks for a condition that fits no entity of the kind and of the categories, or a part that none has; nil if there
  /// is none.
  /// - Parameters:
  ///   - parts: parts that entities should have, besides those of conditions.
  ///   - point: the point in time to search.
  ///   - deleted: whether to search entities that were deleted by then.
  /// - Throws: ``JournalError``, as `find(_:asOf:deleted:_:)` does.
  /// - Complexity: O(n) for the n entities of the kind and of the categories.
  package func misfit(
    of parts: [String] = [], in journal: Journal<Catalog>, asOf point: RevisionSelector, deleted: Bool
  ) throws -> Misfit? {
    let conditions = conditions.filter { !$0.isOfType(of: .null) }
    if conditions.isEmpty, parts.isEmpty { return nil }
    var examples: [String: FieldValue] = [:]
    var fitting: Set<String> = []
    var attributes: Set<String> = []
    let others = EntityQuery(kind: kind, categories: categories)
    try journal.find(others, asOf: point, deleted: deleted) { found in
      for condition in conditions {
        guard let value = found[condition.field], !value.isNull else { continue }
        examples[condition.field] = value
        if condition.isOfType(of: value) { fitting.insert(condition.field) }
      }
      for part in parts where found[part] != nil { fitting.insert(part) }
      found.record.visitKeys { if case .attribute(let name) = $0 { attributes.insert(name) } }
      return !(conditions.map(\.field) + parts).allSatisfy(fitting.contains)
    }
    guard let part = (conditions.map(\.field) + parts).first(where: { !fitting.contains($0) }) else {
      return nil
    }
    if let example = examples[part] { return .otherType(part: part, example: example) }
    return .unknown(part: part, others: attributes)
  }
}
