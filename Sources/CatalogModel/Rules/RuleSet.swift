import CBOR

/// The rules of a catalog by the kinds of items, decoded. It never changes, and the states that have the same rules share
/// it.
final class RuleSet: Sendable {
  /// By the numbers of kinds.
  private let byKind: [Int: [Catalog.Rule]]
  /// A rule that this version can't hold.
  let unknown: Catalog.Rule?
  /// In the order in which they were made.
  let migrations: [(name: String, isBreaking: Bool)]

  /// No rules.
  static let none = RuleSet(EntityTable(), TextInterner())

  /// The rules in a table. Their kinds have numbers already.
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
  }

  var isEmpty: Bool { byKind.isEmpty && unknown == nil }

  /// All rules, in the order of their numbers.
  var all: [Catalog.Rule] { byKind.values.joined().sorted { $0.id < $1.id } }

  subscript(kind: Int?) -> [Catalog.Rule] { kind.flatMap { byKind[$0] } ?? [] }

  /// The numbers of the kinds that have other rules in another set.
  func kinds(differingFrom other: RuleSet) -> [Int] {
    Set(byKind.keys).union(other.byKind.keys).filter { byKind[$0] != other.byKind[$0] }.sorted()
  }
}

/// What the indexes for rules list of one item. A line may be there twice.
struct RuleLines: Equatable {
  /// The items to which it refers.
  private(set) var targets: [Int] = []
  /// The groups of its unique keys.
  private(set) var groups: [Int] = []

  init() {}

  init(_ record: EntityRecord, _ rules: [Catalog.Rule]) {
    for rule in rules {
      switch rule.form {
      case .reference: targets += rule.targets(in: record)
      case .unique: if let key = rule.key(of: record) { groups.append(rule.group(of: key)) }
      case .required, .migration, .unknown: break
      }
    }
  }
}

extension EntityIndex {
  /// Moves a member from some groups to others.
  fileprivate mutating func relist(_ member: Int, from old: [Int], to new: [Int]) {
    // Nearly always there are none on one side.
    let (before, after) = (Set(new.isEmpty ? [] : old), Set(old.isEmpty ? [] : new))
    for group in old where !after.contains(group) { remove(member, from: group) }
    for group in new where !before.contains(group) { insert(member, in: group) }
  }
}

extension Catalog {
  /// The rules for items, in the order of their numbers.
  public var allRules: [Catalog.Rule] { rules.all }

  /// The rules for the items of a kind.
  public func rules(ofKind kind: String) -> [Catalog.Rule] { rules[itemKindNumbers.number(of: kind)] }

  /// The rules for an item with that record.
  func rules(for record: EntityRecord) -> [Catalog.Rule] {
    guard !rules.isEmpty, let fields = try? ItemFields(record) else { return [] }
    return rules[itemKindNumbers.number(ofTextAt: fields.kind, in: record)]
  }

  /// The items to which a value of an attribute refers by the rules of a kind of items.
  package func targets(of value: FieldValue, in attribute: String, ofKind kind: String) -> [EntityKey] {
    if rules.isEmpty { return [] }
    let record = EntityRecord([attribute: value])
    return rules(ofKind: kind).flatMap { $0.targets(in: record) }.map { .item($0) }
  }

  /// Lists an item whose record has changed, or that was added or deleted, as its rules demand.
  mutating func relist(_ number: Int, from before: EntityRecord?, to after: EntityRecord?) {
    if rules.isEmpty { return }
    relist(
      number, from: before.map { RuleLines($0, rules(for: $0)) } ?? RuleLines(),
      to: after.map { RuleLines($0, rules(for: $0)) } ?? RuleLines())
  }

  private mutating func relist(_ number: Int, from old: RuleLines, to new: RuleLines) {
    if old == new { return }
    itemsByReference.relist(number, from: old.targets, to: new.targets)
    itemsByKey.relist(number, from: old.groups, to: new.groups)
  }

  /// Takes over the rules of the table after one has changed, and lists the items of its kind anew.
  /// - Complexity: O(n log n) for n items of the kind.
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
      // If no rule goes, the lines of the others are there already.
      let added = before.allSatisfy { after.contains($0) } ? after.filter { !before.contains($0) } : nil
      // This is an array, because an open listing would make each change copy the table.
      for number in Array(itemsByKind.members(of: kind)) {
        guard let record = itemTable[number]?.record else { continue }
        relist(
          number, from: added == nil ? RuleLines(record, before) : RuleLines(),
          to: RuleLines(record, added ?? after))
      }
    }
  }
}
