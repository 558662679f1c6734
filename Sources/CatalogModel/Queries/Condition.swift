import CBOR

/// A condition of a query, without the type of the items.
indirect enum Condition: Sendable {
  case value(AttributePath, ValueRange)
  case category(Int?)
  /// Whether a text occurs in a text at the path or, without a path, in a text of any attribute, ignoring case.
  case text(String, in: AttributePath?)
  case closure(@Sendable (EntityRecord) -> Bool)
  /// Whether the texts of an item match a search for words.
  case words(WordSearch)
  case all([Condition])
  case any([Condition])
  case not(Condition)

  /// Holds for every item.
  static let everything = Condition.all([])
  /// Holds for no item.
  static let none = Condition.any([])

  /// Tests whether the condition holds for a record. Only the parts in the condition are read.
  ///
  /// A closure for many records, because copying the parts of the condition for each record would take longer than the
  /// test.
  var test: @Sendable (EntityRecord) -> Bool {
    switch self {
    case .value(let path, let range): return { range.contains($0, at: path) }
    case .category(let category): return { (try? ItemFields($0))?.category == category }
    case .text(let text, in: let path?): return { $0.value(at: path)?.hasText(text) ?? false }
    case .text(let text, in: nil): return { $0.hasText(text) }
    case .words(let search): return search.holds
    case .closure(let holds): return holds
    case .all(let conditions):
      let tests = conditions.map(\.test)
      if tests.isEmpty { return { _ in true } }
      if tests.count == 1 { return tests[0] }
      return { record in tests.allSatisfy { $0(record) } }
    case .any(let conditions):
      let tests = conditions.map(\.test)
      return { record in tests.contains { $0(record) } }
    case .not(let condition):
      let test = condition.test
      return { !test($0) }
    }
  }

  var hasClosure: Bool {
    switch self {
    case .closure: true
    case .value, .category, .text, .words: false
    case .all(let conditions), .any(let conditions): conditions.contains(where: \.hasClosure)
    case .not(let condition): condition.hasClosure
    }
  }

  /// A list of this many conditions is not extended, because each extension copies it.
  private static let fullCount = 1024

  /// Holds if this condition and another one hold.
  ///
  /// Extends a list, so that joining many conditions in a loop does not make a tree so deep that its evaluation or
  /// release would overflow the stack: the tree has a level for each ``fullCount`` conditions.
  func and(_ other: Condition) -> Condition {
    if case .all(let list) = self, list.count < Self.fullCount { return .all(list + [other]) }
    return .all([self, other])
  }

  /// Holds if this condition or another one holds. Extends a list as ``and(_:)`` does.
  func or(_ other: Condition) -> Condition {
    if case .any(let list) = self, list.count < Self.fullCount { return .any(list + [other]) }
    return .any([self, other])
  }

  /// The parts of a conjunction, or the condition itself. None of them is `all`.
  var conjuncts: [Condition] {
    if case .all(let conditions) = self { conditions.flatMap(\.conjuncts) } else { [self] }
  }
}

extension EntityRecord {
  /// The value at a path, nil if the record has none there.
  func value(at path: AttributePath) -> FieldValue? {
    path.names.dropFirst().reduce(self[path.names[0]]) { value, name in value?[name] }
  }

  /// Whether a text occurs in a text of an attribute.
  fileprivate func hasText(_ text: String) -> Bool {
    var found = false
    visit { key, value in
      if !found, case .attribute = key { found = value.hasText(text) }
    }
    return found
  }
}
