import CBOR

extension Catalog {
  /// Rules that this catalog breaks, in words: entities that refer to what is not there, and listings that
  /// disagree with the records. Empty when all is well.
  /// - Complexity: O(n log n)
  public func problems() -> [String] {
    var problems: [String] = []
    for (kind, table) in zip(Self.kindNames, [categoryTable, itemTable, imageTable]) {
      problems += table.problems(kind: kind)
    }
    checkItems(&problems)
    checkImages(&problems)
    for (number, row) in categoryTable where (try? CategoryFields(row.record)) == nil {
      problems.append("category:\(number) has a record that is no category's")
    }
    return problems
  }

  private func checkItems(_ problems: inout [String]) {
    var categorized = 0
    for (number, row) in itemTable {
      guard let fields = try? ItemFields(row.record) else {
        problems.append("item:\(number) has a record that is no item's")
        continue
      }
      let kind = kindNumbers.number(ofTextAt: fields.kind, in: row.record)
      if !itemsByKind.contains(number, in: kind ?? -1) {
        problems.append("item:\(number) is not listed under its kind")
      }
      guard let category = fields.category else { continue }
      categorized += 1
      if categoryTable[category] == nil {
        problems.append("item:\(number) is in category:\(category), which is not there")
      }
      if !itemsByCategory.contains(number, in: category) {
        problems.append("item:\(number) is not listed under its category")
      }
    }
    // All that should be listed is; so whatever else is listed makes the counts differ.
    if itemsByKind.count != itemTable.count {
      problems.append("\(itemsByKind.count) items are listed by kind, but there are \(itemTable.count)")
    }
    if itemsByCategory.count != categorized {
      problems.append("\(itemsByCategory.count) items are listed by category, but \(categorized) have one")
    }
  }

  private func checkImages(_ problems: inout [String]) {
    for (number, row) in imageTable {
      guard let fields = try? ImageFields(row.record) else {
        problems.append("image:\(number) has a record that is no image's")
        continue
      }
      if itemTable[fields.item] == nil {
        problems.append("image:\(number) belongs to item:\(fields.item), which is not there")
      }
      if !imagesByItem.contains(number, in: fields.item) {
        problems.append("image:\(number) is not listed under its item")
      }
    }
    if imagesByItem.count != imageTable.count {
      problems.append("\(imagesByItem.count) images are listed by item, but there are \(imageTable.count)")
    }
  }
}
