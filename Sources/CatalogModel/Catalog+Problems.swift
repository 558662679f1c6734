import CBOR

extension Catalog {
  /// The rules that this catalog breaks, as texts: references to missing entities, and listings that disagree with the
  /// records. Empty if the catalog is valid. References to erased entities are valid.
  /// - Complexity: O(n log n)
  public func problems() -> [String] {
    var problems: [String] = []
    for (kind, table) in zip(Self.kindNames, tables) {
      problems += table.problems(kind: kind)
    }
    checkItems(&problems)
    checkImages(&problems)
    for (number, row) in tagTable where (try? TagFields(row.record)) == nil {
      problems.append("tag:\(number) has an invalid record")
    }
    for (number, row) in ruleTable where (try? RuleFields(row.record)) == nil {
      problems.append("rule:\(number) has an invalid record")
    }
    problems += ruleIndexProblems()
    for (number, row) in categoryTable where (try? CategoryFields(row.record)) == nil {
      problems.append("category:\(number) has an invalid record")
    }
    return problems
  }

  /// The problems that these events may have caused: an item in a missing category, an image of a missing item, or an
  /// item that does not keep a rule.
  /// - Complexity: O(e log n) for e events.
  public func problems(after events: [JournalEvent], since before: Catalog) -> [String] {
    var problems: [String] = []
    let items = events.filter { $0.entity.kind == .item }
    let changed: Set<Int> = rules.isEmpty ? [] : Set(items.map(\.entity.number))
    let deleted = items.filter { $0.operation == .delete }.map(\.entity.number).sorted()
    let referrers =
      rules.isEmpty ? [:] : Dictionary(grouping: self.referrers(toItems: deleted), by: \.target)
    let images = Dictionary(
      imagesByItem.lines(ofGroups: deleted).map { ($0.group, $0.member) },
      uniquingKeysWith: { first, _ in first })
    for event in events {
      let number = event.entity.number
      problems += ruleProblems(after: event, among: changed, referrers, since: before)
      switch (event.entity.kind, event.change) {
      // Only rules concern attributes, and these are checked above.
      case (_, .update(let changes)) where !changes.changeFields: break
      case (.item, .delete):
        if let image = images[number] { problems.append(Self.problem(ofImage: image, item: number)) }
      case (.category, .delete):
        if let item = itemsByCategory.members(of: number).first(where: { _ in true }) {
          problems.append(Self.problem(ofItem: item, category: number))
        }
      case (.item, _):
        guard let record = record(after: event), let category = try? ItemFields(record).category else {
          break
        }
        if categoryTable[category] == nil, !categoryTable.isErased(category) {
          problems.append(Self.problem(ofItem: number, category: category))
        }
      case (.image, _):
        guard let record = record(after: event), let item = try? ImageFields(record).item else { break }
        if itemTable[item] == nil, !itemTable.isErased(item) {
          problems.append(Self.problem(ofImage: number, item: item))
        }
      default: break
      }
    }
    return problems
  }

  /// What the checks of this program find wrong with these events.
  public func problemsByAdditions(after events: [JournalEvent], since before: Catalog) -> [String] {
    itemChecks.problems(after: events, of: before, in: self)
  }

  private static func problem(ofItem item: Int, category: Int) -> String {
    "item:\(item) is in category:\(category), which does not exist"
  }

  private static func problem(ofImage image: Int, item: Int) -> String {
    "image:\(image) belongs to item:\(item), which does not exist"
  }

  /// The cached indexes that disagree with the items, in words. Each would be a bug in this module.
  /// - Complexity: O(n log n) for each index.
  public func indexProblems() -> [String] { indexCache.problems(in: itemTable) }

  private func checkItems(_ problems: inout [String]) {
    var categorized = 0
    let hasRules = !rules.isEmpty
    for (number, row) in itemTable {
      guard let fields = try? ItemFields(row.record) else {
        problems.append("item:\(number) has an invalid record")
        continue
      }
      let kind = itemKindNumbers.number(ofTextAt: fields.kind, in: row.record)
      if !itemsByKind.contains(number, in: kind ?? -1) {
        problems.append("item:\(number) is not listed under its kind")
      }
      if hasRules {
        problems += self.problems(ofItem: number, row.record, rules[kind], onlyWithEarlier: true)
      }
      guard let category = fields.category else { continue }
      categorized += 1
      if categoryTable[category] == nil, !categoryTable.isErased(category) {
        problems.append(Self.problem(ofItem: number, category: category))
      }
      if !itemsByCategory.contains(number, in: category) {
        problems.append("item:\(number) is not listed under its category")
      }
    }
    // Missing lines were reported above. Superfluous ones make these counts differ.
    if itemsByKind.lineCount != itemTable.count {
      problems.append("\(itemsByKind.lineCount) items are listed by kind, but there are \(itemTable.count)")
    }
    if itemsByCategory.lineCount != categorized {
      problems.append(
        "\(itemsByCategory.lineCount) items are listed by category, but \(categorized) have one")
    }
  }

  private func checkImages(_ problems: inout [String]) {
    for (number, row) in imageTable {
      guard let fields = try? ImageFields(row.record) else {
        problems.append("image:\(number) has an invalid record")
        continue
      }
      if itemTable[fields.item] == nil, !itemTable.isErased(fields.item) {
        problems.append(Self.problem(ofImage: number, item: fields.item))
      }
      if !imagesByItem.contains(number, in: fields.item) {
        problems.append("image:\(number) is not listed under its item")
      }
    }
    if imagesByItem.lineCount != imageTable.count {
      problems.append(
        "\(imagesByItem.lineCount) images are listed by item, but there are \(imageTable.count)")
    }
  }
}
