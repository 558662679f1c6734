import CBOR

/// A condition of a query, without the type of the items.
indirect enum Condition: Sendable {
  case value(AttributePath, ValueRange)
  case category(Int?)
  case all([Condition])
  case any([Condition])
  case not(Condition)

  /// Holds for every item.
  static let everything = Condition.all([])
  /// Holds for no item.
  static let none = Condition.any([])

  /// Whether the condition holds. Only the parts that it concerns are decoded.
  func holds(for record: EntityRecord) -> Bool {
    switch self {
    case .value(let path, let range): range.contains(record, at: path)
    case .category(let category): (try? ItemFields(record))?.category == category
    case .all(let conditions): conditions.allSatisfy { $0.holds(for: record) }
    case .any(let conditions): conditions.contains { $0.holds(for: record) }
    case .not(let condition): !condition.holds(for: record)
    }
  }

  /// The conditions that this one is a conjunction of. None of them is `all`.
  var conjuncts: [Condition] {
    if case .all(let conditions) = self { conditions.flatMap(\.conjuncts) } else { [self] }
  }
}
