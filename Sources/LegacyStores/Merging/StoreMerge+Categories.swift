import CatalogModel

extension StoreMerge {
  mutating func mergeCategories(_ draft: inout Draft<Catalog>) throws {
    var matches: [Int?] = Array(repeating: nil, count: store.categories.count)
    var free = Set(memory.groups.indices)
    for (index, category) in store.categories.enumerated() {
      matches[index] = free.sorted().first { memory.groups[$0].name.utf8.elementsEqual(category.name.utf8) }
      if let match = matches[index] { free.remove(match) }
    }
    let new = matches.indices.filter { matches[$0] == nil }
    let isRename = new.count == 1 && free.count == 1
    for index in new {
      let category = store.categories[index]
      let match = free.sorted().first { match in
        let group = memory.groups[match]
        return isRename || category.color != nil && group.color == category.color
          || !group.fields.isEmpty && group.fields.fingerprint == category.fields.fingerprint
      }
      guard let match else { continue }
      matches[index] = match
      free.remove(match)
    }
    var inUse = Set(memory.groups.map(\.category))
    categories = []
    groupIndexes = []
    for (index, category) in store.categories.enumerated() {
      if let match = matches[index] {
        groupIndexes.append(match)
        categories.append(try change(match, to: category, &draft))
      } else {
        let number = try addCategory(category, &inUse, &draft)
        categories.append(number)
        groupIndexes.append(memory.groups.count)
        memory.groups.append(
          ImportMemory.Group(category, number: number, list: category.list))
      }
    }
  }

  mutating func addCategory(
    _ category: LegacyCategory, _ inUse: inout Set<CategoryID>, _ draft: inout Draft<Catalog>
  ) throws -> CategoryID {
    // If the app has a category with that name, it is used.
    if let there = draft.state.categories.first(where: {
      !inUse.contains($0.id) && $0.name.utf8.elementsEqual(category.name.utf8)
    }) {
      inUse.insert(there.id)
      if there.color == nil, let color = category.color {
        try draft.setColor(ofCategory: there.id, to: color)
        report.categories += 1
      }
      return there.id
    }
    let number = try draft.addCategory(name: category.name.usableName, color: category.color)
    inUse.insert(number)
    report.categories += 1
    return number
  }

  mutating func change(
    _ match: Int, to category: LegacyCategory, _ draft: inout Draft<Catalog>
  ) throws -> CategoryID? {
    let old = memory.groups[match]
    memory.groups[match] = ImportMemory.Group(
      category, number: old.category, list: category.list.isEmpty ? old.list : category.list)
    guard let there = draft.state.category(old.category) else { return nil }
    let isRenamed = !old.name.utf8.elementsEqual(category.name.utf8)
    let name = isRenamed ? category.name.usableName : there.name
    let color = old.color == category.color ? there.color : category.color
    try draft.updateCategory(old.category, name: name, color: color)
    if name != there.name || color != there.color { report.categories += 1 }
    return old.category
  }

  mutating func deleteUnusedCategories(_ draft: inout Draft<Catalog>) throws {
    let present = Set(categories.compactMap(\.self))
    let used = Set(memory.rows.compactMap(\.category))
    for group in memory.groups where !present.contains(group.category) && !used.contains(group.category) {
      guard group.list.isEmpty || store.lists.contains(group.list) else { continue }
      memory.groups.removeAll { $0.category == group.category }
      guard let there = draft.state.category(group.category), there.name == group.name,
        there.color == group.color,
        draft.state.items(in: there.id).first(where: { _ in true }) == nil
      else { continue }
      try draft.deleteCategory(there.id)
      report.categories += 1
    }
  }
}
