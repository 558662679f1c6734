import CBOR

/// The decoded rules of a catalog by the kinds of items. Immutable, and shared by states with the same rules.
final class RuleSet: Sendable {
  /// The rules by the number of the kind.
  private let byKind: [Int: [Catalog.Rule]]
  /// A rule of an unknown form; nil if there is none.
  let unknown: Catalog.Rule?
  /// The migrations, in the order in which they were run.
  let migrations: [(name: String, isBreaking: Bool)]

  /// The empty set.
  static let none = RuleSet(EntityTable(), TextInterner())

  /// Decodes the rules in a table. The kinds of the rules must have numbers already.
  init(_ table: EntityTable, _ kinds: TextInterner) {
    var byKind: [Int: [Catalog.Rule]] = [:]
    var unknown: Catalog.Rule?
    var migrations: [(name: String, isBreaking: Bool)] = []
    for (number, row) in table {
      let rule = Catalog.Rule(number: number, record: row.record)
      switch rule.form {
      case .unknown: unknown = unknown ?? rule
      case .migration(let name, let isBreaking):
        migrations.append((name, isBreaking))
        continue
      default: break
      }
      if !rule.kind.isEmpty, let kind = kinds.number(of: rule.kind) { byKind[kind, default: []].append(rule) }
    }
    (self.byKind, self.unknown, self.migrations) = (byKind, unknown, migrations)
    isEmpty = byKind.isEmpty && unknown == nil
    attributes = Set(byKind.values.joined().flatMap(\.paths).compactMap(\.names.first))
  }

  /// Whether there is no rule for items. Each event asks for it.
  let isEmpty: Bool

  /// The attributes of which the rules demand something.
  private let attributes: Set<String>

  /// Whether the lines of an item in the indexes for rules can differ after an event that keeps the item's kind.
  func concern(_ event: JournalEvent) -> Bool {
    if isEmpty { return false }
    guard case .update(let changes) = event.change else { return true }
    var isConcerned = false
    changes.visitKeys { key in
      if case .attribute(let name) = key, attributes.contains(name) { isConcerned = true }
    }
    return isConcerned
  }

  /// All rules, in the order of their numbers.
  var all: [Catalog.Rule] { byKind.values.joined().sorted { $0.id < $1.id } }

  subscript(kind: Int?) -> [Catalog.Rule] { kind.flatMap { byKind[$0] } ?? [] }

  /// The numbers of the kinds whose rules differ between two sets.
  func kinds(differingFrom other: RuleSet) -> [Int] {
    Set(byKind.keys).union(other.byKind.keys).filter { byKind[$0] != other.byKind[$0] }.sorted()
  }
}

/// The lines of one item in the indexes for rules. A line can occur twice.
struct RuleLines: Equatable {
  /// The items to which the item refers.
  private(set) var targets: [Int] = []
  /// The groups of the item's unique keys.
  private(set) var groups: [Int] = []

  init() {}

  init(_ record: EntityRecord, _ rules: [Catalog.Rule]) {
    // An iteration over the rules would copy each, with its reference counts.
    for index in rules.indices {
      targets += rules[index].targets(in: record)
      if let key = rules[index].key(of: record) { groups.append(rules[index].group(of: key)) }
    }
  }
}

extension EntityIndex {
  /// Moves a member from the groups `old` to the groups `new`.
  fileprivate mutating func relist(_ member: Int, from old: [Int], to new: [Int]) {
    // Sets are made only if both sides have groups, which is rare.
    let (before, after) = old.isEmpty || new.isEmpty ? ([], []) : (Set(old), Set(new))
    for group in old where !after.contains(group) { remove(member, from: group) }
    for group in new where !before.contains(group) { insert(member, in: group) }
  }
}

extension Catalog {
  /// The rules for items, in the order of their numbers.
  public var allRules: [Catalog.Rule] { rules.all }

  /// The rules for the items of a kind.
  public func rules(ofKind kind: String) -> [Catalog.Rule] { rules[itemKindNumbers.number(of: kind)] }

  /// The rules for an item with a given record.
  func rules(for record: EntityRecord) -> [Catalog.Rule] {
    guard !rules.isEmpty, let fields = try? ItemFields(record) else { return [] }
    return rules(for: record, fields)
  }

  func rules(for record: EntityRecord, _ fields: ItemFields) -> [Catalog.Rule] {
    rules.isEmpty ? [] : rules[itemKindNumbers.number(ofTextAt: fields.kind, in: record)]
  }

  /// The items to which a value of an attribute refers by the rules of a kind of items.
  package func targets(of value: FieldValue, in attribute: String, ofKind kind: String) -> [EntityKey] {
    if rules.isEmpty { return [] }
    let record = EntityRecord([attribute: value])
    return rules(ofKind: kind).flatMap { $0.targets(in: record) }.map { .item($0) }
  }

  /// Updates the indexes for rules after an item was added, updated or deleted.
  mutating func relist(
    _ number: Int, from before: (record: EntityRecord, fields: ItemFields)?,
    to after: (record: EntityRecord, fields: ItemFields)?
  ) {
    if rules.isEmpty { return }
    relist(
      number, from: before.map { RuleLines($0.record, rules(for: $0.record, $0.fields)) } ?? RuleLines(),
      to: after.map { RuleLines($0.record, rules(for: $0.record, $0.fields)) } ?? RuleLines())
  }

  private mutating func relist(_ number: Int, from old: RuleLines, to new: RuleLines) {
    if old == new { return }
    itemsByReference.relist(number, from: old.targets, to: new.targets)
    itemsByKey.relist(number, from: old.groups, to: new.groups)
  }

  /// Decodes the rules of the table after a rule has changed, and updates the indexes for items of the changed kinds.
  /// - Complexity: O(n log n) for n items of the kinds.
  mutating func updateRules() {
    for (_, row) in ruleTable {
      if let fields = try? RuleFields(row.record), fields.kind.count > 1 {
        _ = itemKindNumbers.assign(textAt: fields.kind, in: row.record)
      }
    }
    let old = rules
    rules = RuleSet(ruleTable, itemKindNumbers)
    for kind in rules.kinds(differingFrom: old) {
      let (before, after) = (old[kind], rules[kind])
      // If no rule was removed, the indexes already have the lines of the other rules.
      let added = before.allSatisfy { after.contains($0) } ? after.filter { !before.contains($0) } : nil
      // Copy the members into an array first. Iterating over the index itself would keep a second reference to it, so
      // that an update would copy its nodes.
      for number in Array(itemsByKind.members(of: kind)) {
        guard let record = itemTable[number]?.record else { continue }
        relist(
          number, from: added == nil ? RuleLines(record, before) : RuleLines(),
          to: RuleLines(record, added ?? after))
      }
    }
  }
}
