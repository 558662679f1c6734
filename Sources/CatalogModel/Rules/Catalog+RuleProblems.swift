import CBOR

extension Catalog {
  /// The most items to name in a message about a rule that does not hold.
  private static let namedCount = 10

  /// The broken rules that an event may have caused, as messages.
  /// - Parameters:
  ///   - changed: the items that the entry changed. Their own events check their references.
  ///   - referrers: by each item that the entry deleted, the existing items that refer to it.
  ///   - before: the state before the entry, which kept the rules.
  func ruleProblems(
    after event: JournalEvent, among changed: Set<Int>, _ referrers: [Int: [Referrer]], since before: Catalog
  ) -> [String] {
    let number = event.entity.number
    if event.entity.kind == .item, let unknown = rules.unknown { return [Self.problem(of: unknown)] }
    switch (event.entity.kind, event.change) {
    case (.rule, .add), (.rule, .update):
      return ruleTable[number].map { declarationProblems(number, $0) } ?? []
    case (.item, _) where rules.isEmpty: return []
    case (.item, .delete):
      return referrers[number, default: []].map { _, referrer, rule in
        "item:\(number) can't be deleted: item:\(referrer) refers to it (\(rule.named))"
      }
    case (.item, _):
      guard let record = record(after: event) else { return [] }
      var problems = problems(ofItem: number, record, rules(for: record))
      // Referrers are checked if the item's kind may have changed, or if the item was erased before. No item referred
      // to a deleted item, but an erased item may have referrers.
      let mayDiffer =
        if case .update(let changes) = event.change {
          changes.changeFields
        } else {
          event.previous > 0 && before.itemTable.isErased(number)
        }
      if mayDiffer {
        for (_, referrer, rule) in self.referrers(toItems: [number], except: changed) {
          problems += targetProblems(ofItem: referrer, number, rule)
        }
      }
      return problems
    default: return []
    }
  }

  /// The rules that an item breaks, as messages.
  /// - Parameter onlyWithEarlier: whether to compare unique keys only with items of lower numbers.
  func problems(
    ofItem number: Int, _ record: EntityRecord, _ rules: [Rule], onlyWithEarlier: Bool = false
  ) -> [String] {
    var problems: [String] = []
    for rule in rules {
      func add(_ problem: String) { problems.append("item:\(number) \(problem) (\(rule.named))") }
      switch rule.form {
      case .reference:
        guard rule.holdsTargets else { break }
        let (targets, isAll) = record.integers(at: rule.paths[0])
        if !isAll || !targets.allSatisfy({ EntityKey.numbers.contains($0) }) {
          add("has a \(rule.attributes[0]) that is no number of an item")
        }
        for target in targets { problems += targetProblems(ofItem: number, target, rule) }
      case .unique:
        guard let key = rule.key(of: record) else { break }
        let other = item(with: key, by: rule) { $0 != number && !(onlyWithEarlier && $0 > number) }
        if let other { add("has the same \(rule.attributes.joined(separator: " and ")) as item:\(other)") }
      case .required: if record.key(at: rule.paths[0]) == .missing { add("has no \(rule.attributes[0])") }
      case .migration, .unknown: break
      }
    }
    return problems
  }

  /// An existing item that refers to `target` by a rule that guarantees the existence of `target`.
  typealias Referrer = (target: Int, item: Int, rule: Rule)

  /// The existing items that refer to some items by rules that guarantee the existence of these.
  /// - Parameters:
  ///   - numbers: the items referred to, in ascending order.
  ///   - others: referring items to leave out, without reading them.
  func referrers(toItems numbers: [Int], except others: Set<Int> = []) -> [Referrer] {
    let lines = itemsByReference.lines(ofGroups: numbers).filter { !others.contains($0.member) }
    var referrers: [Referrer] = []
    for (line, entity) in zip(lines, itemTable.entities(lines.map(\.member))) {
      guard let record = entity.row?.record else { continue }
      for rule in rules(for: record) where rule.holdsTargets && rule.targets(in: record).contains(line.group)
      {
        referrers.append((line.group, line.member, rule))
      }
    }
    return referrers
  }

  /// The indexes for rules whose lines differ from those that the items and rules demand, as messages.
  func ruleIndexProblems() -> [String] {
    var expected = Catalog()
    (expected.rules, expected.itemKindNumbers) = (rules, itemKindNumbers)
    if rules.isEmpty, itemsByReference.lineCount + itemsByKey.lineCount == 0 { return [] }
    for (number, row) in itemTable {
      if let fields = try? ItemFields(row.record) {
        expected.relist(number, from: nil, to: (row.record, fields))
      }
    }
    return [
      ("by the items to which they refer", itemsByReference, expected.itemsByReference),
      ("by their unique keys", itemsByKey, expected.itemsByKey),
    ].compactMap { name, index, expected in
      index.lines.elementsEqual(expected.lines) ? nil : "items are listed wrongly \(name)"
    }
  }

  /// The first item with a given key by a rule, among the items that `isAsked` accepts; nil if there is none.
  func item(with key: [ValueKey], by rule: Rule, where isAsked: (Int) -> Bool = { _ in true }) -> Int? {
    itemsByKey.members(of: rule.group(of: key)).first { number in
      guard isAsked(number), let record = itemTable[number]?.record else { return false }
      return rule.key(of: record) == key && rules(for: record).contains { $0.id == rule.id }
    }
  }

  private static func problem(of unknown: Rule) -> String {
    let form = unknown.form.name
    if ["reference", "unique", "required", "migration"].contains(form) {
      return
        "\(name(of: unknown.id.entity)) has the form \"\(form)\", but lacks an attribute of it or has others, so this "
        + "version can't change items; paths is an array of arrays of names"
    }
    return "\(name(of: unknown.id.entity)) has the form \"\(form)\", which this version does not know, so it "
      + "can't change items; use a newer version"
  }

  private func targetProblems(ofItem number: Int, _ target: Int, _ rule: Rule) -> [String] {
    guard case .reference(let kind, _) = rule.form, !itemTable.isErased(target) else { return [] }
    // Look in the index by kind first: it is small, so it is more likely in memory than the record of a random item.
    if let kind, let group = itemKindNumbers.number(of: kind), itemsByKind.contains(target, in: group) {
      return []
    }
    guard let item = item(Item.ID(target)) else {
      return ["item:\(number) refers to item:\(target), which does not exist (\(rule.named))"]
    }
    guard let kind, !item.kind.utf8.elementsEqual(kind.utf8) else { return [] }
    return ["item:\(number) refers to item:\(target), which is a \(item.kind) (\(rule.named))"]
  }

  /// The problem with a new rule, as one message that lists the items that break the rule; empty if there is none.
  private func declarationProblems(_ number: Int, _ row: EntityRow) -> [String] {
    let rule = Rule(number: number, record: row.record)
    if case .unknown = rule.form { return [Self.problem(of: rule)] }
    if let other = rules(ofKind: rule.kind).first(where: { $0.id != rule.id && $0.replaces(rule) }) {
      return ["rule:\(number) can't be added: there is \(other.named); delete that one first"]
    }
    var problems: [String] = []
    var count = 0
    forEachItem(ofKind: rule.kind) { number, record in
      for problem in self.problems(ofItem: number, record, [rule], onlyWithEarlier: true) {
        count += 1
        if count <= Self.namedCount { problems.append(problem.replacing(" (\(rule.named))", with: "")) }
      }
      return true
    }
    if count == 0 { return [] }
    let rest = count > Self.namedCount ? "; and \(count - Self.namedCount) more" : ""
    return [
      "rule:\(number) does not hold yet (\(rule)): \(problems.joined(separator: "; "))\(rest). Change or delete these items "
        + "in an earlier entry or in the same one"
    ]
  }
}
