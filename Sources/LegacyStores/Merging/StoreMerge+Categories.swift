import CatalogModel
import Foundation

extension StoreMerge {
  mutating func mergeCategories(_ draft: inout Draft<Catalog>) throws {
    var matches: [Int?] = Array(repeating: nil, count: store.categories.count)
    var free = Set(memory.groups.indices)
    var named = FreeIndexes(memory.groups.indices) { Array(memory.groups[$0].name.utf8) }
    for (index, category) in store.categories.enumerated() {
      matches[index] = named.first(Array(category.name.utf8), in: free)
      if let match = matches[index] { free.remove(match) }
    }
    let new = matches.indices.filter { matches[$0] == nil }
    if new.count == 1, free.count == 1 {
      // It was renamed.
      matches[new[0]] = free.removeFirst()
    } else if !new.isEmpty {
      var colored = FreeIndexes(free.sorted()) { memory.groups[$0].color }
      var filled = FreeIndexes(free.sorted()) { Self.fingerprint(memory.groups[$0].fields) }
      for index in new where !free.isEmpty {
        let category = store.categories[index]
        let found = [
          colored.first(category.color, in: free), filled.first(Self.fingerprint(category.fields), in: free),
        ]
        guard let match = found.compactMap(\.self).min() else { continue }
        matches[index] = match
        free.remove(match)
      }
    }
    let inUse = Set(memory.groups.map(\.category))
    var unused: [[UInt8]: [CategoryID]] = [:]
    if matches.contains(nil) {
      for category in draft.state.categories where !inUse.contains(category.id) {
        unused[Array(category.name.utf8), default: []].append(category.id)
      }
      for name in unused.keys { unused[name]?.reverse() }
    }
    categories = []
    groupIndexes = []
    for (index, category) in store.categories.enumerated() {
      if let match = matches[index] {
        groupIndexes.append(match)
        categories.append(try change(match, to: category, &draft))
      } else {
        let (number, isAdopted) = try addCategory(category, &unused, &draft)
        categories.append(number)
        groupIndexes.append(memory.groups.count)
        memory.groups.append(
          ImportMemory.Group(category, number: number, list: category.list, isAdopted: isAdopted))
      }
    }
  }

  /// Identifies the fields of a category. Many have an empty list.
  private static func fingerprint(_ fields: [String: FieldValue]) -> Data? {
    let fields = fields.filter { !$0.value.isEmptyList }
    return fields.isEmpty ? nil : fields.fingerprint
  }

  /// - Parameter unused: the categories of the journal that are not in the files, by name; the first one is last.
  mutating func addCategory(
    _ category: LegacyCategory, _ unused: inout [[UInt8]: [CategoryID]], _ draft: inout Draft<Catalog>
  ) throws -> (CategoryID, isAdopted: Bool) {
    // If the app has a category with that name, it is used.
    if let number = unused[Array(category.name.utf8)]?.popLast(), let there = draft.state.category(number) {
      if there.color == nil, let color = category.color {
        try draft.setColor(ofCategory: there.id, to: color)
        report.categories += 1
      }
      return (there.id, true)
    }
    let number = try draft.addCategory(name: category.name.usableName, color: category.color)
    report.categories += 1
    return (number, false)
  }

  mutating func change(
    _ match: Int, to category: LegacyCategory, _ draft: inout Draft<Catalog>
  ) throws -> CategoryID {
    let old = memory.groups[match]
    memory.groups[match] = ImportMemory.Group(
      category, number: old.category, list: category.list.isEmpty ? old.list : category.list,
      isAdopted: old.isAdopted)
    let isRenamed = !old.name.utf8.elementsEqual(category.name.utf8)
    let isRecolored = old.color != category.color
    guard let there = draft.state.category(old.category) else {
      // The number of a deleted one says that the file has not moved its items.
      guard isRenamed || isRecolored else { return old.category }
      report.note(
        "the category \"\(category.name)\"",
        "it was deleted in the journal but has changed in the file since, so it is added again")
      let number = try draft.addCategory(name: category.name.usableName, color: category.color)
      memory.groups[match].category = number
      for (index, row) in memory.rows.enumerated() where row.category == old.category {
        memory.rows[index].category = number
        if let item = draft.state.item(row.item), item.category == nil {
          try draft.setCategory(ofItem: item.id, to: number)
        }
      }
      report.categories += 1
      return number
    }
    let name = isRenamed ? category.name.usableName : there.name
    let color = isRecolored ? category.color : there.color
    for (part, isConflict) in [
      ("name", isRenamed && there.name != old.name.usableName && there.name != name),
      ("color", isRecolored && there.color != old.color && there.color != color),
    ] where isConflict {
      report.note(
        "the category \"\(there.name)\"",
        "its \(part) was changed both in the journal and in the file; the file's value is used, and the history of "
          + "category:\(there.id) has the other one")
    }
    try draft.updateCategory(old.category, name: name, color: color)
    if name != there.name || color != there.color { report.categories += 1 }
    return old.category
  }

  mutating func deleteUnusedCategories(_ draft: inout Draft<Catalog>) throws {
    let present = Set(categories)
    let used = Set(memory.rows.compactMap(\.category))
    let gone = memory.groups.filter { group in
      !present.contains(group.category) && !used.contains(group.category)
        && (group.list.isEmpty || store.lists.contains(group.list))
    }
    let numbers = Set(gone.map(\.category))
    memory.groups.removeAll { numbers.contains($0.category) }
    for group in gone {
      // One that people made, and items that they put into it, stay.
      guard let there = draft.state.category(group.category), !group.isAdopted else { continue }
      guard there.name == group.name.usableName, there.color == group.color,
        draft.state.items(in: there.id).first(where: { _ in true }) == nil
      else {
        report.note(
          "category:\(there.id)",
          "the file no longer has it, but it was changed in the journal since, so it stays")
        continue
      }
      try draft.deleteCategory(there.id)
      report.categories += 1
    }
  }
}

/// Indexes by key, from which the first one that is still free is found.
private struct FreeIndexes<Key: Hashable> {
  private var indexes: [Key: [Int]] = [:]

  /// - Parameter key: the key of an index; nil if it has none.
  init(_ ascending: some BidirectionalCollection<Int>, key: (Int) -> Key?) {
    for index in ascending.reversed() {
      if let key = key(index) { indexes[key, default: []].append(index) }
    }
  }

  mutating func first(_ key: Key?, in free: Set<Int>) -> Int? {
    guard let key else { return nil }
    while let last = indexes[key]?.last {
      if free.contains(last) { return last }
      indexes[key]?.removeLast()
    }
    return nil
  }
}
